/* Plans of strategies inside the node, whole and broken. */
#ifndef PTO_TEST_INSIDE_PLAN_H
#define PTO_TEST_INSIDE_PLAN_H

#include "broken_plan.h"
#include "test.h"

static inline pto_request_t ask(pto_collective_t collective, const char *strategy, pto_layout_t layout) {
    pto_request_t request = {.layout = layout,
                             .collective = collective,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = 1000,
                             .halo = {.dim_count = 2, .wrap = {true, true}, .extent = {3, 4}, .width = 1}};
    request.strategy = strategy_named(strategy);
    bool in_a_ring = collective == PTO_COLLECTIVE_ALLREDUCE || pto_collective_is_allgather(collective);
    bool of_messages = collective == PTO_COLLECTIVE_MESSAGES || collective == PTO_COLLECTIVE_PAIR;
    bool is_tree = pto_collective_is_vector(collective) || pto_collective_is_from_root(collective) ||
                   pto_collective_is_to_root(collective);
    const char *algorithm = request.strategy->direct            ? "direct"
                            : collective == PTO_COLLECTIVE_HALO ? "neighbors"
                            : in_a_ring                         ? "ring"
                            : is_tree                           ? "binomial"
                            : of_messages                       ? "point_to_point"
                                                                : "pairwise";
    request.algorithm = algorithm_named(algorithm, collective);
    return request;
}

static inline pto_plan_t *made(pto_collective_t collective, const char *strategy, pto_layout_t layout) {
    return plan_of(ask(collective, strategy, layout));
}

#endif
