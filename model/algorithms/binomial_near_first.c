/* Broadcast down a binomial tree whose first messages go to the nearest processes: in round k the members
 * below 2^k send to those with indices 2^k higher. Open MPI's tree (ompi_coll_base_topo_build_bmtree at
 * v4.1.4). `binomial` sends to the farthest first, so that only one process of each node sends to other
 * nodes. Here, all processes of a node do so at once. */
#include "algorithms.h"

/* Builds a round: each member below `senders` sends to the member `distance` after it. */
static void build_round(pto_builder_t *builder, const pto_exchange_t *exchange, pto_expr_t distance,
                        pto_expr_t senders, pto_expr_t receivers_end) {
    const pto_slice_t vector = pto_slice_all(builder, exchange->out);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange), recv = pto_step_of(PTO_STEP_RECV, exchange);
    send.who_until = senders;
    send.peers = pto_peers_at(distance, 1);
    recv.who_first = distance;
    recv.who_until = receivers_end;
    recv.peers = pto_peers_at(distance, -1);
    pto_build_message(builder, "down the tree", send, vector, recv, vector);
}

/* In the last round, only as many members send as do not have the vector yet. */
static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int64_t n = exchange->n, rounds = pto_log2_ceil(n);
    if (rounds == 0)
        return;
    int64_t half = (int64_t)1 << (rounds - 1);
    if (rounds > 1) {
        pto_build_loop(builder, 0, rounds - 1, true);
        build_round(builder, exchange, pto_power(1), pto_power(1), pto_power(2));
        pto_build_end(builder);
    }
    build_round(builder, exchange, pto_constant(half), pto_constant(n - half), pto_constant(n));
}

const pto_algorithm_t pto_algorithm_binomial_near_first = {
    .name = "binomial_near_first",
    .summary = "down a binomial tree from process 0, first to the nearest processes, as in Open MPI",
    .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
    .build = build,
};
