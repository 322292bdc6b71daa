/* `portolan-calibrate --topology`: writes the topology of a node (topology.h). The tree of devices is read
 * from hwloc's XML by model/traces. NVLinks come from NVML or, without it, from hwloc's records. */
#include "topology.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvlink.h"
#include "portolan/output.h"
#include "portolan/topology.h"
#include "traces/topology_xml.h"

enum { ANCESTORS = 6, GPUS_MAX = NVLINK_GPUS_MAX };

/* NVML's level (ancestor_t) of each pair of GPUs: where their paths in the PCI tree meet; -1: unknown. */
typedef int levels_t[GPUS_MAX][GPUS_MAX];

/* Returns whether an ancestor is on the way from a place (a vertex of the tree) to the root. */
static bool is_below(const pto_node_tree_t *tree, int place, int ancestor) {
    while (place >= 0 && place != ancestor)
        place = tree->place[place].parent;
    return place >= 0;
}

/* Returns the number of switches between a GPU and an ancestor. */
static int switches_below(const pto_node_tree_t *tree, int gpu, int ancestor) {
    int switches = 0;
    for (int at = gpu; at != ancestor; at = tree->place[at].parent)
        switches += tree->place[at].role == PTO_TREE_SWITCH && tree->place[at].number >= 0;
    return switches;
}

/* Returns the level of a pair in the PCI tree, in NVML's terms. */
static int tree_level(const pto_node_tree_t *tree, int a, int b) {
    int ancestor = a;
    while (!is_below(tree, b, ancestor)) /* ends at the root, if not before */
        ancestor = tree->place[ancestor].parent;
    if (tree->place[ancestor].role == PTO_TREE_SWITCH)
        return switches_below(tree, a, ancestor) + switches_below(tree, b, ancestor) > 0 ? ANCESTOR_SWITCHES
                                                                                         : ANCESTOR_SWITCH;
    if (tree->place[ancestor].role == PTO_TREE_HOST_BRIDGE)
        return ANCESTOR_BRIDGE;
    return pto_node_tree_socket(tree, a) == pto_node_tree_socket(tree, b) ? ANCESTOR_SOCKET
                                                                          : ANCESTOR_MACHINE;
}

static const char *level_name(int level) {
    static const char *const names[ANCESTORS] = {"the board",       "one switch", "switches",
                                                 "the host bridge", "the socket", "the node"};
    return level >= 0 && level / 10 < ANCESTORS ? names[level / 10] : "unknown";
}

/* Returns whether two levels are the same up to differences in terms: a board of NVML is a switch in hwloc's
 * tree, and host bridge and socket are not distinguished. */
static bool levels_agree(int tree, int nvml) {
    return nvml == tree || (nvml <= ANCESTOR_SWITCH && tree == ANCESTOR_SWITCH) ||
           (nvml >= ANCESTOR_BRIDGE && nvml <= ANCESTOR_SOCKET && tree >= ANCESTOR_BRIDGE &&
            tree <= ANCESTOR_SOCKET);
}

/* Adds comments about how many pairs of GPUs have the same level by NVML and in hwloc's tree. */
static void put_cross_check(const pto_node_tree_t *tree, levels_t level, pto_text_t *text) {
    int checked = 0, differ = 0;
    for (int i = 0; i < tree->gpus; i++)
        for (int j = i + 1; j < tree->gpus; j++) {
            int nvml = level[i][j], in_tree = tree_level(tree, tree->gpu[i], tree->gpu[j]);
            if (nvml < 0)
                continue;
            checked++;
            if (levels_agree(in_tree, nvml))
                continue;
            differ++;
            pto_text_add(text, "# gpu.%d and gpu.%d meet in %s by NVML, in %s by hwloc\n", i, j,
                         level_name(nvml), level_name(in_tree));
        }
    if (checked > 0)
        pto_text_add(
            text, "# NVML's common ancestors (PCI only, without NVLink) agree for %d of %d pairs of GPUs\n",
            checked - differ, checked);
}

