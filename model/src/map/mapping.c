/* The cost of a mapping, and the simple mappers: by slot, by node, at random. */
#include <stdlib.h>

#include "map/map_internal.h"

double pto_places_cost(const pto_places_t *places, int64_t from, int64_t to) {
    int64_t per_node = places->gpus * places->cores;
    if (from / per_node != to / per_node)
        return pto_places_off_node(places, from / per_node, to / per_node);
    int64_t from_gpu = from / places->cores % places->gpus, to_gpu = to / places->cores % places->gpus;
    return places->cost[from_gpu * places->gpus + to_gpu];
}

void pto_places_fini(pto_places_t *places) {
    free(places->cost);
    *places = (pto_places_t){.nodes = 0};
}

double pto_map_judge(const pto_flows_t *flows, const pto_places_t *places, pto_aim_t aim,
                     const int64_t *place) {
    double sum = 0, slowest = 0, largest = 0;
    for (int64_t i = 0; i < flows->count; i++) {
        double mine = 0;
        for (int64_t f = flows->first[i]; f < flows->first[i + 1]; f++) {
            double cost = flows->flow[f].out * pto_places_cost(places, place[i], place[flows->flow[f].peer]);
            mine += cost;
            largest = cost > largest ? cost : largest;
        }
        sum += mine;
        slowest = mine > slowest ? mine : slowest;
    }
    if (aim == PTO_AIM_SUM)
        return sum;
    return aim == PTO_AIM_IN_TURN ? slowest : largest;
}

void pto_map_swap(int64_t *item, int64_t i, int64_t j) {
    int64_t kept = item[i];
    item[i] = item[j];
    item[j] = kept;
}

int64_t pto_map_random_below(uint64_t *state, int64_t bound) {
    return (int64_t)(pto_random(state) % (uint64_t)bound);
}

void pto_map_shuffle(uint64_t *state, int64_t count, int64_t *item) {
    for (int64_t i = count - 1; i > 0; i--)
        pto_map_swap(item, i, pto_map_random_below(state, i + 1));
}

static pto_status_t map_by_slot(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err) {
    (void)err;
    for (int64_t i = 0; i < problem->flows->count; i++)
        place[i] = i;
    return PTO_OK;
}

static pto_status_t map_by_node(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err) {
    const pto_places_t *places = problem->places;
    (void)err;
    for (int64_t i = 0; i < problem->flows->count; i++)
        place[i] = i % places->nodes * places->gpus * places->cores + i / places->nodes;
    return PTO_OK;
}

static pto_status_t map_at_random(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err) {
    uint64_t state = problem->seed;
    map_by_slot(problem, place, err);
    pto_map_shuffle(&state, problem->flows->count, place);
    return PTO_OK;
}

const pto_mapper_t pto_mapper_slot = {"slot", "process i at place i: nodes are filled one by one",
                                      map_by_slot};
const pto_mapper_t pto_mapper_node = {"node", "processes dealt out to the nodes in turn", map_by_node};
const pto_mapper_t pto_mapper_random = {"random", "a random permutation, by the seed", map_at_random};
