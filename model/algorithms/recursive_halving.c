/* Recursive halving: a reduce-scatter in log2 n rounds. In each round a process has a partner at half the
 * distance of the previous round. It sends the partner half of the blocks that it still has, and keeps the
 * other half, into which it reduces what it receives (Thakur, Rabenseifner, Gropp 2005, section 4.3). If n is
 * not a power of two, the members are folded first, as in MPICH and Open MPI: some send their whole vector to
 * their neighbor, which then works on the blocks of both and returns one block at the end. */
#include "algorithms.h"

/* Returns the blocks that the member at `anchor` keeps in this round. */
static pto_slice_t kept(int buffer, pto_anchor_t anchor, int64_t n, int64_t fold) {
    pto_slice_t slice = pto_slice_aligned_run(pto_slice_block(buffer, anchor), pto_inverse_power(n / 2));
    slice.fold = fold;
    return slice;
}

static void build_halving(pto_builder_t *builder, const pto_exchange_t *folded, int sum, int received,
                          int64_t fold) {
    int64_t n = folded->n;
    pto_build_loop(builder, 0, pto_log2_ceil(n), true);
    pto_peers_t partner = {.kind = PTO_PEERS_XOR, .first = pto_inverse_power(n / 2), .sign = 1};
    pto_slice_t mine = kept(received, PTO_ANCHOR_ME, n, fold);
    pto_build_sendrecv(builder, "halve", folded, partner, kept(sum, PTO_ANCHOR_PEER, n, fold), mine);
    pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, folded), mine, received, sum);
    pto_build_end(builder);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int64_t fold = pto_folded_away(exchange->n);
    int sum = pto_build_sum(builder, exchange, exchange->n);
    int received = pto_build_temporary(builder, sum, "received");
    pto_exchange_t summed = *exchange;
    summed.out = sum;
    pto_exchange_t folded = pto_build_fold(builder, &summed, pto_slice_all(builder, sum), received);
    build_halving(builder, &folded, sum, received, fold);
    if (fold == 0) {
        pto_build_own_block(builder, exchange, sum);
        return;
    }
    folded.out = exchange->out;
    /* each remaining member copies the block of its index before folding */
    pto_build_copy(builder, "own block", &folded, pto_slice_block(sum, PTO_ANCHOR_HOLDER),
                   pto_slice_block(folded.out, PTO_ANCHOR_HOLDER));
    pto_build_unfold(builder, exchange, pto_slice_block(sum, PTO_ANCHOR_PEER),
                     pto_slice_block(exchange->out, PTO_ANCHOR_ME));
}

const pto_algorithm_t pto_algorithm_recursive_halving = {
    .name = "recursive_halving",
    .summary = "log2 n exchanges of half of the remaining blocks, with partners at halving distance",
    .collectives = 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .build = build,
};
