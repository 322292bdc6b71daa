/* Pairwise exchange: n - 1 rounds. In round k every process sends to the process k places after it and
 * receives from the one k places before it (Thakur, Rabenseifner, Gropp 2005, section 3.4; MPICH and Open MPI
 * for long messages). In a reduce-scatter it reduces what it receives (MPICH for long messages). */
#include "algorithms.h"

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_collective_t collective = pto_builder_request(builder)->collective;
    bool reduces = pto_collective_reduces(collective);
    pto_exchange_t round = *exchange;
    if (reduces)
        round.out = pto_build_temporary(builder, exchange->out, "received");
    pto_build_own_block(builder, exchange, exchange->in);
    pto_build_loop(builder, 1, exchange->n, false);
    pto_build_stage(builder, "round", PTO_ORDER_AT_ONCE);
    /* A round is one MPI_Sendrecv, which is sent even if alltoallv has no bytes for it. */
    pto_build_peer_messages(builder, &round, pto_peers_at(pto_loop_index(1, 0), 1),
                            collective == PTO_COLLECTIVE_ALLTOALLV);
    if (reduces)
        pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, exchange),
                         pto_slice_all(builder, exchange->out), round.out, exchange->out);
    pto_build_end(builder);
}

const pto_algorithm_t pto_algorithm_pairwise = {
    .name = "pairwise",
    .summary = "n-1 rounds, each with one partner to send to and one to receive from",
    .collectives = PTO_ALLTOALLS | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .build = build,
};
