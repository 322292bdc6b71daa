/* Scenarios in memory: names, defaults, series, and binding a layout to a machine. read.c reads them; check.c
 * refuses invalid ones. */
#include "portolan/scenario.h"
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "machine/library_rules.h"
#include "scenario/check.h"

const char *pto_implementation_name(pto_implementation_t implementation) {
    static const char *const name[] = {
        [PTO_IMPLEMENTATION_LIBRARY] = "library", [PTO_IMPLEMENTATION_ISEND_IRECV] = "isend_irecv"};
    PTO_EACH_NAMED(name, PTO_IMPLEMENTATION_COUNT);
    return implementation < PTO_IMPLEMENTATION_COUNT ? name[implementation] : "no implementation";
}

const char *pto_split_name(pto_split_t split) {
    static const char *const name[] = {
        [PTO_SPLIT_BYTES] = "bytes", [PTO_SPLIT_DESTINATIONS] = "destinations"};
    PTO_EACH_NAMED(name, PTO_SPLIT_COUNT);
    return split < PTO_SPLIT_COUNT ? name[split] : "no split";
}

static const struct {
    const char *name;
    int64_t bytes;
} datatypes[] = {
    [PTO_DATATYPE_BYTE] = {"byte", 1},     [PTO_DATATYPE_INT32] = {"int32", 4},
    [PTO_DATATYPE_INT64] = {"int64", 8},   [PTO_DATATYPE_FLOAT] = {"float", 4},
    [PTO_DATATYPE_DOUBLE] = {"double", 8},
};
PTO_EACH_NAMED(datatypes, PTO_DATATYPE_COUNT);

const char *pto_datatype_name(pto_datatype_t datatype) {
    return datatype < PTO_DATATYPE_COUNT ? datatypes[datatype].name : "no datatype";
}

int64_t pto_datatype_bytes(pto_datatype_t datatype) {
    return datatype < PTO_DATATYPE_COUNT ? datatypes[datatype].bytes : 1;
}

const char *pto_sweep_kind_name(pto_sweep_kind_t kind) {
    static const char *const name[] = {
        [PTO_SWEEP_BYTES] = "bytes", [PTO_SWEEP_NODES] = "nodes", [PTO_SWEEP_MESSAGES] = "messages"};
    PTO_EACH_NAMED(name, PTO_SWEEP_COUNT);
    return kind < PTO_SWEEP_COUNT ? name[kind] : "no sweep";
}

pto_status_t pto_series_range(int64_t from, int64_t to, int64_t factor, pto_series_t *series,
                              pto_error_t *err) {
    if (factor < 2)
        return pto_error_set(err, PTO_ERR_RANGE, "factor must be 2 or more, not %lld", (long long)factor);
    if (from < 1)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "a range grows by a factor, so starts at 1 or more, not %lld", (long long)from);
    if (to < from)
        return pto_error_set(err, PTO_ERR_RANGE, "the range ends at %lld, before its start %lld",
                             (long long)to, (long long)from);
    int64_t count = 1;
    for (int64_t value = from; value <= to / factor; value *= factor)
        count++;
    int64_t *made = calloc((size_t)count, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    made[0] = from;
    for (int64_t i = 1; i < count; i++)
        made[i] = made[i - 1] * factor;
    *series = (pto_series_t){.value = made, .count = count};
    return PTO_OK;
}

void pto_series_fini(pto_series_t *series) {
    free(series->value);
    *series = (pto_series_t){0};
}

void pto_scenario_init(pto_scenario_t *scenario) {
    *scenario = (pto_scenario_t){
        .collective = PTO_COLLECTIVE_COUNT,
        .implementation = PTO_IMPLEMENTATION_LIBRARY,
        .datatype = PTO_DATATYPE_FLOAT,
        .layout = {.owners_per_gpu = 1},
        .distance = PTO_LEVEL_ON_SOCKET,
        .counts = {.kind = PTO_COUNTS_EQUAL},
    };
}

void pto_scenario_fini(pto_scenario_t *scenario) {
    free(scenario->name);
    free(scenario->path);
    free(scenario->machine_path);
    pto_series_fini(&scenario->bytes);
    pto_series_fini(&scenario->nodes);
    pto_series_fini(&scenario->messages);
    pto_counts_fini(&scenario->counts);
    for (int i = 0; i < scenario->strategy_count; i++)
        free(scenario->strategy[i]);
    free(scenario->strategy);
    free(scenario->library.name);
    pto_library_rules_free(scenario->library.rule, scenario->library.rule_count);
    memset(scenario, 0, sizeof *scenario);
}

pto_split_t pto_scenario_split(const pto_scenario_t *scenario) {
    if (scenario->has_split)
        return scenario->split;
    return pto_collective_is_by_pair(scenario->collective) ? PTO_SPLIT_DESTINATIONS : PTO_SPLIT_BYTES;
}

pto_sweep_kind_t pto_scenario_sweep(const pto_scenario_t *scenario) {
    if (scenario->nodes.count > 1)
        return PTO_SWEEP_NODES;
    return scenario->messages.count > 1 ? PTO_SWEEP_MESSAGES : PTO_SWEEP_BYTES;
}

/* --- binding -------------------------------------------------------------------------------------------- */

