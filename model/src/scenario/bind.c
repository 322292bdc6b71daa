/* Binds a scenario to its machine: completes what its layout leaves open, and checks that the layout fits on
 * the machine's nodes. Called after pto_scenario_check and before any plan is made. If the data are in host
 * memory, a layout has one process for each "GPU": gpus_per_node counts the processes of a node. */
#include "base/checked.h"
#include "machine/machine_internal.h"
#include "portolan/scenario.h"
#include "scenario/check.h"

static bool is_in_host(pto_data_memory_t memory, const pto_layout_t *layout, const pto_machine_t *machine) {
    return layout->in_host || memory == PTO_MEMORY_HOST ||
           (memory == PTO_MEMORY_AUTO && machine->node.gpus == 0);
}

static void fill_layout(pto_layout_t *layout, int64_t procs_per_node, const pto_machine_t *machine) {
    int64_t gpus = machine->node.gpus > 0 ? machine->node.gpus : 1;
    if (layout->in_host && procs_per_node > 0)
        layout->gpus_per_node = procs_per_node;
    if (layout->gpus_per_node == 0)
        layout->gpus_per_node = layout->in_host ? machine->node.cores : gpus;
    if (layout->procs_per_gpu == 0)
        layout->procs_per_gpu = layout->owners_per_gpu;
    int64_t per_node = layout->in_host ? layout->gpus_per_node : gpus;
    layout->gpus_per_socket = per_node / machine->node.sockets + (per_node % machine->node.sockets != 0);
}

pto_status_t pto_layout_complete(pto_layout_t *layout, pto_data_memory_t memory, int64_t procs_per_node,
                                 const pto_machine_t *machine, pto_error_t *err) {
    bool in_host = is_in_host(memory, layout, machine);
    bool names_gpus = !layout->in_host &&
                      (layout->gpus_per_node > 0 || layout->procs_per_gpu > 1 || layout->owners_per_gpu > 1);
    if (memory == PTO_MEMORY_GPU && machine->node.gpus == 0)
        return pto_error_set(err, PTO_ERR_RANGE, "memory: nodes of %s have no GPUs", machine->name);
    if (in_host && names_gpus)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "layout: data in host memory%s have procs_per_node (--procs-per-node), not "
                             "gpus_per_node, procs_per_gpu or owners_per_gpu",
                             machine->node.gpus == 0 ? " (the nodes have no GPUs)" : "");
    if (!in_host && procs_per_node > 0)
        return pto_error_set(
            err, PTO_ERR_RANGE,
            "procs_per_node is for data in host memory: give memory: host (--memory host) as well");
    layout->in_host = in_host;
    fill_layout(layout, procs_per_node, machine);
    return PTO_OK;
}

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

static pto_status_t check_node(const pto_scenario_t *scenario, const pto_layout_t *layout,
                               const pto_machine_t *machine, pto_error_t *err) {
    if (layout->in_host && layout->gpus_per_node > machine->node.cores)
        return PTO_REFUSE_FIELD(LAYOUT, RANGE,
                                "procs_per_node %lld is more than the %lld core%s of a node of %s",
                                (long long)layout->gpus_per_node, (long long)machine->node.cores,
                                plural(machine->node.cores), machine->name);
    if (layout->in_host)
        return PTO_OK;
    if (layout->gpus_per_node > machine->node.gpus)
        return PTO_REFUSE_FIELD(LAYOUT, RANGE,
                                "gpus_per_node %lld is more than the %lld GPU%s of a node of %s",
                                (long long)layout->gpus_per_node, (long long)machine->node.gpus,
                                plural(machine->node.gpus), machine->name);
    int64_t processes = 0;
    if (!pto_multiply(layout->gpus_per_node, layout->procs_per_gpu, &processes) ||
        processes > machine->node.cores)
        return PTO_REFUSE_FIELD(
            LAYOUT, RANGE,
            "%lld GPU%s of %lld core%s each (procs_per_gpu) %s more than the %lld core%s of a node of %s",
            (long long)layout->gpus_per_node, plural(layout->gpus_per_node), (long long)layout->procs_per_gpu,
            plural(layout->procs_per_gpu), layout->gpus_per_node == 1 ? "is" : "are",
            (long long)machine->node.cores, plural(machine->node.cores), machine->name);
    return PTO_OK;
}

