/* The topology of a node: the PCI tree by hwloc, NVLinks by NVML, or by the matrix that a recorded hwloc
 * topology has of them.
 *
 * Of the PCI tree only devices and the bridges in which several of them meet are kept; a link has the rate of
 * the slowest PCIe link that it replaces. All NVSwitches are one vertex: hwloc's recorded DGX-2 lacks the
 * links between those of its two boards, and yet each GPU reaches all others. */
#include "node_topology.h"

#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/pci.h"
#include "nvlink.h"
#include "portolan/output.h"
#include "portolan/topology.h"

enum { NICS_MAX = 64, SWITCHES_MAX = 256, ANCESTORS = 6 };

typedef struct {
    hwloc_topology_t hwloc;
    int gpus;
    hwloc_obj_t gpu[NVLINK_GPUS_MAX]; /* by PCI address */
    char bus[NVLINK_GPUS_MAX][16];
    int nics;
    hwloc_obj_t nic[NICS_MAX];
    int switches;
    hwloc_obj_t bridge[SWITCHES_MAX]; /* that are vertices */
    int sockets;
    nvlink_t links;
    bool by_nvml;
    int ancestor[NVLINK_GPUS_MAX][NVLINK_GPUS_MAX]; /* NVML's levels; -1: unknown */
    FILE *text;
} node_t;

/* --- devices -------------------------------------------------------------------------------------------- */

static pto_pci_t pci_of(const struct hwloc_pcidev_attr_s *pci) {
    return (pto_pci_t){pci->class_id, pci->vendor_id, pci->device_id, (double)pci->linkspeed};
}

static void find_devices(node_t *node) {
    for (hwloc_obj_t at = NULL; (at = hwloc_get_next_pcidev(node->hwloc, at)) != NULL;) {
        const struct hwloc_pcidev_attr_s *pci = &at->attr->pcidev;
        const pto_pci_t device = pci_of(pci);
        if (pto_pci_is_gpu(&device) && node->gpus < NVLINK_GPUS_MAX) {
            snprintf(node->bus[node->gpus], sizeof node->bus[0], "%04x:%02x:%02x.%x", pci->domain, pci->bus,
                     pci->dev, pci->func & 0xfU);
            node->gpu[node->gpus++] = at;
        } else if (pto_pci_is_nic(&device) && node->nics < NICS_MAX) {
            node->nic[node->nics++] = at;
        }
    }
    node->sockets = hwloc_get_nbobjs_by_type(node->hwloc, HWLOC_OBJ_PACKAGE);
    node->sockets = node->sockets > 0 ? node->sockets : 1;
}

static int index_of(hwloc_obj_t object, const hwloc_obj_t *list, int count) {
    int at = 0;
    while (at < count && list[at] != object)
        at++;
    return at < count ? at : -1;
}

/* --- the PCI tree --------------------------------------------------------------------------------------- */

static bool is_below(hwloc_obj_t object, hwloc_obj_t ancestor) {
    while (object != NULL && object != ancestor)
        object = object->parent;
    return object != NULL;
}

/* Whether a GPU or a NIC is below an object. */
static bool leads_to_device(const node_t *node, hwloc_obj_t object) {
    for (int i = 0; i < node->gpus + node->nics; i++)
        if (is_below(i < node->gpus ? node->gpu[i] : node->nic[i - node->gpus], object))
            return true;
    return false;
}

