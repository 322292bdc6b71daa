/* Writes a PCI tree as a topology. The topology has the devices, the sockets, and those PCI switches that
 * join several devices. A link in it replaces a path in the tree, and has the rate of the slowest PCIe link
 * on it. All NVSwitches are one vertex. */
#include "node_tree.h"

#include <math.h>
#include <stdlib.h>

static bool is_device(const pto_tree_place_t *place) {
    return place->role == PTO_TREE_GPU || place->role == PTO_TREE_NIC;
}

/* A switch gets no number if only one of its branches, or none, leads to a device. */
pto_status_t pto_node_tree_number_switches(pto_node_tree_t *tree, pto_error_t *err) {
    int switches = 0;
    int *branches = calloc((size_t)tree->count + 1, sizeof *branches);
    if (!branches)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    for (int i = tree->count - 1; i >= 0; i--) /* children first */
        if ((is_device(&tree->place[i]) || branches[i] > 0) && tree->place[i].parent >= 0)
            branches[tree->place[i].parent]++;
    for (int i = 0; i < tree->count; i++)
        if (tree->place[i].role == PTO_TREE_SWITCH)
            tree->place[i].number = branches[i] > 1 ? switches++ : -1;
    free(branches);
    return PTO_OK;
}

static void write_link(pto_text_t *text, const char *from, int from_number, const char *to, int to_number,
                       double gb_per_s, const char *comment) {
    pto_text_add(text, "  - {between: [%s.%d, %s.%d], s_per_byte: %.8g} # %s\n", from, from_number, to,
                 to_number, 1e-9 / gb_per_s, comment);
}

/* Returns the socket or numbered switch above a place; NULL if there is none. Sets the rate of the slowest
 * link up to there; INFINITY if unknown. */
static const pto_tree_place_t *parent_of(const pto_node_tree_t *tree, const pto_tree_place_t *place,
                                         double *gb_per_s) {
    *gb_per_s = INFINITY;
    for (;;) {
        *gb_per_s = place->gb_per_s > 0 ? fmin(*gb_per_s, place->gb_per_s) : *gb_per_s;
        if (place->parent < 0)
            return NULL;
        place = &tree->place[place->parent];
        if (place->role == PTO_TREE_SOCKET || (place->role == PTO_TREE_SWITCH && place->number >= 0))
            return place;
    }
}

/* Returns the rate of the fastest PCIe link of a device, which stands in for unknown rates. */
static double fastest_pci(const pto_node_tree_t *tree) {
    double fastest = 0, gb_per_s;
    for (int i = 0; i < tree->count; i++)
        if (is_device(&tree->place[i])) {
            (void)parent_of(tree, &tree->place[i], &gb_per_s);
            fastest = isfinite(gb_per_s) ? fmax(fastest, gb_per_s) : fastest;
        }
    return fastest > 0 ? fastest : 16;
}

int pto_node_tree_socket(const pto_node_tree_t *tree, int place) {
    while (tree->place[place].role != PTO_TREE_SOCKET && tree->place[place].parent >= 0)
        place = tree->place[place].parent;
    return tree->place[place].role == PTO_TREE_SOCKET ? tree->place[place].number : 0;
}

static void write_pci_link(const pto_node_tree_t *tree, const pto_tree_place_t *place, double fallback,
                           pto_text_t *text) {
    static const char *const kind[] = {
        [PTO_TREE_SWITCH] = "switch", [PTO_TREE_GPU] = "gpu", [PTO_TREE_NIC] = "nic"};
    double gb_per_s;
    const pto_tree_place_t *to = parent_of(tree, place, &gb_per_s);
    if (place->net_gb_per_s > 0)
        gb_per_s = fmin(gb_per_s, place->net_gb_per_s);
    const bool known = isfinite(gb_per_s), on_socket = !to || to->role == PTO_TREE_SOCKET;
    if (place->role == PTO_TREE_GPU && tree->to_cpu[place->number] > 0)
        write_link(text, "gpu", place->number, "socket", pto_node_tree_socket(tree, tree->gpu[place->number]),
                   tree->to_cpu[place->number], tree->link_name);
    else
        write_link(text, kind[place->role], place->number, on_socket ? "socket" : "switch",
                   to ? to->number : 0, known ? gb_per_s : fallback,
                   known ? "PCIe" : "PCIe, inferred: its rate is not known");
}

static void write_gpu_links(const pto_node_tree_t *tree, pto_text_t *text) {
    for (int i = 0; i < tree->gpus; i++) {
        for (int j = i + 1; j < tree->gpus; j++) {
            const double rate = fmax(tree->between[i][j], tree->between[j][i]);
            if (rate > 0)
                write_link(text, "gpu", i, "gpu", j, rate, tree->link_name);
        }
        if (tree->to_switch[i] > 0)
            write_link(text, "gpu", i, "nvswitch", 0, tree->to_switch[i], tree->link_name);
    }
}

static void write_comment(const pto_tree_place_t *place, pto_text_t *text) {
    if (is_device(place))
        pto_text_add(text, "# %s.%d: %s\n", place->role == PTO_TREE_GPU ? "gpu" : "nic", place->number,
                     place->comment);
    else if (place->comment[0])
        pto_text_add(text, "# left out: network device %s\n", place->comment);
}

void pto_node_tree_write(const pto_node_tree_t *tree, const char *name, const char *source,
                         pto_text_t *text) {
    const double fallback = fastest_pci(tree);
    pto_text_add(text, "topology: \"%s\"\nsource: \"%s\"\n", name, source);
    for (int i = 0; i < tree->count; i++)
        write_comment(&tree->place[i], text);
    pto_text_add(text, "devices: {gpus: %d, sockets: %d, nics: %d}\nlinks:\n", tree->gpus,
                 tree->sockets > 0 ? tree->sockets : 1, tree->nics);
    write_gpu_links(tree, text);
    for (int i = 0; i < tree->count; i++)
        if (is_device(&tree->place[i]) ||
            (tree->place[i].role == PTO_TREE_SWITCH && tree->place[i].number >= 0))
            write_pci_link(tree, &tree->place[i], fallback, text);
    for (int i = 0; i < tree->sockets; i++)
        for (int j = i + 1; j < tree->sockets; j++)
            write_link(text, "socket", i, "socket", j, fallback, "inferred: as fast as PCIe; to be measured");
}

pto_status_t pto_node_tree_topology(const pto_node_tree_t *tree, const char *name, const char *path,
                                    pto_topology_t **topology, pto_error_t *err) {
    pto_text_t text = {0};
    pto_node_tree_write(tree, *name ? name : "node", tree->source, &text);
    pto_status_t status = text.out_of_memory
                              ? pto_error_set(err, PTO_ERR_MEMORY, "out of memory")
                              : pto_topology_create(text.text, text.length, path, topology, err);
    free(text.text);
    return status;
}

void pto_node_tree_destroy(pto_node_tree_t *tree) {
    if (tree)
        free(tree->place);
    free(tree);
}
