/* Reads hwloc's objects, or NCCL's `cpu`, `pci` and `gpu` elements, into a PCI tree (node_tree.h). Place i of
 * the tree is XML element i, with the same parent.
 *
 * NCCL (src/graph/xml.cc) writes the number of a GPU's links to each peer, NVSwitch or CPU, with the PCI
 * class of that target. Their rate follows from the GPU's architecture. Its NUMA nodes are taken for sockets.
 * Its elements are nested like this, where the place of a `pci` element is that of the GPU or NIC in it:
 *     system > cpu > pci (a switch) > pci > gpu > nvlink, c2c
 *                                     pci > nic > net (a port) */
#include "topology_xml.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "machine/pci.h"

/* [1]: the links of GPUs are AMD's. */
static const char *const nccl_source[] = {"NCCL; NUMA nodes are taken for sockets",
                                          "RCCL (xGMI); NUMA nodes are taken for sockets"};
static const char *const hwloc_source[] = {"hwloc", "hwloc (xGMI)"};

static bool source_has(const pto_topology_t *topology, const char *word) {
    const char *source = pto_topology_source(topology);
    return source && strstr(source, word);
}

bool pto_topology_has_nic_rates(const pto_topology_t *topology) {
    return !source_has(topology, "hwloc") && !source_has(topology, "-smi ");
}

bool pto_topology_has_xgmi(const pto_topology_t *topology) { return source_has(topology, "(xGMI)"); }

/* An object of hwloc and its index in the file, by which matrices refer to it. */
typedef struct {
    const char *gp_index;
    int element;
} numbered_t;

typedef struct {
    const char *path;
    pto_xml_t *xml;
    pto_node_tree_t *tree;
    numbered_t *object; /* hwloc's objects, sorted by gp_index */
    size_t objects;
    pto_error_t *err;
} import_t;

static const char *attribute(const import_t *import, int element, const char *name) {
    return pto_xml_attribute(import->xml, element, name);
}

static bool is_named(const import_t *import, int element, const char *name) {
    return strcmp(import->xml->element[element].name, name) == 0;
}

static bool is_type(const import_t *import, int element, const char *type) {
    return is_named(import, element, "object") && strcmp(attribute(import, element, "type"), type) == 0;
}

static pto_status_t fail(const import_t *import, int element, const char *what, const char *text) {
    return pto_error_set_at(import->err, PTO_ERR_NOT_APPLICABLE, import->path,
                            import->xml->element[element].line, 1, "%s%.40s", what, text);
}

/* Copies those characters of a name that may be in a comment and in a text in quotes. */
static void copy_word(const char *from, char *to, size_t size) {
    size_t length = 0;
    for (; *from && length + 1 < size; from++)
        if (isalnum((unsigned char)*from) || strchr(" :._-", *from))
            to[length++] = *from;
    to[length] = '\0';
}

static pto_status_t add_device(import_t *import, int element, pto_tree_role_t role, const char *comment) {
    pto_tree_place_t *place = &import->tree->place[element];
    int *count = role == PTO_TREE_GPU ? &import->tree->gpus : &import->tree->nics;
    if (*count == (role == PTO_TREE_GPU ? PTO_TREE_GPUS_MAX : PTO_TREE_NICS_MAX))
        return fail(import, element, "more GPUs or NICs than a node has: ", comment);
    if (role == PTO_TREE_GPU)
        import->tree->gpu[*count] = element;
    place->role = role;
    place->number = (*count)++;
    copy_word(comment, place->comment, sizeof place->comment);
    return PTO_OK;
}

static pto_status_t add_socket(import_t *import, int element) {
    if (import->tree->sockets == PTO_TREE_SOCKETS_MAX)
        return fail(import, element, "more sockets than a node has", "");
    import->tree->place[element].role = PTO_TREE_SOCKET;
    import->tree->place[element].number = import->tree->sockets++;
    return PTO_OK;
}