static bool is_pci_bridge(hwloc_obj_t object) {
    return object != NULL && object->type == HWLOC_OBJ_BRIDGE &&
           object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

/* The root ports of a host bridge meet in the socket itself. */
static void find_switches(node_t *node) {
    for (hwloc_obj_t at = NULL; (at = hwloc_get_next_bridge(node->hwloc, at)) != NULL;) {
        int branches = 0;
        for (hwloc_obj_t child = at->io_first_child; child != NULL; child = child->next_sibling)
            branches += leads_to_device(node, child);
        if (is_pci_bridge(at) && branches > 1 && node->switches < SWITCHES_MAX)
            node->bridge[node->switches++] = at;
    }
}

/* GB/s; 0: hwloc does not know. */
static double speed_of(hwloc_obj_t object) {
    if (object->type == HWLOC_OBJ_PCI_DEVICE)
        return (double)object->attr->pcidev.linkspeed;
    return is_pci_bridge(object) ? (double)object->attr->bridge.upstream.pci.linkspeed : 0;
}

/* What an object hangs on: a switch or, NULL, a socket. */
static hwloc_obj_t parent_of(const node_t *node, hwloc_obj_t object, double *gb_per_s) {
    *gb_per_s = INFINITY;
    for (; object != NULL; object = object->parent) {
        double speed = speed_of(object);
        *gb_per_s = speed > 0 ? fmin(*gb_per_s, speed) : *gb_per_s;
        if (object->parent == NULL || index_of(object->parent, node->bridge, node->switches) >= 0)
            return object->parent;
    }
    return NULL;
}

/* Devices between the sockets count for the first. */
static int socket_of(const node_t *node, hwloc_obj_t object) {
    hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(node->hwloc, object);
    hwloc_obj_t package =
        place != NULL && place->cpuset != NULL
            ? hwloc_get_next_obj_covering_cpuset_by_type(node->hwloc, place->cpuset, HWLOC_OBJ_PACKAGE, NULL)
            : NULL;
    return package != NULL ? (int)package->logical_index : 0;
}

/* --- NVLinks -------------------------------------------------------------------------------------------- */

/* The index of the GPU at an object of a distance matrix; -1: it is not a GPU. */
static int gpu_of(const node_t *node, hwloc_obj_t object) {
    while (object != NULL && object->type == HWLOC_OBJ_OS_DEVICE)
        object = object->parent;
    return index_of(object, node->gpu, node->gpus);
}

static void read_matrix(node_t *node, const struct hwloc_distances_s *matrix) {
    for (unsigned i = 0; i < matrix->nbobjs * matrix->nbobjs; i++) {
        hwloc_obj_t other = matrix->objs[i % matrix->nbobjs];
        int from = gpu_of(node, matrix->objs[i / matrix->nbobjs]), to = gpu_of(node, other);
        double gb_per_s = (double)matrix->values[i] / 1000;
        if (from < 0 || from == to)
            continue;
        if (to >= 0)
            node->links.between[from][to] = gb_per_s;
        else if (other->type == HWLOC_OBJ_PACKAGE)
            node->links.to_cpu[from] += gb_per_s;
        else
            node->links.to_switch[from] += gb_per_s;
    }
}

static void read_recorded_links(node_t *node) {
    struct hwloc_distances_s *matrix = NULL;
    unsigned count = 1;
    if (hwloc_distances_get_by_name(node->hwloc, "NVLinkBandwidth", &count, &matrix, 0) != 0 || count == 0)
        return;
    read_matrix(node, matrix);
    hwloc_distances_release(node->hwloc, matrix);
}

/* --- writing -------------------------------------------------------------------------------------------- */

static void put_link(const node_t *node, const char *from, const char *to, double gb_per_s,
                     const char *comment) {
    fprintf(node->text, "  - {between: [%s, %s], s_per_byte: %.8g}%s\n", from, to, 1e-9 / gb_per_s, comment);
}

static const char *name(char *text, const char *kind, int number) {
    snprintf(text, PTO_VERTEX_NAME_MAX, "%s.%d", kind, number);
    return text;
}

static void put_pci_link(const node_t *node, const char *kind, int number, hwloc_obj_t object,
                         double fallback) {
    char from[PTO_VERTEX_NAME_MAX], to[PTO_VERTEX_NAME_MAX];
    double gb_per_s;
    hwloc_obj_t parent = parent_of(node, object, &gb_per_s);
    bool known = isfinite(gb_per_s);
    if (parent != NULL)
        name(to, "switch", index_of(parent, node->bridge, node->switches));
    else
        name(to, "socket", socket_of(node, object));
    put_link(node, name(from, kind, number), to, known ? gb_per_s : fallback,
             known ? " # PCIe" : " # PCIe, inferred: hwloc knows no rate");
}

/* Rates that neither hwloc nor NVML knows are taken to be that of the fastest PCIe link. A NIC's counts as
 * well: idle GPUs lower theirs. */
static double fastest_pci(const node_t *node) {
    double fastest = 0, gb_per_s;
    for (int i = 0; i < node->gpus + node->nics; i++) {
        (void)parent_of(node, i < node->gpus ? node->gpu[i] : node->nic[i - node->gpus], &gb_per_s);
        fastest = isfinite(gb_per_s) ? fmax(fastest, gb_per_s) : fastest;
    }
    return fastest > 0 ? fastest : 16;
}

static void put_nvlinks(const node_t *node) {
    char from[PTO_VERTEX_NAME_MAX], to[PTO_VERTEX_NAME_MAX];
    for (int i = 0; i < node->gpus; i++) {
        name(from, "gpu", i);
        for (int j = i + 1; j < node->gpus; j++)
            if (node->links.between[i][j] > 0)
                put_link(node, from, name(to, "gpu", j), node->links.between[i][j], " # NVLink");
        if (node->links.to_switch[i] > 0)
            put_link(node, from, "nvswitch.0", node->links.to_switch[i], " # NVLink");
    }
}

/* A GPU that an NVLink joins to its CPU needs no PCIe link to it. */
static void put_tree(const node_t *node) {
    char from[PTO_VERTEX_NAME_MAX], to[PTO_VERTEX_NAME_MAX];
    double fallback = fastest_pci(node);
    for (int i = 0; i < node->gpus; i++)
        if (node->links.to_cpu[i] > 0)
            put_link(node, name(from, "gpu", i), name(to, "socket", socket_of(node, node->gpu[i])),
                     node->links.to_cpu[i], " # NVLink");
        else
            put_pci_link(node, "gpu", i, node->gpu[i], fallback);
    for (int i = 0; i < node->nics; i++)
        put_pci_link(node, "nic", i, node->nic[i], fallback);
    for (int i = 0; i < node->switches; i++)
        put_pci_link(node, "switch", i, node->bridge[i], fallback);
    for (int i = 0; i < node->sockets; i++)
        for (int j = i + 1; j < node->sockets; j++)
            put_link(node, name(from, "socket", i), name(to, "socket", j), fallback,
                     " # inferred: as fast as PCIe; to be measured");
}

/* --- cross-check ---------------------------------------------------------------------------------------- */

/* The level of a pair in the PCI tree, as NVML counts. */
static int tree_level(const node_t *node, int a, int b) {
    hwloc_obj_t common = node->gpu[a];
    int switches = 0;
    while (common != NULL && !is_below(node->gpu[b], common))
        common = common->parent;
    for (hwloc_obj_t at = node->gpu[a]; at != common; at = at->parent)
        switches += index_of(at, node->bridge, node->switches) >= 0;
    for (hwloc_obj_t at = node->gpu[b]; at != common; at = at->parent)
        switches += index_of(at, node->bridge, node->switches) >= 0;
    if (is_pci_bridge(common))
        return switches > 0 ? ANCESTOR_SWITCHES : ANCESTOR_SWITCH;
    if (common != NULL && common->type == HWLOC_OBJ_BRIDGE)
        return ANCESTOR_BRIDGE;
    return socket_of(node, node->gpu[a]) == socket_of(node, node->gpu[b]) ? ANCESTOR_SOCKET : ANCESTOR_NODE;
}

static const char *level_name(int level) {
    static const char *const names[ANCESTORS] = {"the board",       "one switch", "switches",
                                                 "the host bridge", "the socket", "the node"};
    return level >= 0 && level / 10 < ANCESTORS ? names[level / 10] : "unknown";
}

/* NVML does not tell a board's switch from any other. */
static bool levels_agree(int tree, int nvml) {
    return nvml == tree || (nvml <= ANCESTOR_SWITCH && tree == ANCESTOR_SWITCH) ||
           (nvml >= ANCESTOR_BRIDGE && nvml <= ANCESTOR_SOCKET && tree >= ANCESTOR_BRIDGE &&
            tree <= ANCESTOR_SOCKET);
}

static void put_cross_check(const node_t *node) {
    int checked = 0, differ = 0;
    for (int i = 0; i < node->gpus; i++)
        for (int j = i + 1; j < node->gpus && node->by_nvml; j++) {
            int nvml = node->ancestor[i][j], tree = tree_level(node, i, j);
            if (nvml < 0)
                continue;
            checked++;
            if (levels_agree(tree, nvml))
                continue;
            differ++;
            fprintf(node->text, "# gpu.%d and gpu.%d meet in %s by NVML, in %s by hwloc\n", i, j,
                    level_name(nvml), level_name(tree));
        }
    if (checked > 0)
        fprintf(node->text,
                "# NVML's common ancestors (PCI only, without NVLink) agree for %d of %d pairs of GPUs\n",
                checked - differ, checked);
}

/* --- all of it ------------------------------------------------------------------------------------------ */

/* Network devices that are not taken for NICs between nodes. */
static void put_left_out(const node_t *node) {
    for (hwloc_obj_t at = NULL; (at = hwloc_get_next_pcidev(node->hwloc, at)) != NULL;) {
        const struct hwloc_pcidev_attr_s *pci = &at->attr->pcidev;
        const pto_pci_t device = pci_of(pci);
        if (pto_pci_is_network(&device) && index_of(at, node->nic, node->nics) < 0)
            fprintf(node->text, "# left out: network device %04x:%02x:%02x.%x [%04x:%04x]\n", pci->domain,
                    pci->bus, pci->dev, pci->func & 0xfU, pci->vendor_id, pci->device_id);
    }
}

/* Whether a file is of hwloc 3, whose XML hwloc 2 does not read. */
static bool is_of_hwloc_3(const char *path) {
    char begin[4096];
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(begin, 1, sizeof begin - 1, file) : 0;
    if (file && fclose(file) != 0)
        size = 0;
    begin[size] = '\0';
    return strstr(begin, "<topology version=\"3") != NULL;
}

static void put_node(const node_t *node, const pto_calibrate_options_t *options) {
    const char *machine = options->machine != NULL ? options->machine : "node";
    fprintf(node->text,
            "# Written by portolan-calibrate --topology. PCIe links have the rate of the moment, which idle\n"
            "# GPUs lower.\n");
    put_cross_check(node);
    fprintf(node->text, "topology: \"%s\"\nsource: \"hwloc%s%s%s\"\n", machine,
            options->from != NULL ? ", from " : "", options->from != NULL ? options->from : "",
            node->by_nvml ? " and NVML" : "");
    for (int i = 0; i < node->gpus; i++)
        fprintf(node->text, "# gpu.%d: %s%s%s\n", i, node->bus[i], node->gpu[i]->name != NULL ? " " : "",
                node->gpu[i]->name != NULL ? node->gpu[i]->name : "");
    put_left_out(node);
    fprintf(node->text, "devices: {gpus: %d, sockets: %d, nics: %d}\nlinks:\n", node->gpus, node->sockets,
            node->nics);
    put_nvlinks(node);
    put_tree(node);
}

static pto_status_t load(node_t *node, const char *from, pto_error_t *err) {
    if (hwloc_topology_init(&node->hwloc) != 0)
        return pto_error_set(err, PTO_ERR_MEMORY, "hwloc can't begin");
    bool loaded = (from == NULL || hwloc_topology_set_xml(node->hwloc, from) == 0) &&
                  hwloc_topology_set_io_types_filter(node->hwloc, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
                  hwloc_topology_load(node->hwloc) == 0;
    if (!loaded && from != NULL && is_of_hwloc_3(from))
        return pto_error_set_at(
            err, PTO_ERR_IO, from, 1, 1,
            "a file of hwloc 3, which this hwloc (%x) does not read; write it with `lstopo "
            "--export-xml-flags v2`",
            hwloc_get_api_version());
    if (!loaded)
        return from != NULL
                   ? pto_error_set_at(err, PTO_ERR_IO, from, 1, 1, "hwloc can't read it as a topology")
                   : pto_error_set(err, PTO_ERR_IO, "hwloc can't read this machine's topology");
    find_devices(node);
    find_switches(node);
    read_recorded_links(node);
    if (from == NULL)
        node->by_nvml = nvlink_read(node->gpus, node->bus, &node->links, node->ancestor);
    return node->gpus > 0
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "hwloc sees no GPU on this machine%s%s",
                               from != NULL ? ": " : "", from != NULL ? from : "");
}

/* What is written is read first: it may have devices without a route. */
static pto_status_t keep(const char *text, const pto_calibrate_options_t *options, pto_error_t *err) {
    pto_topology_t *topology = NULL;
    pto_output_t *output = NULL;
    bool to_file = strcmp(options->out, "-") != 0;
    pto_status_t status = pto_topology_create(text, strlen(text), "(the topology found)", &topology, err);
    pto_topology_destroy(topology);
    if (status == PTO_OK && to_file)
        status = pto_output_open(options->out, options->force, &output, err);
    if (status != PTO_OK)
        return status;
    fputs(text, to_file ? pto_output_stream(output) : stdout);
    return to_file ? pto_output_close(output, true, err) : PTO_OK;
}

pto_status_t write_node_topology(const pto_calibrate_options_t *options, pto_error_t *err) {
    node_t *node = calloc(1, sizeof *node);
    char *text = NULL;
    size_t size = 0;
    if (node == NULL)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status = load(node, options->from, err);
    if (status == PTO_OK && (node->text = open_memstream(&text, &size)) == NULL)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (status == PTO_OK) {
        put_node(node, options);
        status = fclose(node->text) == 0 ? keep(text, options, err)
                                         : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    }
    free(text);
    if (node->hwloc != NULL)
        hwloc_topology_destroy(node->hwloc);
    free(node);
    return status;
}
