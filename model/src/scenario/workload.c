/* Binds workloads to a machine. The processes form a grid. A call along some of its dimensions splits them
 * into communicators: processes that differ only in the coordinates of those dimensions are members of the
 * same communicator. For each call, this file finds the layout (nodes, GPUs of a node) that all of its
 * communicators share. Process numbers are in row-major order, and fill one node after another. */
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

/* Sets PTO_ERR_RANGE at a place of the workload's file, or without a place if its line is not known. */
#define REFUSE(workload, place, err, ...)                                                                    \
    pto_error_set_at(err, PTO_ERR_RANGE, (place).line > 0 ? (workload)->path : NULL, (place).line,           \
                     (place).column, __VA_ARGS__)

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

enum { GPUS_MAX = 1 << 22 }; /* limits the time of find_layout, which visits each process */

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

/* How a call's communicators are spread over nodes. A run consists of the members of one communicator on one
 * node. */
typedef struct {
    int64_t on_node;   /* members of the latest run; of all runs unless `uneven`; 0: no run yet */
    int64_t on_socket; /* minimum over the runs of the members on the socket of the run's first member */
    bool uneven;       /* runs have different numbers of members */
    bool has_gaps;     /* a communicator skips a node */
} node_runs_t;

/* Returns the process that is member `number` of the communicator whose first member is `first`. The last
 * dimension varies fastest, among processes and among members. */
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

/* Returns whether a process is its communicator's first member: all its coordinates in `along` are 0. */
static bool is_first(const pto_workload_t *workload, unsigned along, int64_t process) {
    assert(workload->dim_count >= 0 && workload->dim_count <= PTO_WORKLOAD_DIMS_MAX);
    for (int d = workload->dim_count - 1; d >= 0; d--) {
        if (along & 1u << d && process % workload->dim[d].size != 0)
            return false;
        process /= workload->dim[d].size;
    }
    return true;
}

/* Enters one run: its members, and those on the socket of its first member. */
static void note_run(node_runs_t *runs, int64_t on_node, int64_t on_socket) {
    runs->uneven = runs->uneven || (runs->on_node != 0 && on_node != runs->on_node);
    runs->on_node = on_node;
    if (runs->on_socket == 0 || on_socket < runs->on_socket)
        runs->on_socket = on_socket;
}

/* Enters the runs of the communicator of `size` members whose first one is `first`. */
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

static node_runs_t find_runs(const pto_workload_t *workload, unsigned along, int64_t size) {
    int64_t gpus = pto_layout_owner_count(&workload->layout);
    node_runs_t runs = {0};
    for (int64_t process = 0; process < gpus && !runs.uneven; process++)
        if (is_first(workload, along, process))
            walk_members(workload, along, process, size, &runs);
    return runs;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Sets `layout` to that of each of a call's communicators, and `call->communicators`. Errors: PTO_ERR_RANGE
 * if their layouts differ. */
static pto_status_t find_layout(const pto_workload_t *workload, pto_workload_call_t *call,
                                pto_layout_t *layout, pto_error_t *err) {
    int64_t gpus = pto_layout_owner_count(&workload->layout), size = 1;
    char along[PTO_WORKLOAD_ALONG_MAX];
    node_runs_t runs = {0};
    for (int d = 0; d < workload->dim_count; d++)
        size *= call->along & 1u << d ? workload->dim[d].size : 1;
    *layout = workload->layout; /* kept if all processes are in one communicator */
    if (workload->dim_count == 0)
        size = gpus;
    if (size < gpus)
        runs = find_runs(workload, call->along, size);
    if (runs.uneven)
        return REFUSE(
            workload, call->place, err,
            "communicators along %s have different numbers of GPUs on their nodes of %lld, which are "
            "not priced; change the grid or gpus_per_node",
            pto_workload_along_text(workload, call->along, along), (long long)layout->gpus_per_node);
    if (size < gpus) {
        assert(runs.on_node > 0); /* a communicator has a process */
        layout->nodes = size / runs.on_node;
        layout->gpus_per_node = runs.on_node;
        layout->gpus_per_socket = runs.on_socket;
    }
    const int64_t job_socket = smaller(workload->layout.gpus_per_socket, workload->layout.gpus_per_node);
    /* GPUs of a communicator on a socket: */
    const int64_t own_socket = smaller(layout->gpus_per_socket, job_socket);
    call->communicators =
        (pto_communicators_t){.count = gpus / size,
                              .per_node = workload->layout.gpus_per_node / layout->gpus_per_node,
                              .per_socket = own_socket > 0 ? job_socket / own_socket : 1,
                              .has_gaps = runs.has_gaps};
    return PTO_OK;
}

pto_status_t pto_workload_members(const pto_workload_t *workload, const pto_workload_call_t *call,
                                  int64_t **member, pto_error_t *err) {
    int64_t gpus = pto_layout_owner_count(&workload->layout), size = gpus / call->communicators.count;
    int64_t *created = calloc((size_t)gpus + 1, sizeof *created), next = 0;
    bool is_world = size == gpus;
    if (!created)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %lld processes", (long long)gpus);
    for (int64_t process = 0; process < gpus && next < gpus; process++)
        if (is_world || is_first(workload, call->along, process))
            for (int64_t i = 0; i < size; i++)
                created[next++] = is_world ? i : member_at(workload, call->along, process, i);
    *member = created;
    return PTO_OK;
}

pto_status_t pto_workload_call_error(const pto_workload_t *workload, const pto_workload_call_t *call,
                                     const pto_error_t *fault, pto_error_t *err) {
    if (fault->line > 0) {
        if (err)
            *err = *fault;
        return fault->status;
    }
    return pto_error_set_at(err, fault->status, workload->path, call->place.line, call->place.column,
                            "%s: %s", pto_workload_call_name(call), fault->message);
}

static pto_status_t bind_call(const pto_workload_t *workload, pto_workload_call_t *call,
                              const pto_machine_t *machine, pto_error_t *err) {
    pto_scenario_t *scenario = &call->scenario;
    pto_layout_t layout;
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = find_layout(workload, call, &layout, err);
    if (status == PTO_OK)
        status = pto_series_one(layout.nodes, &scenario->nodes, err);
    scenario->layout = layout;
    scenario->procs_per_node = 0;
    if (status == PTO_OK && pto_scenario_check(scenario, &fault) != PTO_OK)
        status = pto_workload_call_error(workload, call, &fault, err);
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
