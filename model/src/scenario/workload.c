/* Binds workloads to a machine. The processes form a grid; a call along some of its dimensions has a
 * communicator for each combination of the other coordinates, whose layout is found here. */
#include "portolan/workload.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/text.h"
#include "machine/machine_internal.h"
#include "scenario/check.h"

bool pto_workload_is_call(const pto_workload_call_t *call) {
    return call->scenario.collective < PTO_COLLECTIVE_COUNT;
}

const char *pto_workload_call_name(const pto_workload_call_t *call) {
    if (call->name)
        return call->name;
    return pto_workload_is_call(call) ? pto_collective_name(call->scenario.collective) : "compute";
}

const char *pto_workload_along_text(const pto_workload_t *workload, unsigned along,
                                    char text[PTO_WORKLOAD_ALONG_MAX]) {
    pto_line_t line = {.text = text, .size = PTO_WORKLOAD_ALONG_MAX};
    if (along == (1u << workload->dim_count) - 1) {
        snprintf(text, PTO_WORKLOAD_ALONG_MAX, "world");
        return text;
    }
    for (int d = 0; d < workload->dim_count; d++)
        if (along & 1u << d)
            pto_line_add(&line, "%s%s", line.used ? "+" : "", workload->dim[d].name);
    return text;
}

/* Sets an error at a place of the workload's file, if there is one. */
#define REFUSE(workload, place, err, ...)                                                                    \
    pto_error_set_at(err, PTO_ERR_RANGE, (place).line > 0 ? (workload)->path : NULL, (place).line,           \
                     (place).column, __VA_ARGS__)

/* --- the layout and the grid ---------------------------------------------------------------------------- */

static pto_status_t complete_layout(pto_workload_t *workload, const pto_machine_t *machine,
                                    pto_error_t *err) {
    pto_layout_t *layout = &workload->layout;
    pto_error_t fault = {.status = PTO_OK};
    if (pto_layout_complete(layout, workload->memory, workload->procs_per_node, machine, &fault) != PTO_OK)
        return REFUSE(workload, workload->layout_place, err, "%s", fault.message);
    if (layout->in_host)
        workload->procs_per_node = layout->gpus_per_node;
    int64_t places = layout->in_host ? machine->node.cores : machine->node.gpus;
    if (layout->gpus_per_node > places)
        return REFUSE(workload, workload->layout_place, err,
                      "%s %lld is more than the %lld %s of a node of %s",
                      layout->in_host ? "procs_per_node" : "gpus_per_node", (long long)layout->gpus_per_node,
                      (long long)places, layout->in_host ? "cores" : "GPUs", machine->name);
    if (pto_layout_check(layout, &fault) != PTO_OK)
        return REFUSE(workload, workload->layout_place, err, "%s", fault.message);
    return PTO_OK;
}

enum { GPUS_MAX = 1 << 22 }; /* since processes are visited one by one */

/* Sets the open dimension of the grid, which must have as many processes as the layout has GPUs. */
static pto_status_t complete_grid(pto_workload_t *workload, pto_error_t *err) {
    int64_t gpus = pto_layout_owner_count(&workload->layout), processes = 1;
    pto_dimension_t *open = NULL;
    bool fits = true;
    for (int d = 0; d < workload->dim_count; d++) {
        if (workload->dim[d].size == 0)
            open = &workload->dim[d];
        else
            fits = fits && pto_multiply(processes, workload->dim[d].size, &processes);
    }
    fits =
        fits && processes >= 1 && processes <= gpus && gpus % processes == 0 && (open || processes == gpus);
    if (gpus > GPUS_MAX)
        return REFUSE(workload, workload->layout_place, err, "layout: %lld GPUs; a step has at most %d",
                      (long long)gpus, GPUS_MAX);
    if (workload->dim_count > 0 && !fits)
        return REFUSE(
            workload, workload->grid_place, err,
            "grid: %lld processes%s, but the layout has %lld %s; change the nodes (--nodes) or the grid "
            "(--grid), of which a size of 0 is filled in",
            (long long)processes, open ? " times those of the open dimension" : "", (long long)gpus,
            workload->layout.in_host ? "processes" : "GPUs");
    if (open)
        open->size = gpus / processes;
    return PTO_OK;
}

/* --- communicators -------------------------------------------------------------------------------------- */

/* How communicators are spread over nodes: the numbers of consecutive members on one node and one socket. */
typedef struct {
    int64_t on_node;   /* the same for all communicators and nodes, unless `uneven`; 0: none seen yet */
    int64_t on_socket; /* the minimum of the members on the first socket that a node's members use */
    bool uneven;
    bool has_gaps; /* a communicator skips a node */
} node_runs_t;

/* Returns the process of this number in the communicator whose first process is `first`. */
static int64_t member_at(const pto_workload_t *workload, unsigned along, int64_t first, int64_t number) {
    int64_t process = first, stride = 1;
    for (int d = workload->dim_count - 1; d >= 0; d--) {
        int64_t size = workload->dim[d].size;
        if (along & 1u << d) {
            process += stride * (number % size);
            number /= size;
        }
        stride *= size;
    }
    return process;
}

static bool is_first(const pto_workload_t *workload, unsigned along, int64_t process) {
    assert(workload->dim_count >= 0 && workload->dim_count <= PTO_WORKLOAD_DIMS_MAX);
    for (int d = workload->dim_count - 1; d >= 0; d--) {
        if (along & 1u << d && process % workload->dim[d].size != 0)
            return false;
        process /= workload->dim[d].size;
    }
    return true;
}

