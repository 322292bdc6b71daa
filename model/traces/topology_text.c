/* Reads what `nvidia-smi topo -m` and `rocm-smi --showtopo` print, builds a tree of the devices
 * (node_tree.h), and makes a topology of it. nvidia-smi prints a matrix of the connections between devices,
 * with the CPUs and NUMA node of each GPU to its right, and the names of NICs below it. rocm-smi prints
 * several matrices of GPUs, of which those of hops (one hop is a direct link) and of kinds of links are used,
 * and the NUMA node of each GPU. Neither prints rates. */
#include "topology_text.h"
#include "texts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "node_tree.h"
#include "reader.h"

enum {
    FILE_BYTES_MAX = 4 << 20,
    DEVICES_MAX = PTO_TREE_GPUS_MAX + PTO_TREE_NICS_MAX,
    WORDS_MAX = DEVICES_MAX + 16,
    NAME_MAX_BYTES = 32,
    NVLINKS_MAX = 18 /* of a GPU; if it has more to all others together, these go through switches */
};

/* Nearness of two devices over PCIe, from near to far. Paths up to ON_SWITCH do not cross a CPU. */
enum { ON_BRIDGE, ON_SWITCH, ON_HOST_BRIDGE, ON_SOCKET, ON_NODE, NEARNESS_COUNT };

/* The matrix that is being read: nvidia-smi's only one, or rocm-smi's of hops or of kinds of links. Matrix m
 * has bit 1 << m in `rows` and `matrices`. */
typedef enum { ONLY, HOPS, KINDS, NO_MATRIX = 4 } matrix_t;

typedef struct {
    char name[NAME_MAX_BYTES];
    bool is_gpu;
    char node[NAME_MAX_BYTES];    /* the NUMA node, or else the CPUs; "" if not given */
    char comment[NAME_MAX_BYTES]; /* the name in the topology's comments */
    unsigned rows;                /* a bit for each matrix whose row of this device was read */
    int number;                   /* index among GPUs, or among NICs */
    int socket;                   /* -1 if not known yet */
    int group;                    /* the first of the devices that share its switch */
} device_t;

typedef struct {
    const char *path;
    int line;
    device_t device[DEVICES_MAX];
    int devices;
    unsigned char nearness[DEVICES_MAX][DEVICES_MAX];
    /* nvidia-smi: number of NVLinks between GPUs. rocm-smi: until resolve_rocm_links, bit HOPS (1) if GPUs
     * are one hop apart, and bit KINDS (2) if xGMI joins them; then 1 for a direct xGMI link. */
    int links[PTO_TREE_GPUS_MAX][PTO_TREE_GPUS_MAX];
    bool xgmi;         /* the file is rocm-smi's */
    unsigned matrices; /* a bit for each that was found */
    const char *other; /* what the file is, if it is the output of another command; NULL if unknown */
    pto_error_t *err;
} import_t;

static pto_status_t fail(const import_t *import, pto_status_t status, const char *what, const char *word) {
    return pto_error_set_at(import->err, status, import->path, import->line, 1, "%s%.40s", what, word);
}

