/* The mapper `greedy`: pairs of processes swap their places as long as that lowers the sum of costs. From
 * most starting points this ends in a poor local optimum, so there are several: the default, the grid's axes
 * in every order, recursive bisections, and random mappings if there are few processes. */
#include <stdlib.h>
#include <string.h>

#include "map/map_internal.h"

enum {
    ALL_PAIRS_MAX = 256, /* of more processes, only swaps near partners are tried */
    SWEEPS = 20,         /* over all processes */
    SWEEPS_OF_MANY = 3,  /* of more than ALL_PAIRS_MAX processes */
    BISECTIONS = 3,
    FEW = 16, /* of so many processes, random starts are tried, too */
    RANDOM_STARTS_OF_FEW = 32
};

typedef struct {
    const pto_flows_t *flows;
    const pto_places_t *places;
    int64_t *place;      /* by process; there are as many places as processes */
    int64_t *process;    /* by place */
    const int64_t *node; /* by place, since divisions would take most of the time */
    const int64_t *gpu;
} swaps_t;

static double cost(const swaps_t *swaps, int64_t from, int64_t to) {
    return swaps->node[from] == swaps->node[to]
               ? swaps->places->cost[swaps->gpu[from] * swaps->places->gpus + swaps->gpu[to]]
               : pto_places_off_node(swaps->places, swaps->node[from], swaps->node[to]);
}

/* Returns the change of cost if process i moves to place `to`, without its flow to the process `except`. */
static double move_cost(const swaps_t *swaps, int64_t i, int64_t to, int64_t except) {
    double change = 0;
    int64_t from = swaps->place[i];
    for (int64_t f = swaps->flows->first[i]; f < swaps->flows->first[i + 1]; f++) {
        const pto_flow_t *flow = &swaps->flows->flow[f];
        int64_t peer = swaps->place[flow->peer];
        if (flow->peer != except)
            change += flow->out * (cost(swaps, to, peer) - cost(swaps, from, peer)) +
                      flow->in * (cost(swaps, peer, to) - cost(swaps, peer, from));
    }
    return change;
}

/* Returns the change of cost of the flow between i and j themselves if they swap places; 0 if both directions
 * between the two places cost the same. */
static double own_flow_cost(const swaps_t *swaps, int64_t i, int64_t j) {
    double turned =
        cost(swaps, swaps->place[j], swaps->place[i]) - cost(swaps, swaps->place[i], swaps->place[j]);
    for (int64_t f = swaps->flows->first[i]; f < swaps->flows->first[i + 1]; f++)
        if (swaps->flows->flow[f].peer == j)
            return (swaps->flows->flow[f].out - swaps->flows->flow[f].in) * turned;
    return 0;
}

static bool swap_if_better(const swaps_t *swaps, int64_t i, int64_t j) {
    int64_t from = swaps->place[i], to = swaps->place[j];
    pto_map_visits++; /* counted for tests */
    double change = move_cost(swaps, i, to, j) + move_cost(swaps, j, from, i) + own_flow_cost(swaps, i, j);
    if (!(change < -1e-9 * cost(swaps, from, to))) /* less than the cost of 1e-9 bytes is rounding */
        return false;
    swaps->place[i] = to;
    swaps->place[j] = from;
    swaps->process[to] = i;
    swaps->process[from] = j;
    return true;
}

/* Tries to swap all pairs once. Returns whether the cost has fallen. */
static bool swap_all(const swaps_t *swaps) {
    bool better = false;
    for (int64_t i = 0; i < swaps->flows->count; i++)
        for (int64_t j = i + 1; j < swaps->flows->count; j++)
            better = swap_if_better(swaps, i, j) || better;
    return better;
}

/* Returns the number of places that count as near each other: those of a node; on a single node, of a GPU. */
static int64_t near_places(const pto_places_t *places) {
    return places->nodes == 1 && places->cores > 1 ? places->cores : places->gpus * places->cores;
}

/* For many processes: each tries only the places near those that it exchanges data with. */
static bool swap_near_peers(const swaps_t *swaps) {
    bool better = false;
    int64_t near = near_places(swaps->places);
    for (int64_t i = 0; i < swaps->flows->count; i++) {
        int64_t last = -1;
        for (int64_t f = swaps->flows->first[i]; f < swaps->flows->first[i + 1]; f++) {
            int64_t first = swaps->place[swaps->flows->flow[f].peer] / near * near;
            if (first == last)
                continue;
            last = first;
            for (int64_t p = first; p < first + near; p++)
                better = (swaps->process[p] != i && swap_if_better(swaps, i, swaps->process[p])) || better;
        }
    }
    return better;
}

