/* Binds a workload to its machine, with the machine, layout, grid and strategies that options change, and
 * predicts its step. */
#include "command_line/workload_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "portolan/units.h"

/* Complete the options' scenario by the workload's layout, so that options and what-ifs change the layout as
 * in commands on scenarios. Its collective and bytes are placeholders. */
static pto_status_t fill_layout(pto_options_t *options, const pto_workload_t *workload, pto_error_t *err) {
    pto_scenario_t *scenario = &options->scenario;
    pto_layout_t *layout = &scenario->layout;
    pto_series_t one;
    scenario->collective = PTO_COLLECTIVE_BROADCAST;
    const bool on_host = scenario->procs_per_node > 0; /* --procs-per-node replaces the workload's GPUs */
    if (layout->gpus_per_node == 0 && !on_host)
        layout->gpus_per_node = workload->layout.gpus_per_node;
    if (layout->procs_per_gpu == 0 && !on_host)
        layout->procs_per_gpu = workload->layout.procs_per_gpu;
    if (!on_host)
        scenario->procs_per_node = workload->procs_per_node;
    if (scenario->memory == PTO_MEMORY_AUTO)
        scenario->memory = workload->memory;
    options->by_option = scenario->nodes.count > 1;
    if (options->by_option)
        return pto_error_set(err, PTO_ERR_RANGE, "--nodes: a step has one number of nodes; ask for each");
    pto_status_t status = pto_series_one(1, &scenario->bytes, err);
    if (status != PTO_OK || scenario->nodes.count > 0)
        return status;
    layout->nodes = workload->layout.nodes;
    status = pto_series_one(layout->nodes, &one, err);
    if (status == PTO_OK)
        scenario->nodes = one;
    return status;
}

/* Open the machine of the options, else of the workload, change it, and give the workload the resulting
 * layout. */
static pto_status_t open_machine(pto_options_t *options, pto_workload_t *workload, pto_error_t *err) {
    pto_scenario_t *scenario = &options->scenario;
    pto_status_t status = PTO_OK;
    if (!scenario->machine_path && !workload->machine_path)
        return pto_error_set_at(err, PTO_ERR_KEY, workload->path, 1, 1,
                                "no machine is named: add `machine: NAME`, or give --machine");
    if (!scenario->machine_path) {
        scenario->machine_path = workload->machine_path;
        scenario->place[PTO_FIELD_MACHINE] = workload->machine_place;
        workload->machine_path = NULL;
        status = pto_options_find_machine(scenario, workload->path, err);
    }
    if (status == PTO_OK)
        status = pto_machine_open(scenario->machine_path, &options->machine, err);
    if (status == PTO_OK)
        status = fill_layout(options, workload, err);
    if (status == PTO_OK)
        status = pto_options_change(options, err);
    workload->layout.nodes = scenario->layout.nodes;
    workload->layout.gpus_per_node = scenario->layout.gpus_per_node;
    workload->layout.procs_per_gpu = scenario->layout.procs_per_gpu;
    workload->layout.in_host = scenario->layout.in_host;
    workload->procs_per_node = scenario->procs_per_node;
    workload->memory = scenario->memory;
    return status;
}

/* Set the size of a dimension of the grid, which is a number in `size`. */
static pto_status_t set_dimension(pto_workload_t *workload, const char *name, const char *size,
                                  pto_error_t *err) {
    for (int d = 0; d < workload->dim_count; d++)
        if (strcmp(workload->dim[d].name, name) == 0) {
            pto_status_t status = pto_int64_parse(size, &workload->dim[d].size, err);
            return status == PTO_OK && workload->dim[d].size < 0
                       ? pto_error_set(err, PTO_ERR_RANGE, "%s=%s: the size is below 0", name, size)
                       : status;
        }
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "'%s' is not a dimension of the workload's grid", name);
}

