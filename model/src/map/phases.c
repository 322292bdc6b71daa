/* Mapping in phases, as in section 6.3.2 of Faraji's thesis: first processes to nodes, then those of each
 * node to sockets, then to GPUs. Later phases keep what earlier ones have decided. */
#include <stdlib.h>
#include <string.h>

#include "map/map_internal.h"

typedef struct {
    const pto_map_problem_t *problem;
    const pto_mapper_t *mapper;
    const int64_t *part_size; /* by phase: the places of a part (a node, a socket, a GPU) */
    int part_count;
    int64_t *index; /* by process: its number within the current part; -1: it is in another one */
    int64_t *place; /* the result */
} phases_t;

/* Extracts the flows among the `count` processes of a part. */
static bool take_flows(const phases_t *phases, const int64_t *process, int64_t count, pto_flows_t *flows) {
    const pto_flows_t *all = phases->problem->flows;
    int64_t used = 0, max_flows = 0;
    for (int64_t n = 0; n < count; n++) {
        phases->index[process[n]] = n;
        max_flows += all->first[process[n] + 1] - all->first[process[n]];
    }
    *flows = (pto_flows_t){.count = count,
                           .first = calloc((size_t)count + 1, sizeof *flows->first),
                           .flow = calloc((size_t)max_flows + 1, sizeof *flows->flow)};
    for (int64_t n = 0; n < count && flows->first && flows->flow; n++) {
        for (int64_t f = all->first[process[n]]; f < all->first[process[n] + 1]; f++)
            if (phases->index[all->flow[f].peer] >= 0) {
                flows->flow[used] = all->flow[f];
                flows->flow[used++].peer = phases->index[all->flow[f].peer];
            }
        flows->first[n + 1] = used;
    }
    for (int64_t n = 0; n < count; n++)
        phases->index[process[n]] = -1;
    return flows->first && flows->flow;
}

/* Describes the places of the next phase: its parts of `size` places each become nodes, or GPUs of one node,
 * within which sending costs nothing. */
static bool make_parts(const phases_t *phases, int64_t first, int64_t count, int64_t size,
                       pto_places_t *parts) {
    const pto_places_t *places = phases->problem->places;
    bool are_nodes = size == places->gpus * places->cores; /* whose costs need no table */
    *parts = *places;
    parts->nodes = are_nodes ? count / size : 1;
    parts->gpus = are_nodes ? 1 : count / size;
    parts->cores = size;
    parts->cost = calloc((size_t)(parts->gpus * parts->gpus), sizeof *parts->cost);
    for (int64_t i = 0; parts->cost && i < parts->gpus * parts->gpus; i++)
        if (i / parts->gpus != i % parts->gpus)
            parts->cost[i] =
                pto_places_cost(places, first + i / parts->gpus * size, first + i % parts->gpus * size);
    return parts->cost != NULL;
}

/* Sorts the processes of places [first, first + count) by the parts to which the mapper assigns them. */
static pto_status_t divide(const phases_t *phases, int64_t *process, int64_t first, int64_t count,
                           int64_t size, pto_error_t *err) {
    pto_flows_t flows = {.count = 0};
    pto_places_t parts = {.nodes = 0};
    int64_t *numbers = calloc(2 * (size_t)count + 1, sizeof *numbers);
    pto_status_t status = PTO_OK;
    if (numbers && take_flows(phases, process, count, &flows) &&
        make_parts(phases, first, count, size, &parts)) {
        const pto_map_problem_t problem = {
            .flows = &flows,
            .places = &parts,
            .grid = count == phases->problem->flows->count ? phases->problem->grid : NULL,
            .seed = phases->problem->seed};
        status = pto_mapper_run(phases->mapper, &problem, numbers, err);
        if (status == PTO_ERR_NOT_APPLICABLE)
            status = pto_mapper_run(&pto_mapper_greedy, &problem, numbers, err);
        for (int64_t n = 0; n < count && status == PTO_OK; n++)
            numbers[count + numbers[n]] = process[n];
        if (status == PTO_OK)
            memcpy(process, numbers + count, (size_t)count * sizeof *process);
    } else {
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
    }
    free(numbers);
    pto_flows_fini(&flows);
    pto_places_fini(&parts);
    return status;
}

/* Runs a phase, and those after it, on the processes of places [first, first + count). */
static pto_status_t run_phase(const phases_t *phases, int phase, int64_t *process, int64_t first,
                              int64_t count, pto_error_t *err) {
    if (phase == phases->part_count) {
        for (int64_t n = 0; n < count; n++)
            phases->place[process[n]] = first + n;
        return PTO_OK;
    }
    int64_t size = phases->part_size[phase];
    if (size >= count || count % size != 0)
        return run_phase(phases, phase + 1, process, first, count, err);
    pto_status_t status = divide(phases, process, first, count, size, err);
    for (int64_t n = 0; n < count && status == PTO_OK; n += size)
        status = run_phase(phases, phase + 1, process + n, first + n, size, err);
    return status;
}

pto_status_t pto_map_in_phases(const pto_map_problem_t *problem, const pto_mapper_t *mapper,
                               const int64_t *part_size, int part_count, int64_t *place, pto_error_t *err) {
    int64_t count = problem->flows->count;
    int64_t *numbers = calloc(2 * (size_t)count + 1, sizeof *numbers);
    if (!numbers)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
    int64_t *process = numbers + count;
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = -1;
        process[i] = i;
    }
    const phases_t phases = {.problem = problem,
                             .mapper = mapper,
                             .part_size = part_size,
                             .part_count = part_count,
                             .index = numbers,
                             .place = place};
    pto_status_t status = run_phase(&phases, 0, process, 0, count, err);
    free(numbers);
    return status;
}