static pto_status_t read_object(import_t *import, int element) {
    pto_tree_place_t *place = &import->tree->place[element];
    pto_pci_t pci = {.gb_per_s = atof(attribute(import, element, "pci_link_speed"))};
    if (is_type(import, element, "Package"))
        return add_socket(import, element);
    if (is_type(import, element, "Bridge")) {
        const bool pci_bridge = strcmp(attribute(import, element, "bridge_type"), "1-1") == 0;
        place->role = pci_bridge ? PTO_TREE_SWITCH : PTO_TREE_HOST_BRIDGE;
        place->gb_per_s = pci_bridge ? pci.gb_per_s : 0;
    }
    if (!is_type(import, element, "PCIDev") || sscanf(attribute(import, element, "pci_type"), "%4x [%4x:%4x]",
                                                      &pci.class_id, &pci.vendor_id, &pci.device_id) != 3)
        return PTO_OK;
    place->gb_per_s = pci.gb_per_s;
    const bool gpu = pto_pci_is_gpu(&pci);
    const char *bus = attribute(import, element, "pci_busid"), *name = attribute(import, element, "name");
    char comment[sizeof place->comment];
    snprintf(comment, sizeof comment, "%s%s%s", bus, name[0] ? " " : "", name);
    if (gpu || pto_pci_is_nic(&pci))
        return add_device(import, element, gpu ? PTO_TREE_GPU : PTO_TREE_NIC, comment);
    if (pto_pci_is_network(&pci))
        snprintf(place->comment, sizeof place->comment, "%.32s [%04x:%04x]", bus, pci.vendor_id,
                 pci.device_id);
    return PTO_OK;
}

static int by_index(const void *a, const void *b) {
    const numbered_t *left = a, *right = b;
    return strcmp(left->gp_index, right->gp_index);
}

static pto_status_t number_objects(import_t *import) {
    import->object = calloc((size_t)import->xml->count + 1, sizeof *import->object);
    if (!import->object)
        return pto_error_set(import->err, PTO_ERR_MEMORY, "out of memory");
    for (int i = 0; i < import->xml->count; i++)
        if (is_named(import, i, "object"))
            import->object[import->objects++] = (numbered_t){attribute(import, i, "gp_index"), i};
    qsort(import->object, import->objects, sizeof *import->object, by_index);
    return PTO_OK;
}

/* Returns the object that a word of a matrix names, "TYPE:GP_INDEX" or "GP_INDEX"; -1 if there is none. */
static int find_object(const import_t *import, const char *word) {
    const char *colon = strchr(word, ':');
    const numbered_t asked = {.gp_index = colon ? colon + 1 : word};
    const numbered_t *found =
        bsearch(&asked, import->object, import->objects, sizeof *import->object, by_index);
    return found ? found->element : -1;
}

enum { MATRIX_MAX = 2 * PTO_TREE_GPUS_MAX };

/* Returns the role of the GPU or socket that a matrix's object belongs to, and sets its number. A matrix
 * names a GPU by one of its OS devices, which are below it in the tree. PTO_TREE_OTHER for other objects,
 * which are NVSwitches. */
static pto_tree_role_t role_of(const import_t *import, int element, int *number) {
    for (; element >= 0; element = import->tree->place[element].parent) {
        const pto_tree_place_t *place = &import->tree->place[element];
        *number = place->number;
        if (place->role == PTO_TREE_GPU || is_type(import, element, "Package"))
            return place->role;
        if (!is_type(import, element, "OSDev"))
            break;
    }
    return PTO_TREE_OTHER;
}

/* Stores a value of a matrix of `count` objects, if its row is that of a GPU. `index` counts row by row. */
static void store_value(import_t *import, const int *object, int64_t index, int64_t count, double gb_per_s) {
    int from = -1, to = -1;
    const int64_t row = index / count, column = index % count;
    const pto_tree_role_t from_role = role_of(import, object[row], &from);
    const pto_tree_role_t to_role = role_of(import, object[column], &to);
    if (from_role != PTO_TREE_GPU || row == column || gb_per_s <= 0)
        return;
    if (to_role == PTO_TREE_GPU)
        import->tree->between[from][to] = gb_per_s;
    else if (to_role == PTO_TREE_SOCKET)
        import->tree->to_cpu[from] += gb_per_s;
    else
        import->tree->to_switch[from] += gb_per_s;
}

/* Reads a matrix of the rates of GPUs' links in MB/s. Elements `indexes` name its objects; elements
 * `u64values` have its values. */
static void read_matrix(import_t *import, int matrix) {
    int object[MATRIX_MAX];
    int64_t objects = 0, values = 0;
    for (int i = matrix + 1; i < import->xml->count && import->xml->element[i].parent == matrix; i++) {
        char *rest = NULL;
        const bool indexes = is_named(import, i, "indexes");
        if (!indexes && !is_named(import, i, "u64values"))
            continue;
        for (char *word = strtok_r(import->xml->element[i].text, " \t\r\n", &rest); word;
             word = strtok_r(NULL, " \t\r\n", &rest)) {
            if (indexes && objects < MATRIX_MAX)
                object[objects++] = find_object(import, word);
            else if (!indexes && values < objects * objects) {
                store_value(import, object, values, objects, atof(word) / 1000);
                values++;
            }
        }
    }
}