/* Returns the layout of a pair: two owners at this distance. */
static pto_layout_t pair_layout(pto_level_t distance) {
    bool share_gpu = distance == PTO_LEVEL_ON_GPU, off_node = distance == PTO_LEVEL_OFF_NODE;
    return (pto_layout_t){.nodes = off_node ? 2 : 1,
                          .gpus_per_node = share_gpu || off_node ? 1 : 2,
                          .owners_per_gpu = share_gpu ? 2 : 1,
                          .procs_per_gpu = share_gpu ? 2 : 1,
                          .gpus_per_socket = distance == PTO_LEVEL_ON_SOCKET ? 2 : 1};
}

static bool differs(int64_t given, int64_t wanted) { return given != 0 && given != wanted; }

/* Replaces the layout by that of a pair, unless the scenario asks for another one. */
static pto_status_t place_pair(const pto_scenario_t *scenario, const pto_machine_t *machine,
                               pto_layout_t *layout, pto_error_t *err) {
    const pto_layout_t pair = pair_layout(scenario->distance), given = scenario->layout;
    const pto_series_t *nodes = &scenario->nodes;
    if (layout->in_host && scenario->distance == PTO_LEVEL_ON_GPU)
        return PTO_REFUSE_FIELD(DISTANCE, RANGE, "distance: on_gpu is for data in GPU memory");
    bool other_nodes = differs(nodes->count, 1) || (nodes->count == 1 && nodes->value[0] != pair.nodes);
    if (other_nodes || differs(given.gpus_per_node, pair.gpus_per_node) ||
        differs(scenario->procs_per_node, pair.gpus_per_node) ||
        differs(given.procs_per_gpu, pair.procs_per_gpu))
        return PTO_REFUSE_FIELD(LAYOUT, RANGE,
                                "layout: a pair %s has nodes: %lld, %s: %lld and procs_per_gpu: %lld by "
                                "itself; leave these out, or name another distance (--distance)",
                                pto_level_name(scenario->distance), (long long)pair.nodes,
                                layout->in_host ? "procs_per_node" : "gpus_per_node",
                                (long long)pair.gpus_per_node, (long long)pair.procs_per_gpu);
    if ((scenario->distance == PTO_LEVEL_ON_SOCKET && layout->gpus_per_socket < 2) ||
        (scenario->distance == PTO_LEVEL_ON_NODE && machine->node.sockets < 2))
        return PTO_REFUSE_FIELD(DISTANCE, RANGE, "distance: a node of %s has no two %s that are %s",
                                machine->name, layout->in_host ? "cores" : "GPUs",
                                pto_level_name(scenario->distance));
    bool in_host = layout->in_host;
    *layout = pair;
    layout->in_host = in_host;
    return PTO_OK;
}

/* Checks that the grid of a halo exchange has as many processes as the layout has owners. */
static pto_status_t check_grid(const pto_scenario_t *scenario, const pto_layout_t *layout, pto_error_t *err) {
    pto_halo_t grid = scenario->halo;
    pto_error_t fault = {.status = PTO_OK};
    if (scenario->collective != PTO_COLLECTIVE_HALO ||
        pto_halo_complete(&grid, pto_layout_owner_count(layout), &fault) == PTO_OK)
        return PTO_OK;
    return PTO_REFUSE_FIELD(HALO, RANGE, "%s", fault.message);
}