static void fill_layout(pto_layout_t *layout, const pto_machine_t *machine) {
    int64_t cores = machine->node.cores / machine->node.gpus;
    if (layout->gpus_per_node == 0)
        layout->gpus_per_node = machine->node.gpus;
    if (layout->procs_per_gpu == 0)
        layout->procs_per_gpu = cores > 0 ? cores : 1;
    layout->gpus_per_socket = machine->node.gpus / machine->node.sockets;
    if (machine->node.gpus % machine->node.sockets != 0)
        layout->gpus_per_socket++;
}

static pto_status_t check_node(const pto_scenario_t *scenario, const pto_layout_t *layout,
                               const pto_machine_t *machine, pto_error_t *err) {
    if (layout->gpus_per_node > machine->node.gpus)
        return pto_scenario_refuse(scenario, PTO_FIELD_LAYOUT, PTO_ERR_RANGE, err,
                                   "gpus_per_node %lld is more than the %lld GPUs of a node of %s",
                                   (long long)layout->gpus_per_node, (long long)machine->node.gpus,
                                   machine->name);
    int64_t processes = 0;
    if (!pto_multiply(layout->gpus_per_node, layout->procs_per_gpu, &processes) ||
        processes > machine->node.cores)
        return pto_scenario_refuse(
            scenario, PTO_FIELD_LAYOUT, PTO_ERR_RANGE, err,
            "%lld GPUs of %lld cores each (procs_per_gpu) are more than the %lld cores of a node of %s",
            (long long)layout->gpus_per_node, (long long)layout->procs_per_gpu,
            (long long)machine->node.cores, machine->name);
    return PTO_OK;
}

/* A pair is a layout of two owners. */
static pto_layout_t pair_layout(pto_level_t distance) {
    bool share_gpu = distance == PTO_LEVEL_ON_GPU, apart = distance == PTO_LEVEL_OFF_NODE;
    return (pto_layout_t){.nodes = apart ? 2 : 1,
                          .gpus_per_node = share_gpu || apart ? 1 : 2,
                          .owners_per_gpu = share_gpu ? 2 : 1,
                          .procs_per_gpu = share_gpu ? 2 : 1,
                          .gpus_per_socket = distance == PTO_LEVEL_ON_SOCKET ? 2 : 1};
}

static bool differs(int64_t given, int64_t wanted) { return given != 0 && given != wanted; }

static pto_status_t place_pair(const pto_scenario_t *scenario, const pto_machine_t *machine,
                               pto_layout_t *layout, pto_error_t *err) {
    const pto_layout_t pair = pair_layout(scenario->distance), given = scenario->layout;
    const pto_series_t *nodes = &scenario->nodes;
    if (differs(nodes->count, 1) || (nodes->count == 1 && nodes->value[0] != pair.nodes) ||
        differs(given.gpus_per_node, pair.gpus_per_node) || differs(given.procs_per_gpu, pair.procs_per_gpu))
        return pto_scenario_refuse(scenario, PTO_FIELD_LAYOUT, PTO_ERR_RANGE, err,
                                   "layout: a pair %s has %lld nodes x %lld GPUs x %lld processes; leave it out",
                                   pto_level_name(scenario->distance), (long long)pair.nodes,
                                   (long long)pair.gpus_per_node, (long long)pair.procs_per_gpu);
    if ((scenario->distance == PTO_LEVEL_ON_SOCKET && layout->gpus_per_socket < 2) ||
        (scenario->distance == PTO_LEVEL_ON_NODE && machine->node.sockets < 2))
        return pto_scenario_refuse(scenario, PTO_FIELD_DISTANCE, PTO_ERR_RANGE, err,
                                   "distance: a node of %s has no two GPUs that are %s", machine->name,
                                   pto_level_name(scenario->distance));
    *layout = pair;
    return PTO_OK;
}

static pto_status_t one_value(int64_t value, pto_series_t *series, pto_error_t *err) {
    int64_t *made = calloc(1, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    *made = value;
    *series = (pto_series_t){.value = made, .count = 1};
    return PTO_OK;
}

pto_status_t pto_scenario_bind(pto_scenario_t *scenario, const pto_machine_t *machine, pto_error_t *err) {
    pto_layout_t layout = scenario->layout;
    fill_layout(&layout, machine);
    if (scenario->nodes.count > 0)
        layout.nodes = scenario->nodes.value[0];
    pto_status_t status = PTO_OK;
    if (scenario->collective == PTO_COLLECTIVE_PAIR)
        status = place_pair(scenario, machine, &layout, err);
    if (status == PTO_OK && scenario->nodes.count == 0)
        status = one_value(layout.nodes, &scenario->nodes, err);
    if (status == PTO_OK)
        status = check_node(scenario, &layout, machine, err);
    for (int64_t i = 0; i < scenario->nodes.count && status == PTO_OK; i++) {
        pto_layout_t swept = layout;
        swept.nodes = scenario->nodes.value[i];
        status = pto_scenario_check_layout(scenario, &swept, err);
    }
    if (status == PTO_OK && scenario->collective == PTO_COLLECTIVE_MESSAGES && scenario->messages.count == 0)
        status = one_value(1, &scenario->messages, err);
    if (status == PTO_OK && scenario->counts.kind == PTO_COUNTS_MATRIX && scenario->bytes.count == 0)
        status = one_value(pto_counts_largest(&scenario->counts), &scenario->bytes, err);
    if (status == PTO_OK)
        scenario->layout = layout;
    return status;
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