static pto_status_t import_hwloc(import_t *import) {
    pto_status_t status = number_objects(import);
    for (int i = 0; i < import->xml->count && status == PTO_OK; i++)
        status = read_object(import, i);
    for (int i = 0; i < import->xml->count && status == PTO_OK; i++) {
        const char *name = attribute(import, i, "name");
        const bool nvlink = strcmp(name, "NVLinkBandwidth") == 0, xgmi = strcmp(name, "XGMIBandwidth") == 0;
        if (strncmp(import->xml->element[i].name, "distances2", 10) != 0 || (!nvlink && !xgmi))
            continue;
        import->tree->link_name = nvlink ? "NVLink" : "xGMI";
        read_matrix(import, i);
    }
    return status;
}

/* Returns the GB/s of a PCIe link, such as "16.0 GT/s PCIe" with 16 lanes. Of 130 bits, 128 are data; up to
 * generation 2 (5 GT/s), 8 of 10 bits. */
static double pci_rate(const import_t *import, int element) {
    const double transfers = atof(attribute(import, element, "link_speed"));
    const double coded = transfers > 5.5 ? 128.0 / 130 : 0.8;
    return transfers * atof(attribute(import, element, "link_width")) * coded / 8;
}

/* Returns the GB/s of one link of a GPU in each direction, by data sheets; 0 if unknown. */
static double gpu_link_rate(const import_t *import, int gpu, bool xgmi) {
    static const struct {
        const char *gcn;
        double gb_per_s;
    } amd[] = {{"gfx90a", 50}, {"gfx942", 64}, {"gfx950", 76.8}};
    const int sm = atoi(attribute(import, gpu, "sm"));
    for (size_t i = 0; xgmi && i < sizeof amd / sizeof *amd; i++)
        if (strncmp(attribute(import, gpu, "gcn"), amd[i].gcn, 6) == 0)
            return amd[i].gb_per_s;
    if (xgmi)
        return 0;
    return sm == 60                ? 20 /* P100 */
           : sm == 86              ? 14.0625
           : sm >= 70 && sm < 100  ? 25 /* V100, A100, H100 */
           : sm >= 100 && sm < 110 ? 50 /* B200 */
                                   : 0;
}

/* Reads the links of a GPU to one target. */
static pto_status_t read_gpu_link(import_t *import, int element) {
    const bool xgmi = is_named(import, element, "xgmi");
    const int gpu = import->xml->element[element].parent;
    const int from = gpu >= 0 ? import->tree->place[import->xml->element[gpu].parent].number : -1;
    const int links = atoi(attribute(import, element, "count"));
    const char *target = attribute(import, element, "target");
    const unsigned long class_id = strtoul(attribute(import, element, "tclass"), NULL, 16) >> 8;
    const double gb_per_s = links * gpu_link_rate(import, gpu, xgmi);
    if (links < 1 || links > 64)
        return fail(import, element, "no count of links: ", attribute(import, element, "count"));
    if (gb_per_s <= 0)
        return fail(import, element, "no rate is known for the links of a GPU of ",
                    attribute(import, gpu, xgmi ? "gcn" : "sm"));
    import->tree->link_name = xgmi ? "xGMI" : "NVLink";
    if (class_id == 0x0680) { /* bridges: NVSwitches or, with interface 01, a CPU of IBM */
        const unsigned long interface = strtoul(attribute(import, element, "tclass"), NULL, 16) & 0xff;
        *(interface == 1 ? &import->tree->to_cpu[from] : &import->tree->to_switch[from]) += gb_per_s;
        return PTO_OK;
    }
    for (int to = 0; to < import->tree->gpus; to++)
        if (to != from && strcasecmp(attribute(import, import->tree->gpu[to], "busid"), target) == 0)
            import->tree->between[from][to] += gb_per_s;
    return PTO_OK; /* other targets are GPUs that the job does not use */
}

/* Reads a link by NVLink-C2C, which joins a GPU to its CPU: `bw` is of each link, in MB/s. */
static void read_cpu_link(import_t *import, int element) {
    const int gpu = import->xml->element[element].parent;
    const double mb_per_s =
        atof(attribute(import, element, "bw")) * atof(attribute(import, element, "count"));
    if (mb_per_s > 0)
        import->tree->to_cpu[import->tree->place[import->xml->element[gpu].parent].number] += mb_per_s / 1000;
}