/* Apply the text of one --grid, as in data=64,tensor=4. */
static pto_status_t change_sizes(const char *text, pto_workload_t *workload, pto_error_t *err) {
    char *copy = strdup(text), *rest = copy;
    pto_status_t status = copy ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    for (char *part; status == PTO_OK && (part = strtok_r(rest, ",", &rest));) {
        char *equals = strchr(part, '=');
        if (equals)
            *equals = '\0';
        status = equals ? set_dimension(workload, part, equals + 1, err)
                        : pto_error_set(err, PTO_ERR_TYPE, "'%s' is not NAME=N", part);
    }
    free(copy);
    return status;
}

static pto_status_t change_grid(const pto_texts_t *given, pto_workload_t *workload, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    int unset = 0;
    for (int i = 0; i < given->count && status == PTO_OK; i++)
        status = change_sizes(given->item[i], workload, err);
    for (int d = 0; d < workload->dim_count; d++)
        unset += workload->dim[d].size == 0;
    if (status == PTO_OK && unset > 1)
        return pto_error_set(err, PTO_ERR_RANGE, "only one size can be left open by a 0");
    workload->grid_place = (pto_place_t){0};
    return status;
}

/* Apply --compute-scale and --grid. */
static pto_status_t change_workload(pto_options_t *options, pto_workload_t *workload, pto_error_t *err) {
    pto_error_t fault = {.status = PTO_OK};
    for (int i = 0; i < workload->call_count && options->compute_scale > 0; i++)
        workload->call[i].compute_s *= options->compute_scale;
    if (options->grid.count == 0 || change_grid(&options->grid, workload, &fault) == PTO_OK)
        return PTO_OK;
    options->by_option = true;
    return pto_error_set(err, fault.status, "--grid: %s", fault.message);
}

/* Replace the strategies of every call by those of --strategy. */
static pto_status_t replace_strategies(const pto_scenario_t *from, pto_workload_t *workload,
                                       pto_error_t *err) {
    for (int i = 0; i < workload->call_count; i++) {
        pto_scenario_t *scenario = &workload->call[i].scenario;
        char **copy = calloc((size_t)from->strategy_count, sizeof *copy);
        bool complete = copy != NULL;
        for (int s = 0; s < from->strategy_count && complete; s++)
            complete = (copy[s] = strdup(from->strategy[s])) != NULL;
        for (int s = 0; s < scenario->strategy_count; s++)
            free(scenario->strategy[s]);
        free(scenario->strategy);
        scenario->strategy = copy;
        scenario->strategy_count = copy ? from->strategy_count : 0;
        if (!complete)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    }
    return PTO_OK;
}

pto_status_t pto_options_bind_workload(pto_options_t *options, pto_workload_t *workload, pto_error_t *err) {
    pto_status_t status = open_machine(options, workload, err);
    if (status == PTO_OK)
        status = change_workload(options, workload, err);
    if (status == PTO_OK && options->has_strategies)
        status = replace_strategies(&options->scenario, workload, err);
    return status == PTO_OK ? pto_workload_bind(workload, options->machine, err) : status;
}

pto_status_t pto_step_open(pto_options_t *options, pto_workload_t *workload, pto_step_prediction_t *step,
                           pto_error_t *err) {
    pto_status_t status = pto_options_bind_workload(options, workload, err);
    if (status == PTO_OK)
        status = pto_step_predict(workload, options->machine, step, err);
    if (status != PTO_OK)
        return status;
    status = pto_step_find_more_procs(step, err);
    if (status != PTO_OK)
        pto_step_fini(step);
    return status;
}

bool pto_is_workload(const char *path) {
    enum { WORKLOAD_BYTES_MAX = 1 << 22 };
    char *text = NULL;
    size_t size = 0;
    if (pto_text_read(path, WORKLOAD_BYTES_MAX, &text, &size, NULL) != PTO_OK)
        return false;
    bool found = strncmp(text, "workload:", strlen("workload:")) == 0 || strstr(text, "\nworkload:") != NULL;
    free(text);
    return found;
}