/* Reads this machine's topology as XML by hwloc. */
static pto_status_t read_hwloc(pto_xml_t *xml, pto_error_t *err) {
    hwloc_topology_t hwloc;
    char *text = NULL;
    int size = 0;
    if (hwloc_topology_init(&hwloc) != 0)
        return pto_error_set(err, PTO_ERR_MEMORY, "hwloc can't begin");
    bool loaded = hwloc_topology_set_io_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
                  hwloc_topology_load(hwloc) == 0 &&
                  hwloc_topology_export_xmlbuffer(hwloc, &text, &size, 0) == 0;
    pto_status_t status = loaded ? pto_xml_parse(text, strlen(text), "(hwloc)", xml, err)
                                 : pto_error_set(err, PTO_ERR_IO, "hwloc can't read this machine's topology");
    if (loaded)
        hwloc_free_xmlbuffer(hwloc, text);
    hwloc_topology_destroy(hwloc);
    return status;
}

/* Replaces the NVLinks that hwloc recorded by NVML's. Returns whether there is NVML. */
static bool read_nvml(pto_node_tree_t *tree, levels_t level) {
    char bus[GPUS_MAX][16];
    nvlink_t links = {0};
    for (int i = 0; i < tree->gpus; i++)
        if (sscanf(tree->place[tree->gpu[i]].comment, "%15s", bus[i]) != 1)
            return false;
    if (!nvlink_read(tree->gpus, bus, &links, level))
        return false;
    memcpy(tree->between, links.between, sizeof tree->between);
    memcpy(tree->to_switch, links.to_switch, sizeof tree->to_switch);
    memcpy(tree->to_cpu, links.to_cpu, sizeof tree->to_cpu);
    return true;
}

static void put_node(pto_node_tree_t *tree, const pto_calibrate_options_t *options, pto_text_t *text) {
    static levels_t level;
    const char *from = options->from;
    bool by_nvml = from == NULL && read_nvml(tree, level);
    char source[PATH_MAX];
    snprintf(source, sizeof source, "%s%s%s%s", tree->source, from != NULL ? ", from " : "",
             from != NULL ? from : "", by_nvml ? " and NVML" : "");
    pto_text_add(text, "# Written by portolan-calibrate --topology. PCIe links have the rate of the moment, "
                       "which idle\n# GPUs lower.\n");
    if (by_nvml)
        put_cross_check(tree, level, text);
    pto_node_tree_write(tree, options->machine != NULL ? options->machine : "node", source, text);
}

/* Checks that the text is a topology before writing it: devices may have no route. */
static pto_status_t write_checked(const pto_text_t *text, const pto_calibrate_options_t *options,
                                  pto_error_t *err) {
    pto_topology_t *topology = NULL;
    pto_output_t *output = NULL;
    bool to_file = strcmp(options->out, "-") != 0;
    if (text->out_of_memory)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status =
        pto_topology_create(text->text, text->length, "(the topology found)", &topology, err);
    pto_topology_destroy(topology);
    if (status == PTO_OK && to_file)
        status = pto_output_open(options->out, options->force, &output, err);
    if (status != PTO_OK)
        return status;
    fputs(text->text, to_file ? pto_output_stream(output) : stdout);
    return to_file ? pto_output_close(output, true, err) : PTO_OK;
}

pto_status_t write_node_topology(const pto_calibrate_options_t *options, pto_error_t *err) {
    pto_xml_t xml = {0};
    pto_node_tree_t *tree = NULL;
    pto_text_t text = {0};
    pto_status_t status =
        options->from != NULL ? pto_xml_read(options->from, &xml, err) : read_hwloc(&xml, err);
    if (status == PTO_OK)
        status = pto_node_tree_create(&xml, options->from != NULL ? options->from : "(hwloc)", &tree, err);
    if (status == PTO_OK) {
        put_node(tree, options, &text);
        status = write_checked(&text, options, err);
    }
    free(text.text);
    pto_node_tree_destroy(tree);
    pto_xml_fini(&xml);
    return status;
}
