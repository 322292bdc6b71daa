/* Linear exchange: every message posted at once, nonblocking, then one wait for all (Open MPI's basic linear;
 * MPI_Isend and MPI_Irecv by hand look the same). Empty messages are left out. Where the destinations are
 * dealt out over the processes of a GPU, each posts its own only. */
#include "algorithms.h"

/* All other members, or those at distances of one's core modulo `deal`. */
static pto_peers_t everyone(const pto_exchange_t *exchange, int64_t sign) {
    bool dealt = exchange->deal > 1;
    return (pto_peers_t){.kind = PTO_PEERS_SHIFT,
                         .first = dealt ? (pto_expr_t){.core = 1} : pto_constant(1),
                         .stride = pto_constant(dealt ? exchange->deal : 1),
                         .until = pto_constant(exchange->n),
                         .sign = sign};
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_build_own_block(builder, exchange);
    pto_build_stage(builder, "all messages", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange);
    send.peers = everyone(exchange, 1);
    send.source = pto_slice_block(exchange->in, PTO_ANCHOR_PEER);
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, exchange);
    recv.peers = everyone(exchange, -1);
    recv.target = pto_slice_block(exchange->out, PTO_ANCHOR_PEER);
    pto_build_step(builder, recv);
}

const pto_algorithm_t pto_algorithm_linear = {
    .name = "linear",
    .summary = "all n-1 sends and receives in flight at once",
    .collectives = 1u << PTO_COLLECTIVE_ALLTOALL | 1u << PTO_COLLECTIVE_ALLTOALLV,
    .build = build,
};
