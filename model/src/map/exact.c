/* The mapper `exact`, which finds the optimum: of few processes by branch and bound over all permutations,
 * else by the dynamic program on trees (tree.c). */
#include <string.h>

#include "map/map_internal.h"

typedef struct {
    const pto_map_problem_t *problem;
    int64_t count;                                     /* of processes, and of places */
    double volume[PTO_PERMUTED_MAX][PTO_PERMUTED_MAX]; /* [from][to] */
    int64_t place[PTO_PERMUTED_MAX];                   /* by process: that of the mapping being tried */
    bool taken[PTO_PERMUTED_MAX];                      /* by place */
    int64_t *best;                                     /* by process: that of the best mapping */
    double best_cost;
    bool found; /* a complete mapping has been found */
} search_t;

/* The cost of the processes placed so far. */
typedef struct {
    double sum;
    double largest;
    double turn[PTO_PERMUTED_MAX]; /* by process: the sum over its sends, which go out in turn */
} cost_t;

static double judge(const search_t *search, const cost_t *cost) {
    if (search->problem->aim == PTO_AIM_SUM)
        return cost->sum;
    double slowest = 0;
    for (int64_t i = 0; i < search->count; i++)
        slowest = cost->turn[i] > slowest ? cost->turn[i] : slowest;
    return search->problem->aim == PTO_AIM_IN_TURN ? slowest : cost->largest;
}

static void add_flow(const search_t *search, int64_t from, int64_t to, cost_t *cost) {
    double added = search->volume[from][to] *
                   pto_places_cost(search->problem->places, search->place[from], search->place[to]);
    cost->sum += added;
    cost->turn[from] += added;
    cost->largest = added > cost->largest ? added : cost->largest;
}

/* Tries all free places for process i, and for those after it. `before`: the cost of those before it. Costs
 * only grow, so a partial mapping that is as bad as the best complete one is not continued. */
static void place_from(search_t *search, int64_t i, const cost_t *before) {
    if (i == search->count) {
        search->found = true;
        search->best_cost = judge(search, before);
        memcpy(search->best, search->place, (size_t)search->count * sizeof *search->best);
        return;
    }
    for (int64_t p = 0; p < search->count; p++) {
        if (search->taken[p])
            continue;
        cost_t cost = *before;
        search->place[i] = p;
        for (int64_t j = 0; j < i; j++) {
            add_flow(search, i, j, &cost);
            add_flow(search, j, i, &cost);
        }
        if (search->found && !(judge(search, &cost) < search->best_cost * (1 - 1e-12)))
            continue;
        search->taken[p] = true;
        place_from(search, i + 1, &cost);
        search->taken[p] = false;
    }
}

pto_status_t pto_map_permutations(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err) {
    const pto_flows_t *flows = problem->flows;
    search_t search = {.problem = problem, .count = flows->count, .best = place};
    if (flows->count > PTO_PERMUTED_MAX)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "all permutations are tried of at most %d processes, not of %lld",
                             PTO_PERMUTED_MAX, (long long)flows->count);
    for (int64_t i = 0; i < flows->count; i++)
        for (int64_t f = flows->first[i]; f < flows->first[i + 1]; f++)
            search.volume[i][flows->flow[f].peer] = flows->flow[f].out;
    const cost_t nothing = {.sum = 0};
    place_from(&search, 0, &nothing);
    return PTO_OK;
}

static pto_status_t map_exactly(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err) {
    return problem->flows->count <= PTO_PERMUTED_MAX ? pto_map_permutations(problem, place, err)
                                                     : pto_map_tree(problem, place, err);
}

const pto_mapper_t pto_mapper_exact = {
    "exact", "the optimum: of at most 8 processes, or of at most 16 on places that form a tree", map_exactly};