static void run_swaps(const swaps_t *swaps, int sweeps) {
    for (int64_t i = 0; i < swaps->flows->count; i++)
        swaps->process[swaps->place[i]] = i;
    bool all = swaps->flows->count <= ALL_PAIRS_MAX;
    for (int sweep = 0; sweep < sweeps; sweep++)
        if (!(all ? swap_all(swaps) : swap_near_peers(swaps)))
            return;
}

typedef struct {
    const pto_map_problem_t *problem;
    swaps_t swaps;
    bool many;     /* many processes: swaps improve only the best start */
    int64_t *best; /* by process: its place in the best mapping */
    double best_sum;
    bool found; /* `best` is set */
} search_t;

/* Improves the mapping in swaps.place, and keeps it if it is the best. */
static void try_start(search_t *search) {
    const pto_map_problem_t *problem = search->problem;
    if (!search->many)
        run_swaps(&search->swaps, SWEEPS);
    double sum = pto_map_judge(problem->flows, problem->places, PTO_AIM_SUM, search->swaps.place);
    if (search->found && !(sum < search->best_sum * (1 - 1e-12)))
        return;
    search->found = true;
    search->best_sum = sum;
    memcpy(search->best, search->swaps.place, (size_t)problem->flows->count * sizeof *search->best);
}

/* Numbers the processes with the axes of the grid in another order; the last one varies fastest. */
static void order_axes(const pto_grid_t *grid, const int *axis, int64_t count, int64_t *place) {
    for (int64_t process = 0; process < count; process++) {
        int64_t coordinate[PTO_GRID_DIMS_MAX] = {0}, rest = process, number = 0;
        for (int d = grid->dim_count - 1; d >= 0; d--) {
            coordinate[d] = rest % grid->dim[d];
            rest /= grid->dim[d];
        }
        for (int d = 0; d < grid->dim_count; d++)
            number = number * grid->dim[axis[d]] + coordinate[axis[d]];
        place[process] = number;
    }
}

/* Tries all orders of the axes from `from` on. */
static void try_axes(search_t *search, int *axis, int from) {
    const pto_grid_t *grid = search->problem->grid;
    if (from == grid->dim_count) {
        order_axes(grid, axis, search->problem->flows->count, search->swaps.place);
        try_start(search);
        return;
    }
    for (int i = from; i < grid->dim_count; i++) {
        int kept = axis[from];
        axis[from] = axis[i];
        axis[i] = kept;
        try_axes(search, axis, from + 1);
        axis[i] = axis[from];
        axis[from] = kept;
    }
}

static pto_status_t try_starts(search_t *search, pto_error_t *err) {
    const pto_map_problem_t *problem = search->problem;
    int axis[PTO_GRID_DIMS_MAX] = {0, 1, 2, 3};
    int bisections = search->many ? 1 : BISECTIONS;
    if (problem->grid && problem->grid->dim_count > 1) {
        try_axes(search, axis, 0); /* the default first */
    } else {
        pto_mapper_slot.map(problem, search->swaps.place, err);
        try_start(search);
    }
    for (int i = 0; i < bisections; i++) {
        pto_status_t status = pto_map_bisect(problem, problem->seed + (uint64_t)i, search->swaps.place, err);
        if (status != PTO_OK)
            return status;
        try_start(search);
    }
    uint64_t state = problem->seed;
    for (int i = 0; i < RANDOM_STARTS_OF_FEW && problem->flows->count <= FEW; i++) {
        pto_mapper_slot.map(problem, search->swaps.place, err);
        pto_map_shuffle(&state, problem->flows->count, search->swaps.place);
        try_start(search);
    }
    return PTO_OK;
}

static pto_status_t map_greedily(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err) {
    size_t count = (size_t)problem->flows->count;
    const pto_places_t *places = problem->places;
    int64_t *numbers = calloc(4 * count + 1, sizeof *numbers);
    if (!numbers)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
    int64_t *node = numbers + 2 * count, *gpu = numbers + 3 * count;
    for (int64_t p = 0; p < problem->flows->count; p++) {
        node[p] = p / places->cores / places->gpus;
        gpu[p] = p / places->cores % places->gpus;
    }
    search_t search = {.problem = problem,
                       .swaps = {problem->flows, places, numbers, numbers + count, node, gpu},
                       .many = count > ALL_PAIRS_MAX,
                       .best = place};
    pto_status_t status = try_starts(&search, err);
    if (status == PTO_OK && search.many) {
        search.swaps.place = place;
        run_swaps(&search.swaps, SWEEPS_OF_MANY);
    }
    free(numbers);
    return status;
}

const pto_mapper_t pto_mapper_greedy = {
    "greedy", "swaps of pairs, from the default, the grid's axes in every order and recursive bisection",
    map_greedily};