static void note_run(node_runs_t *runs, int64_t on_node, int64_t on_socket) {
    runs->uneven = runs->uneven || (runs->on_node != 0 && on_node != runs->on_node);
    runs->on_node = on_node;
    if (runs->on_socket == 0 || on_socket < runs->on_socket)
        runs->on_socket = on_socket;
}

static void walk_members(const pto_workload_t *workload, unsigned along, int64_t first, int64_t size,
                         node_runs_t *runs) {
    const pto_layout_t *layout = &workload->layout;
    int64_t node = -1, socket = -1, on_node = 0, on_socket = 0;
    for (int64_t i = 0; i < size; i++) {
        int64_t process = member_at(workload, along, first, i);
        if (process / layout->gpus_per_node != node) {
            if (node >= 0)
                note_run(runs, on_node, on_socket);
            runs->has_gaps = runs->has_gaps || (node >= 0 && process / layout->gpus_per_node > node + 1);
            node = process / layout->gpus_per_node;
            socket = process % layout->gpus_per_node / layout->gpus_per_socket;
            on_node = on_socket = 0;
        }
        on_node++;
        on_socket += process % layout->gpus_per_node / layout->gpus_per_socket == socket;
    }
    note_run(runs, on_node, on_socket);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Finds the layout of a call's communicators, and their number. */
static pto_status_t find_layout(const pto_workload_t *workload, pto_workload_call_t *call,
                                pto_layout_t *layout, pto_error_t *err) {
    int64_t gpus = pto_layout_owner_count(&workload->layout), size = 1;
    char along[PTO_WORKLOAD_ALONG_MAX];
    node_runs_t runs = {0};
    for (int d = 0; d < workload->dim_count; d++)
        size *= call->along & 1u << d ? workload->dim[d].size : 1;
    *layout = workload->layout;
    if (workload->dim_count == 0)
        size = gpus;
    for (int64_t process = 0; process < gpus && size < gpus && !runs.uneven; process++)
        if (is_first(workload, call->along, process))
            walk_members(workload, call->along, process, size, &runs);
    if (runs.uneven)
        return REFUSE(
            workload, call->place, err,
            "communicators along %s have different numbers of GPUs on their nodes of %lld, which are "
            "not priced; change the grid or gpus_per_node",
            pto_workload_along_text(workload, call->along, along), (long long)layout->gpus_per_node);
    if (runs.on_node > 0) { /* not the world, which has the job's layout */
        layout->nodes = size / runs.on_node;
        layout->gpus_per_node = runs.on_node;
        layout->gpus_per_socket = runs.on_socket;
    }
    const int64_t job_socket = smaller(workload->layout.gpus_per_socket, workload->layout.gpus_per_node);
    const int64_t members = smaller(layout->gpus_per_socket, job_socket);
    call->communicators =
        (pto_communicators_t){.count = gpus / size,
                              .per_node = workload->layout.gpus_per_node / layout->gpus_per_node,
                              .per_socket = members > 0 ? job_socket / members : 1,
                              .has_gaps = runs.has_gaps};
    return PTO_OK;
}

pto_status_t pto_workload_members(const pto_workload_t *workload, const pto_workload_call_t *call,
                                  int64_t **member, pto_error_t *err) {
    int64_t gpus = pto_layout_owner_count(&workload->layout), size = gpus / call->communicators.count;
    int64_t *created = calloc((size_t)gpus + 1, sizeof *created), next = 0;
    if (!created)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %lld processes", (long long)gpus);
    for (int64_t process = 0; process < gpus && next < gpus; process++)
        for (int64_t i = 0; i < size && (size == gpus || is_first(workload, call->along, process)); i++)
            created[next++] = size == gpus ? i : member_at(workload, call->along, process, i);
    *member = created;
    return PTO_OK;
}

static pto_status_t bind_call(const pto_workload_t *workload, pto_workload_call_t *call,
                              const pto_machine_t *machine, pto_error_t *err) {
    pto_scenario_t *scenario = &call->scenario;
    pto_layout_t layout;
    pto_status_t status = find_layout(workload, call, &layout, err);
    if (status == PTO_OK)
        status = pto_series_one(layout.nodes, &scenario->nodes, err);
    scenario->layout = layout;
    scenario->procs_per_node = 0;
    if (status == PTO_OK)
        status = pto_scenario_check(scenario, err);
    if (status == PTO_OK)
        status = pto_scenario_bind(scenario, machine, err);
    scenario->layout.gpus_per_socket = layout.gpus_per_socket; /* as its members are placed */
    return status;
}

pto_status_t pto_workload_bind(pto_workload_t *workload, const pto_machine_t *machine, pto_error_t *err) {
    const bool procs_open = workload->layout.procs_per_gpu == 0;
    pto_status_t status = complete_layout(workload, machine, err);
    if (status == PTO_OK)
        status = complete_grid(workload, err);
    for (int i = 0; i < workload->call_count && status == PTO_OK; i++) {
        workload->call[i].scenario.procs_open = procs_open;
        if (pto_workload_is_call(&workload->call[i]))
            status = bind_call(workload, &workload->call[i], machine, err);
    }
    return status;
}
