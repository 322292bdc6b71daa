/* Ring: the vector is divided into n parts. n - 1 rounds pass partial sums around the ring until each process
 * holds one reduced part; n - 1 more rounds pass the reduced parts around (Patarasuk and Yuan 2009). */
#include "algorithms.h"

/* One round: send the part at `send_offset` from one's own to the next process, and receive the part before
 * it. */
static pto_step_t build_round(pto_builder_t *builder, const pto_exchange_t *exchange, int target,
                              pto_expr_t send_offset) {
    pto_expr_t recv_offset = send_offset;
    recv_offset.constant--;
    pto_build_stage(builder, "round", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange);
    send.peers = pto_peers_at(pto_constant(1), 1);
    send.source = pto_slice_part(exchange->out, exchange->n, PTO_ANCHOR_ME, send_offset);
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, exchange);
    recv.peers = pto_peers_at(pto_constant(1), -1);
    recv.target = pto_slice_part(target, exchange->n, PTO_ANCHOR_ME, recv_offset);
    pto_build_step(builder, recv);
    return recv;
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int received = pto_build_temporary(builder, exchange->out, "received");
    pto_build_loop(builder, 0, exchange->n - 1, false);
    pto_step_t recv = build_round(builder, exchange, received, pto_loop_index(-1, 0));
    pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, exchange), recv.target, received, exchange->out);
    pto_build_end(builder);
    pto_build_loop(builder, 0, exchange->n - 1, false);
    build_round(builder, exchange, exchange->out, pto_loop_index(-1, 1));
    pto_build_end(builder);
}

const pto_algorithm_t pto_algorithm_ring = {
    .name = "ring",
    .summary = "2(n-1) rounds, each passing an n-th of the vector to the next process",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .build = build,
};
