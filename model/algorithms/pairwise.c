/* Pairwise exchange: n - 1 rounds. In round k every process sends to the process k places after it and
 * receives from the one k places before it (Thakur, Rabenseifner, Gropp 2005, section 3.4; MPICH and Open MPI
 * for long messages). In a reduce-scatter it reduces what it receives (MPICH for long messages). */
#include "algorithms.h"

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_collective_t collective = pto_builder_request(builder)->collective;
    bool reduces = pto_collective_reduces(collective);
    int target = reduces ? pto_build_temporary(builder, exchange->out, "received") : exchange->out;
    pto_build_own_block(builder, exchange);
    pto_build_loop(builder, 1, exchange->n, false);
    pto_build_stage(builder, "round", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange);
    send.peers = pto_peers_at(pto_loop_index(1, 0), 1);
    send.source = pto_slice_block(exchange->in, PTO_ANCHOR_PEER);
    /* A round is one MPI_Sendrecv, which is sent even if alltoallv has no bytes for it. */
    send.send_empty = collective == PTO_COLLECTIVE_ALLTOALLV;
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, exchange);
    recv.peers = pto_peers_at(pto_loop_index(1, 0), -1);
    recv.target = pto_slice_block(target, PTO_ANCHOR_PEER);
    recv.send_empty = send.send_empty;
    pto_build_step(builder, recv);
    if (reduces)
        pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, exchange),
                         pto_slice_all(builder, exchange->out), target, exchange->out);
    pto_build_end(builder);
}

const pto_algorithm_t pto_algorithm_pairwise = {
    .name = "pairwise",
    .summary = "n-1 rounds, each with one partner to send to and one to receive from",
    .collectives =
        1u << PTO_COLLECTIVE_ALLTOALL | 1u << PTO_COLLECTIVE_ALLTOALLV | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .build = build,
};
