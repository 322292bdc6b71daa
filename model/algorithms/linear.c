/* Linear exchange: every message posted at once, nonblocking, then one wait for all (Open MPI's basic linear;
 * MPI_Isend and MPI_Irecv by hand look the same). Where the destinations are dealt out over the processes of
 * a GPU, each has bytes for its own only: by hand it posts no others, but a library's alltoallv, which knows
 * nothing of dealing, posts the empty ones too. */
#include "algorithms.h"

/* Messages to the members at distances first, first + stride, ... */
static void build_messages(pto_builder_t *builder, const pto_exchange_t *exchange, pto_expr_t first,
                           int64_t stride, bool even_empty) {
    pto_peers_t peers = {.kind = PTO_PEERS_SHIFT,
                         .first = first,
                         .stride = pto_constant(stride),
                         .until = pto_constant(exchange->n),
                         .sign = 1};
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange);
    send.peers = peers;
    send.source = pto_slice_block(exchange->in, PTO_ANCHOR_PEER);
    send.even_empty = even_empty;
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, exchange);
    recv.peers = peers;
    recv.peers.sign = -1;
    recv.target = pto_slice_block(exchange->out, PTO_ANCHOR_PEER);
    recv.even_empty = even_empty;
    pto_build_step(builder, recv);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    const pto_request_t *request = pto_builder_request(builder);
    bool even_empty = request->by_library && request->collective == PTO_COLLECTIVE_ALLTOALLV;
    int64_t deal = exchange->deal > 1 ? exchange->deal : 1;
    pto_build_own_block(builder, exchange);
    pto_build_stage(builder, "all messages", PTO_ORDER_AT_ONCE);
    if (deal == 1)
        build_messages(builder, exchange, pto_constant(1), 1, even_empty);
    else if (!even_empty)
        build_messages(builder, exchange, (pto_expr_t){.core = 1}, deal, false);
    for (int64_t first = 1; first <= deal && deal > 1 && even_empty; first++)
        build_messages(builder, exchange, pto_constant(first), deal, true);
}

const pto_algorithm_t pto_algorithm_linear = {
    .name = "linear",
    .summary = "all n-1 sends and receives in flight at once",
    .collectives = 1u << PTO_COLLECTIVE_ALLTOALL | 1u << PTO_COLLECTIVE_ALLTOALLV,
    .build = build,
};
