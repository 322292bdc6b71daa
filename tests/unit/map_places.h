/* Mappers, and what they map: flows of byte counts, and places. What is made here lives until the test ends.
 */
#ifndef PTO_TEST_MAP_PLACES_H
#define PTO_TEST_MAP_PLACES_H

#include "parsed_counts.h"
#include "portolan/map.h"
#include "portolan/topology.h"
#include "test.h"

static inline const pto_mapper_t *mapper_named(const char *name) {
    const pto_mapper_t *mapper = NULL;
    pto_error_t err = {0};
    assert_ok(pto_mapper_find(name, &mapper, &err), &err);
    return mapper;
}

static inline void map_by(const pto_mapper_t *mapper, const pto_map_problem_t *problem, int64_t *place) {
    pto_error_t err = {0};
    if (pto_mapper_run(mapper, problem, place, &err) != PTO_OK)
        fail_msg("%s: %s", mapper->name, err.message);
}

/* The sum that the mapper makes small. */
static inline double sum_by(const pto_mapper_t *mapper, const pto_map_problem_t *problem, int64_t *place) {
    map_by(mapper, problem, place);
    return pto_map_judge(problem->flows, problem->places, PTO_AIM_SUM, place);
}

/* Of GPUs that cost nothing to reach. */
static inline pto_places_t new_places(int64_t nodes, int64_t gpus, int64_t cores) {
    pto_places_t places = {.nodes = nodes, .gpus = gpus, .cores = cores};
    places.cost = keep_new((size_t)(gpus * gpus) * sizeof *places.cost, NULL);
    return places;
}

/* A node's GPUs, by the rates of their routes. */
static inline pto_places_t places_on(const pto_topology_t *topology) {
    const int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    pto_places_t places = new_places(1, gpus, 1);
    for (int i = 0; i < gpus * gpus; i++)
        places.cost[i] =
            pto_topology_route_s_per_byte(topology, pto_topology_device(topology, PTO_DEVICE_GPU, i / gpus),
                                          pto_topology_device(topology, PTO_DEVICE_GPU, i % gpus));
    return places;
}

static inline void end_flows(void *flows) { pto_flows_fini(flows); }

/* The key `counts` of a scenario, on these places. */
static inline pto_map_problem_t problem_of(const char *text, const pto_places_t *places) {
    pto_counts_t *counts = keep_new(sizeof *counts, NULL);
    pto_flows_t *flows = keep_new(sizeof *flows, end_flows);
    pto_error_t err = {0};
    *counts = parsed(text);
    assert_ok(pto_flows_make(counts, 1, pto_counts_order(counts), flows, &err), &err);
    return (pto_map_problem_t){.flows = flows, .places = places, .grid = &counts->grid};
}

/* The K80 node: 16 GPUs in pairs, fours and eights. */
enum { K80_GPUS = 16, K80_LEVELS = 4 };
/* Bandwidths relative to level 3; the thesis gives them relative to level 0. */
static const double k80_ratio[K80_LEVELS] = {4.47, 4.47 / 2.47, 4.47 / 4.22, 1};

static inline double by_bandwidth(int level) { return 1 / k80_ratio[level]; }

static inline pto_places_t k80_places(double (*cost_of)(int level)) {
    pto_places_t places = new_places(1, K80_GPUS, 1);
    for (int i = 0; i < K80_GPUS * K80_GPUS; i++) {
        int level = 0, a = i / K80_GPUS, b = i % K80_GPUS;
        while (a >> (level + 1) != b >> (level + 1))
            level++;
        places.cost[i] = a == b ? 0 : cost_of(level);
    }
    return places;
}

#endif
