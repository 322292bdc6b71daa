/* Binomial tree: reduce to member 0, broadcast from it, or both in turn for allreduce; ceil(log2 n) rounds
 * each (Thakur, Rabenseifner, Gropp 2005, sections 4.1 and 4.4). */
#include "algorithms.h"

static void build_edges(pto_builder_t *builder, const pto_exchange_t *exchange, const char *name, bool up,
                        int target, pto_expr_t distance) {
    pto_build_stage(builder, name, PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_build_tree_ends(PTO_STEP_SEND, exchange, up, distance);
    send.source = pto_slice_all(builder, exchange->out);
    pto_build_step(builder, send);
    pto_step_t recv = pto_build_tree_ends(PTO_STEP_RECV, exchange, !up, distance);
    recv.target = pto_slice_all(builder, target);
    pto_build_step(builder, recv);
}

static void build_up(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int received = pto_build_temporary(builder, exchange->out, "received");
    pto_build_loop(builder, 0, pto_log2_ceil(exchange->n), true);
    build_edges(builder, exchange, "up the tree", true, received, pto_power(1));
    pto_build_reduce(builder, pto_build_tree_ends(PTO_STEP_REDUCE, exchange, false, pto_power(1)),
                     pto_slice_all(builder, received), received, exchange->out);
    pto_build_end(builder);
}

static void build_down(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int64_t rounds = pto_log2_ceil(exchange->n);
    pto_build_loop(builder, 0, rounds, true);
    pto_expr_t halving = rounds > 0 ? pto_inverse_power((int64_t)1 << (rounds - 1)) : pto_constant(1);
    build_edges(builder, exchange, "down the tree", false, exchange->out, halving);
    pto_build_end(builder);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_collective_t collective = pto_builder_request(builder)->collective;
    if (collective != PTO_COLLECTIVE_BROADCAST)
        build_up(builder, exchange);
    if (collective != PTO_COLLECTIVE_REDUCE)
        build_down(builder, exchange);
}

const pto_algorithm_t pto_algorithm_binomial = {
    .name = "binomial",
    .summary = "up a binomial tree to process 0, down it from there, or both",
    .collectives =
        1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE | 1u << PTO_COLLECTIVE_BROADCAST,
    .build = build,
};