/* Returns what to tell the user if the text is the output of another command; NULL if it is not known. */
static const char *find_other(const char *text) {
    static const struct {
        const char *begin, *what;
    } others[] = {
        {"Package L#", "this is what lstopo prints: `lstopo topology.xml` writes what is read here"},
        {"LINK TYPE TABLE", "this is what amd-smi topology prints, without the GPUs' NUMA nodes: `rocm-smi "
                            "--showtopo` prints what is read here"},
        {"| NVIDIA-SMI ", "this is what nvidia-smi prints: `nvidia-smi topo -m` prints what is read here"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(text, others[i].begin))
            return others[i].what;
    return NULL;
}

/* --- words ---------------------------------------------------------------------------------------------- */

static int split(char *line, char **word) {
    char *rest = NULL;
    int count = 0;
    for (char *at = strtok_r(line, " \t\r", &rest); at && count < WORDS_MAX;
         at = strtok_r(NULL, " \t\r", &rest))
        word[count++] = at;
    return count;
}

static void copy_name(const char *from, char to[NAME_MAX_BYTES]) {
    size_t length = 0;
    for (; *from && length + 1 < NAME_MAX_BYTES; from++)
        if (isalnum((unsigned char)*from) || strchr(":._-,", *from))
            to[length++] = *from;
    to[length] = '\0';
}

static bool is_gpu_name(const char *word) {
    return strncmp(word, "GPU", 3) == 0 && isdigit((unsigned char)word[3]);
}

static int find_device(const import_t *import, const char *name) {
    for (int i = 0; i < import->devices; i++)
        if (strcmp(import->device[i].name, name) == 0)
            return i;
    return -1;
}

/* --- rows ----------------------------------------------------------------------------------------------- */

/* Returns whether a matrix has the same connection from device `a` to `b` as from `b` to `a`. */
static bool are_symmetric(const import_t *import, int a, int b, matrix_t matrix) {
    const int from = import->device[a].number, to = import->device[b].number;
    const bool gpus = import->device[a].is_gpu && import->device[b].is_gpu;
    const int differ = gpus ? import->links[from][to] ^ import->links[to][from] : 0;
    return import->nearness[a][b] == import->nearness[b][a] &&
           (matrix == ONLY ? differ : differ & (int)matrix) == 0;
}

/* Notes that a device's row was read. Fails if it contradicts an earlier row of the matrix. */
static pto_status_t end_row(import_t *import, int from, matrix_t matrix) {
    const device_t *device = import->device;
    import->device[from].rows |= 1U << matrix;
    for (int to = 0; to < import->devices; to++)
        if ((device[to].rows & 1U << matrix) && !are_symmetric(import, from, to, matrix))
            return pto_error_set_at(import->err, PTO_ERR_SYNTAX, import->path, import->line, 1,
                                    "%s is joined to %s otherwise than in the row of %s", device[from].name,
                                    device[to].name, device[to].name);
    return PTO_OK;
}

/* Fails if a matrix lacks the row of a device. */
static pto_status_t check_rows(const import_t *import) {
    int missing = 0, first = 0;
    for (int i = import->devices - 1; i >= 0; i--)
        if ((import->device[i].rows & import->matrices) != import->matrices) {
            missing++;
            first = i;
        }
    return missing == 0 ? PTO_OK
                        : pto_error_set_at(import->err, PTO_ERR_SYNTAX, import->path, import->line, 1,
                                           "a matrix lacks %d of its %d rows, first that of %s", missing,
                                           import->devices, import->device[first].name);
}

/* --- nvidia-smi ----------------------------------------------------------------------------------------- */

/* Adds the devices that the columns name, up to "CPU Affinity". */
static pto_status_t add_devices(import_t *import, char **word, int words) {
    int gpus = 0, nics = 0;
    for (int i = 0; i < words; i++)
        if (strcmp(word[i], "X") == 0)
            return fail(import, PTO_ERR_SYNTAX,
                        "the heading row, which names the columns, is missing above the row of ", word[0]);
    for (int i = 0; i < words && strcmp(word[i], "CPU") != 0; i++) {
        const bool is_gpu = is_gpu_name(word[i]);
        int *number = is_gpu ? &gpus : &nics;
        if (*number == (is_gpu ? PTO_TREE_GPUS_MAX : PTO_TREE_NICS_MAX))
            return fail(import, PTO_ERR_NOT_APPLICABLE, "more GPUs or NICs than a node has: ", word[i]);
        device_t *device = &import->device[import->devices++];
        *device = (device_t){.is_gpu = is_gpu, .number = (*number)++, .socket = -1};
        copy_name(word[i], device->name);
        copy_name(word[i], device->comment);
    }
    return PTO_OK;
}

/* Reads the connection of two devices. "NV4" are four NVLinks; the nearness over PCIe is then unknown. */
static pto_status_t read_cell(import_t *import, int from, int to, const char *word) {
    static const char *const name[NEARNESS_COUNT] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    static const char *const peer[] = {"OK", "NS", "CNS", "GNS", "TNS", "U"}; /* whether P2P is supported */
    const int links = strncmp(word, "NV", 2) == 0 ? atoi(word + 2) : 0;
    import->nearness[from][to] = ON_NODE;
    if (links > 0 && links <= NVLINKS_MAX && import->device[from].is_gpu && import->device[to].is_gpu) {
        import->links[import->device[from].number][import->device[to].number] = links;
        return PTO_OK;
    }
    for (int i = 0; i < NEARNESS_COUNT; i++)
        if (strcmp(word, name[i]) == 0) {
            import->nearness[from][to] = (unsigned char)i;
            return PTO_OK;
        }
    if (strcmp(word, "X") == 0 || strcmp(word, "SOC") == 0) /* SYS, as it was called */
        return PTO_OK;
    for (size_t i = 0; i < sizeof peer / sizeof *peer; i++)
        if (strcmp(word, peer[i]) == 0)
            return fail(
                import, PTO_ERR_NOT_APPLICABLE,
                "this is what nvidia-smi topo -p2p prints: `nvidia-smi topo -m` prints what is read here",
                "");
    return fail(import, PTO_ERR_SYNTAX, "unknown connection of two devices: ", word);
}

/* Reads a device's row. To the right of the matrix are its CPUs and NUMA node, which may be blank or N/A. */
static pto_status_t read_row(import_t *import, int from, char **word, int words) {
    pto_status_t status = PTO_OK;
    if (words < 1 + import->devices)
        return fail(import, PTO_ERR_SYNTAX, "fewer connections than devices for ", word[0]);
    for (int to = 0; to < import->devices && status == PTO_OK; to++)
        status = read_cell(import, from, to, word[1 + to]);
    const int cpus = 1 + import->devices, node = cpus + 1;
    const bool has_node = words > node && isdigit((unsigned char)word[node][0]);
    if (import->device[from].is_gpu && words > cpus && strcmp(word[cpus], "N/A") != 0)
        copy_name(word[has_node ? node : cpus], import->device[from].node);
    return status == PTO_OK ? end_row(import, from, ONLY) : status;
}

static pto_status_t read_nvidia_line(import_t *import, char **word, int words) {
    const int from = find_device(import, word[0]);
    if (import->devices == 0 && is_gpu_name(word[0]))
        return add_devices(import, word, words);
    if (words > 1 && is_gpu_name(word[0]) && is_gpu_name(word[1]))
        return fail(import, PTO_ERR_NOT_APPLICABLE, "a second table: a file has that of one node", "");
    if (from >= 0)
        return read_row(import, from, word, words);
    char *colon = strchr(word[0], ':'); /* "NIC0: mlx5_0" */
    if (colon && words == 2) {
        *colon = '\0';
        const int nic = find_device(import, word[0]);
        if (nic >= 0)
            copy_name(word[1], import->device[nic].comment);
    }
    return PTO_OK;
}

/* --- rocm-smi ------------------------------------------------------------------------------------------- */

static pto_status_t read_rocm_row(import_t *import, matrix_t matrix, char **word, int words) {
    const int from = find_device(import, word[0]);
    if (from < 0 || matrix == NO_MATRIX)
        return PTO_OK;
    if (words != 1 + import->devices)
        return fail(import, PTO_ERR_SYNTAX, "a row of another length than that of the GPUs: ", word[0]);
    for (int to = 0; to < import->devices; to++)
        if (strcmp(word[1 + to], matrix == HOPS ? "1" : "XGMI") == 0)
            import->links[from][to] |= (int)matrix;
    return end_row(import, from, matrix);
}

/* Sets `links` to 1 for direct xGMI links, else 0. That needs the matrix of hops, unless there are two GPUs.
 */
static pto_status_t resolve_rocm_links(import_t *import) {
    const bool has_hops = import->matrices & 1U << HOPS, has_kinds = import->matrices & 1U << KINDS;
    const int wanted = (has_hops ? HOPS : 0) | (has_kinds ? KINDS : 0);
    if (!has_hops && !(has_kinds && import->devices == 2))
        return fail(import, PTO_ERR_NOT_APPLICABLE,
                    "which GPUs are joined directly is not known without \"Hops between two GPUs\"", "");
    for (int i = 0; i < import->devices; i++)
        for (int j = 0; j < import->devices; j++)
            import->links[i][j] = import->links[i][j] == wanted;
    return PTO_OK;
}

static pto_status_t read_rocm_line(import_t *import, matrix_t *matrix, const char *line, char **word,
                                   int words) {
    int gpu, node;
    line += strspn(line, " \t");
    if (line[0] == '=') {
        *matrix = strstr(line, "Hops") ? HOPS : strstr(line, "Link Type") ? KINDS : NO_MATRIX;
        import->matrices |= *matrix == NO_MATRIX ? 0 : 1U << *matrix;
        return PTO_OK;
    }
    if (sscanf(line, "GPU[%9d] : (Topology) Numa Node: %9d", &gpu, &node) == 2) {
        char name[NAME_MAX_BYTES];
        snprintf(name, sizeof name, "GPU%d", gpu);
        const int device = find_device(import, name);
        if (device >= 0)
            snprintf(import->device[device].node, sizeof import->device[device].node, "%d", node);
        return PTO_OK;
    }
    if (words > 1 && is_gpu_name(word[0]) && is_gpu_name(word[1]))
        return import->devices == 0 ? add_devices(import, word, words) : PTO_OK;
    return words > 0 ? read_rocm_row(import, *matrix, word, words) : PTO_OK;
}

/* --- the tree ------------------------------------------------------------------------------------------- */

/* Finds the sockets: of GPUs by their NUMA nodes, of NICs by the nearest device with a known socket. */
static int find_sockets(import_t *import) {
    int sockets = 0;
    for (int i = 0; i < import->devices; i++)
        for (int j = 0; j <= i && import->device[i].is_gpu && import->device[i].socket < 0; j++)
            if (i == j ||
                (import->device[j].is_gpu && strcmp(import->device[i].node, import->device[j].node) == 0))
                import->device[i].socket = i == j ? sockets++ : import->device[j].socket;
    for (int near = ON_BRIDGE; near < NEARNESS_COUNT; near++)
        for (int i = 0; i < import->devices; i++)
            for (int j = 0; j < import->devices && import->device[i].socket < 0; j++)
                if (import->device[j].socket >= 0 && import->nearness[i][j] <= near)
                    import->device[i].socket = import->device[j].socket;
    return sockets;
}

/* Puts devices of one socket that are near enough to share a PCI switch into one group. */
static void find_groups(import_t *import) {
    for (int i = 0; i < import->devices; i++)
        import->device[i].group = i;
    for (int i = 0; i < import->devices; i++)
        for (int j = 0; j < i; j++) {
            const int from = import->device[i].group, to = import->device[j].group;
            if (from != to && import->device[i].socket == import->device[j].socket &&
                import->nearness[i][j] <= ON_SWITCH)
                for (int k = 0; k < import->devices; k++)
                    if (import->device[k].group == from || import->device[k].group == to)
                        import->device[k].group = from < to ? from : to;
        }
}

/* Fills the tree: sockets, then a switch for each device, then devices. Each device is below the switch of
 * the first device of its group. pto_node_tree_number_switches ignores switches with fewer than two devices.
 */
static void build_tree(const import_t *import, double pcie_gb_per_s, pto_node_tree_t *tree) {
    const int switches = tree->sockets, devices = switches + import->devices;
    for (int i = 0; i < tree->sockets; i++)
        tree->place[i] = (pto_tree_place_t){.parent = -1, .role = PTO_TREE_SOCKET, .number = i};
    for (int i = 0; i < import->devices; i++) {
        const device_t *device = &import->device[i];
        pto_tree_place_t *place = &tree->place[devices + i];
        tree->place[switches + i] =
            (pto_tree_place_t){.parent = device->socket, .role = PTO_TREE_SWITCH, .gb_per_s = pcie_gb_per_s};
        *place = (pto_tree_place_t){.parent = switches + device->group,
                                    .role = device->is_gpu ? PTO_TREE_GPU : PTO_TREE_NIC,
                                    .gb_per_s = pcie_gb_per_s,
                                    .number = device->number};
        snprintf(place->comment, sizeof place->comment, "%s", device->comment);
        if (device->is_gpu)
            tree->gpu[device->number] = devices + i;
        *(device->is_gpu ? &tree->gpus : &tree->nics) += 1;
    }
    tree->count = devices + import->devices;
}

/* Sets the rates of the links of GPUs. If the links of a GPU to all others add up to more than NVLINKS_MAX,
 * they go through switches, and each number in the matrix counts all links of the GPU. */
static void set_gpu_links(const import_t *import, double gb_per_s, pto_node_tree_t *tree) {
    for (int i = 0; i < tree->gpus; i++) {
        int most = 0, all = 0;
        for (int j = 0; j < tree->gpus; j++) {
            all += import->links[i][j];
            most = import->links[i][j] > most ? import->links[i][j] : most;
        }
        if (all > NVLINKS_MAX)
            tree->to_switch[i] = most * gb_per_s;
        for (int j = 0; j < tree->gpus && all <= NVLINKS_MAX; j++)
            tree->between[i][j] = import->links[i][j] * gb_per_s;
    }
}

static pto_status_t make_topology(import_t *import, pto_link_rates_t rates, pto_topology_t **topology) {
    static const char *const source[] = {"nvidia-smi topo -m", "rocm-smi --showtopo (xGMI)"};
    static const char *const guessed[] = {"nvidia-smi topo -m; rates are inferred",
                                          "rocm-smi --showtopo (xGMI); rates are inferred"};
    static const char *const inferred[] = {"NVLink, inferred: 25 GB/s each", "xGMI, inferred: 64 GB/s each"};
    static const char *const link_name[] = {"NVLink", "xGMI"};
    static const double usual_gb_per_s[] = {25, 64};
    pto_node_tree_t tree = {.sockets = find_sockets(import)};
    find_groups(import);
    tree.place = calloc(3 * (size_t)DEVICES_MAX, sizeof *tree.place);
    if (!tree.place)
        return pto_error_set(import->err, PTO_ERR_MEMORY, "out of memory");
    const bool known = rates.gpu_link_gb_per_s > 0;
    const bool all_known = known && rates.pcie_gb_per_s > 0;
    tree.source = (all_known ? source : guessed)[import->xgmi];
    tree.link_name = (known ? link_name : inferred)[import->xgmi];
    build_tree(import, rates.pcie_gb_per_s, &tree);
    set_gpu_links(import, known ? rates.gpu_link_gb_per_s : usual_gb_per_s[import->xgmi], &tree);
    pto_status_t status = pto_node_tree_number_switches(&tree, import->err);
    char name[NAME_MAX_BYTES];
    const char *last = strrchr(import->path, '/');
    copy_name(last ? last + 1 : import->path, name);
    if (status == PTO_OK)
        status = pto_node_tree_topology(&tree, name, import->path, topology, import->err);
    free(tree.place);
    return status;
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Learns a launcher's prefix (prefix.c) from the first line with "GPU0", which is the heading. */
static void learn_prefix(pto_prefix_t *prefix, bool *is_learnt, const char *line) {
    const char *first = strstr(line, "GPU0");
    if (*is_learnt || !first)
        return;
    *is_learnt = true;
    if (line + strspn(line, " \t") < first)
        pto_prefix_learn(prefix, line, (size_t)(first - line));
}

static pto_status_t read_lines(import_t *import, char *text) {
    pto_status_t status = PTO_OK;
    pto_prefix_t prefix = {.blanks = 0};
    bool is_learnt = false;
    matrix_t matrix = NO_MATRIX;
    char *rest = NULL;
    for (char *line = text; line && status == PTO_OK; line = rest) {
        char *word[WORDS_MAX], *end = strchr(line, '\n');
        rest = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        import->line++;
        pto_drop_escapes(line);
        pto_recording_replace_blanks(line);
        learn_prefix(&prefix, &is_learnt, line);
        line = pto_prefix_skip(&prefix, line);
        import->xgmi = import->xgmi || strstr(line, "ROCm System Management");
        char *words = pto_text_copy(line);
        if (!words)
            return pto_error_set(import->err, PTO_ERR_MEMORY, "out of memory");
        const int count = split(words, word);
        if (import->xgmi)
            status = read_rocm_line(import, &matrix, line, word, count);
        else if (count > 0)
            status = read_nvidia_line(import, word, count);
        free(words);
    }
    bool gpus = false;
    for (int i = 0; i < import->devices; i++)
        gpus = gpus || import->device[i].is_gpu;
    if (status == PTO_OK && !gpus)
        status =
            fail(import, PTO_ERR_NOT_APPLICABLE,
                 import->other
                     ? import->other
                     : "neither what nvidia-smi topo -m nor what rocm-smi --showtopo prints: no GPU in it",
                 "");
    if (!import->xgmi)
        import->matrices = 1U << ONLY;
    if (status == PTO_OK)
        status = check_rows(import);
    return status == PTO_OK && import->xgmi ? resolve_rocm_links(import) : status;
}

pto_status_t pto_topology_read_text(const char *path, pto_link_rates_t rates, pto_topology_t **topology,
                                    pto_error_t *err) {
    char *text = NULL;
    size_t size;
    import_t *import = calloc(1, sizeof *import);
    if (!import)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for '%s'", path);
    import->path = path;
    import->err = err;
    memset(import->nearness, ON_NODE, sizeof import->nearness);
    pto_status_t status = pto_text_read(path, FILE_BYTES_MAX, &text, &size, err);
    if (status == PTO_OK) {
        import->other = find_other(text);
        status = read_lines(import, text);
    }
    if (status == PTO_OK)
        status = make_topology(import, rates, topology);
    free(import);
    free(text);
    return status;
}
