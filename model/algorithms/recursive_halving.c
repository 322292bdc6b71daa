/* Recursive halving: a reduce-scatter in log2 n rounds. In each round a process exchanges half of the blocks
 * that it still has with the process at half the distance of the last round: it sends the half that the other
 * one keeps, and reduces what it receives into its own (Thakur, Rabenseifner, Gropp 2005, section 4.3; MPICH
 * and Open MPI for short messages). For counts that are not powers of two it is pairwise, since n blocks do
 * not fall into equal halves. */
#include "algorithms.h"

extern const pto_algorithm_t pto_algorithm_pairwise;

/* The blocks that `anchor` keeps in this round. */
static pto_slice_t kept(int buffer, pto_anchor_t anchor, int64_t n) {
    return pto_slice_aligned_run(pto_slice_block(buffer, anchor), pto_inverse_power(n / 2));
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int64_t n = exchange->n, rounds = pto_log2_ceil(n);
    if (n != (int64_t)1 << rounds) {
        pto_algorithm_pairwise.build(builder, exchange);
        return;
    }
    int sum = pto_build_sum(builder, exchange, n), received = pto_build_temporary(builder, sum, "received");
    pto_build_loop(builder, 0, rounds, true);
    pto_peers_t partner = {.kind = PTO_PEERS_XOR, .first = pto_inverse_power(n / 2), .sign = 1};
    pto_slice_t mine = kept(received, PTO_ANCHOR_ME, n);
    pto_build_sendrecv(builder, "halve", exchange,
                       (pto_message_end_t){partner, kept(sum, PTO_ANCHOR_PEER, n)},
                       (pto_message_end_t){partner, mine});
    pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, exchange), mine, received, sum);
    pto_build_end(builder);
    pto_build_sum_block(builder, exchange, sum);
}

const pto_algorithm_t pto_algorithm_recursive_halving = {
    .name = "recursive_halving",
    .summary = "log2 n exchanges of half of the remaining blocks, with partners at halving distance",
    .collectives = 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .build = build,
};
