/* Chain: each process passes the whole vector to the next one, n - 1 times, from member 0. */
#include "algorithms.h"

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_build_loop(builder, 0, exchange->n - 1, false);
    pto_build_stage(builder, "to the next", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange);
    send.who_first = pto_loop_index(1, 0);
    send.who_until = pto_loop_index(1, 1);
    send.peers = pto_peers_at(pto_constant(1), 1);
    send.source = pto_slice_all(builder, exchange->out);
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, exchange);
    recv.who_first = pto_loop_index(1, 1);
    recv.who_until = pto_loop_index(1, 2);
    recv.peers = pto_peers_at(pto_constant(1), -1);
    recv.target = pto_slice_all(builder, exchange->out);
    pto_build_step(builder, recv);
    pto_build_end(builder);
}

const pto_algorithm_t pto_algorithm_chain = {
    .name = "chain",
    .summary = "n-1 rounds, each passing the whole vector from one process to the next",
    .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
    .build = build,
};