static pto_status_t complete_layout(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                    pto_layout_t *layout, pto_error_t *err) {
    pto_error_t fault = {.status = PTO_OK};
    if (pto_layout_complete(layout, scenario->memory, scenario->procs_per_node, machine, &fault) != PTO_OK)
        return pto_scenario_refuse(scenario, PTO_FIELD_LAYOUT, fault.status, err, "%s", fault.message);
    if (!layout->in_host)
        return PTO_OK;
    if (scenario->place[PTO_FIELD_SPACES].line > 0 && !(scenario->ends.from_host && scenario->ends.to_host))
        return PTO_REFUSE_FIELD(SPACES, RANGE, "spaces: the data of both ends are in host memory");
    if (scenario->counts.host)
        return PTO_REFUSE_FIELD(COUNTS, RANGE,
                                "counts: two patterns are one in GPU memory and one in host memory");
    return PTO_OK;
}

pto_status_t pto_scenario_bind(pto_scenario_t *scenario, const pto_machine_t *machine, pto_error_t *err) {
    pto_layout_t layout = scenario->layout;
    pto_status_t status = complete_layout(scenario, machine, &layout, err);
    if (scenario->nodes.count > 0)
        layout.nodes = scenario->nodes.value[0];
    if (status == PTO_OK)
        status = pto_scenario_check_one_sweep(scenario, err);
    if (status == PTO_OK && scenario->collective == PTO_COLLECTIVE_PAIR)
        status = place_pair(scenario, machine, &layout, err);
    if (status == PTO_OK && scenario->nodes.count == 0)
        status = pto_series_one(layout.nodes, &scenario->nodes, err);
    if (status == PTO_OK)
        status = check_node(scenario, &layout, machine, err);
    for (int64_t i = 0; i < scenario->nodes.count && status == PTO_OK; i++) {
        pto_layout_t swept = layout;
        swept.nodes = scenario->nodes.value[i];
        status = pto_scenario_check_layout(scenario, &swept, err);
        if (status == PTO_OK)
            status = check_grid(scenario, &swept, err);
        if (status == PTO_OK)
            status = pto_mapping_bind(&scenario->mapping, &swept, err);
    }
    if (status == PTO_OK && scenario->collective == PTO_COLLECTIVE_MESSAGES && scenario->messages.count == 0)
        status = pto_series_one(1, &scenario->messages, err);
    if (status == PTO_OK && !pto_counts_scale(&scenario->counts) && scenario->bytes.count == 0)
        status = pto_series_one(pto_counts_largest(&scenario->counts, 0), &scenario->bytes, err);
    if (status == PTO_OK && scenario->collective == PTO_COLLECTIVE_HALO && scenario->bytes.count == 0)
        status = pto_series_one(pto_datatype_bytes(scenario->datatype), &scenario->bytes, err);
    if (status != PTO_OK)
        return status;
    scenario->procs_open = (scenario->procs_open || scenario->layout.procs_per_gpu == 0) && !layout.in_host &&
                           scenario->collective != PTO_COLLECTIVE_PAIR;
    scenario->layout = layout;
    if (layout.in_host) {
        scenario->procs_per_node = layout.gpus_per_node;
        scenario->ends.from_host = scenario->ends.to_host = scenario->collective == PTO_COLLECTIVE_PAIR;
    }
    return PTO_OK;
}

pto_status_t pto_scenario_read_machine(const pto_scenario_t *scenario, pto_machine_t **machine,
                                       pto_error_t *err) {
    if (!scenario->machine_path)
        return pto_error_set(err, PTO_ERR_KEY, "no machine is named");
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_machine_open(scenario->machine_path, machine, &fault);
    if (status == PTO_ERR_IO && scenario->place[PTO_FIELD_MACHINE].line > 0)
        return pto_scenario_refuse(scenario, PTO_FIELD_MACHINE, status, err, "machine: %s: %s",
                                   scenario->machine_path, fault.message);
    if (status != PTO_OK && err)
        *err = fault;
    return status;
}
