/* Binding a scenario to its machine: what its layout leaves open comes from the machine. */
#include <stdlib.h>

#include "base/checked.h"
#include "machine/machine_internal.h"
#include "portolan/scenario.h"
#include "scenario/check.h"

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
    pto_status_t status = check_node(scenario, &layout, machine, err);
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