/* Reads a NIC. Its place is that of its PCI device, if it has one. Its rate is the sum over its ports. */
static pto_status_t read_nic(import_t *import, int nic) {
    pto_tree_place_t *places = import->tree->place;
    const int parent = places[nic].parent;
    const int device = parent >= 0 && places[parent].role == PTO_TREE_SWITCH ? parent : nic;
    const char *name = ""; /* of its first port */
    double gb_per_s = 0;
    for (int i = nic + 1; i < import->xml->count && import->xml->element[i].parent == nic; i++)
        if (is_named(import, i, "net")) {
            gb_per_s += atof(attribute(import, i, "speed")) / 8e3; /* Mbit/s */
            name = name[0] ? name : attribute(import, i, "name");
        }
    if (!name[0])
        return PTO_OK;
    places[device].net_gb_per_s = gb_per_s;
    return add_device(import, device, PTO_TREE_NIC, name);
}

static pto_status_t read_nccl_element(import_t *import, int element) {
    pto_tree_place_t *places = import->tree->place, *place = &places[element];
    const int parent = place->parent;
    if (is_named(import, element, "cpu"))
        return add_socket(import, element);
    if (is_named(import, element, "pci")) {
        place->gb_per_s = pci_rate(import, element);
        place->role = PTO_TREE_SWITCH;
        return PTO_OK;
    }
    if (is_named(import, element, "gpu")) {
        if (parent < 0 || !is_named(import, parent, "pci") || places[parent].role != PTO_TREE_SWITCH)
            return fail(import, element,
                        "a GPU without a PCI device of its own: ", attribute(import, element, "dev"));
        return add_device(import, parent, PTO_TREE_GPU, attribute(import, parent, "busid"));
    }
    return is_named(import, element, "nic") ? read_nic(import, element) : PTO_OK;
}

static pto_status_t import_nccl(import_t *import) {
    pto_status_t status = PTO_OK;
    const char *host = NULL;
    for (int i = 0; i < import->xml->count && status == PTO_OK; i++) {
        const char *hash = attribute(import, i, "host_hash");
        if (hash[0] && host && strcmp(hash, host) != 0)
            return fail(import, i, "a topology of several hosts: ", hash);
        host = hash[0] ? hash : host;
        status = read_nccl_element(import, i);
    }
    for (int i = 0; i < import->xml->count && status == PTO_OK; i++) {
        const int parent = import->xml->element[i].parent;
        if (parent < 0 || !is_named(import, parent, "gpu"))
            continue;
        if (is_named(import, i, "nvlink") || is_named(import, i, "xgmi"))
            status = read_gpu_link(import, i);
        else if (is_named(import, i, "c2c"))
            read_cpu_link(import, i);
    }
    return status;
}

static pto_status_t import_all(import_t *import) {
    const bool nccl = is_named(import, 0, "system");
    if (!nccl && !is_named(import, 0, "topology"))
        return fail(import, 0, "neither hwloc's nor NCCL's topology, but an element ",
                    import->xml->element[0].name);
    pto_status_t status = nccl ? import_nccl(import) : import_hwloc(import);
    if (status == PTO_OK && import->tree->gpus == 0)
        status = fail(import, 0, "no GPU in it", "");
    import->tree->source = (nccl ? nccl_source : hwloc_source)[strcmp(import->tree->link_name, "xGMI") == 0];
    return status == PTO_OK ? pto_node_tree_number_switches(import->tree, import->err) : status;
}

pto_status_t pto_node_tree_create(pto_xml_t *xml, const char *path, pto_node_tree_t **tree,
                                  pto_error_t *err) {
    pto_node_tree_t *built = calloc(1, sizeof *built);
    import_t import = {.path = path, .xml = xml, .tree = built, .err = err};
    if (!built || !(built->place = calloc((size_t)xml->count, sizeof *built->place))) {
        pto_node_tree_destroy(built);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    }
    built->count = xml->count;
    built->link_name = "NVLink";
    for (int i = 0; i < xml->count; i++)
        built->place[i].parent = xml->element[i].parent;
    pto_status_t status = import_all(&import);
    free(import.object);
    if (status == PTO_OK)
        *tree = built;
    else
        pto_node_tree_destroy(built);
    return status;
}

pto_status_t pto_topology_read_xml(const char *path, pto_topology_t **topology, pto_error_t *err) {
    char name[64];
    const char *last = strrchr(path, '/');
    pto_xml_t xml = {0};
    pto_node_tree_t *tree = NULL;
    pto_status_t status = pto_xml_read(path, &xml, err);
    if (status == PTO_OK)
        status = pto_node_tree_create(&xml, path, &tree, err);
    copy_word(last ? last + 1 : path, name, sizeof name);
    if (tree)
        status = pto_node_tree_topology(tree, name, path, topology, err);
    pto_node_tree_destroy(tree);
    pto_xml_fini(&xml);
    return status;
}
