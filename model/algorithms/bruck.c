/* Bruck's algorithms (Bruck et al. 1997): ceil(log2 n) rounds.
 *
 * Alltoall ("index" in the paper): in round k every process forwards all blocks whose distance to their
 * destination has bit k set to the process whose index is 2^k higher. Blocks are first rotated so that their
 * position in the buffer is that distance, and rotated back (in reverse) at the end.
 *
 * Allgather ("concatenation"): in round k every process sends all blocks that it has to the process whose
 * index is 2^k lower. A block's position is the distance to its owner, until all are rotated at the end. */
#include "algorithms.h"

/* Returns the blocks whose number has bit k set: runs of 2^k blocks, every 2^(k+1) blocks, from block 2^k on.
 */
static pto_slice_t blocks_with_bit(int buffer, int64_t n) {
    return (pto_slice_t){.buffer = buffer,
                         .first = pto_power(1),
                         .run = pto_power(1),
                         .stride = pto_power(2),
                         .until = pto_constant(n)};
}

/* Returns all blocks of a buffer in the order me, me + 1, ... or, reversed, me, me - 1, ... */
static pto_slice_t rotated(int buffer, int64_t n, bool reversed) {
    return (pto_slice_t){.buffer = buffer,
                         .anchor = PTO_ANCHOR_ME,
                         .run = pto_constant(n),
                         .stride = pto_constant(n),
                         .until = pto_constant(n),
                         .reversed = reversed};
}

static void build_rounds(pto_builder_t *builder, const pto_exchange_t *exchange, int travelling) {
    int arrived = pto_build_temporary(builder, exchange->out, "arrived");
    pto_build_loop(builder, 0, pto_log2_ceil(exchange->n), true);
    pto_build_sendrecv(builder, "round", exchange, pto_peers_at(pto_power(1), 1),
                       blocks_with_bit(travelling, exchange->n), blocks_with_bit(arrived, exchange->n));
    pto_build_copy(builder, "unpack", exchange, blocks_with_bit(arrived, exchange->n),
                   blocks_with_bit(travelling, exchange->n));
    pto_build_end(builder);
}

static void build_alltoall(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int travelling = pto_build_temporary(builder, exchange->in, "travelling");
    pto_build_copy(builder, "rotate", exchange, rotated(exchange->in, exchange->n, false),
                   pto_slice_all(builder, travelling));
    build_rounds(builder, exchange, travelling);
    pto_build_copy(builder, "rotate back", exchange, pto_slice_all(builder, travelling),
                   rotated(exchange->out, exchange->n, true));
}

/* Returns the blocks that arrive in round k: those from 2^k on, below 2^(k+1) and n. */
static pto_slice_t arriving(int buffer, int64_t n) {
    pto_slice_t slice = blocks_with_bit(buffer, n);
    slice.stride = pto_constant(n);
    return slice;
}

static void build_allgather(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_buffer_t rotated_out = pto_temporary_like(builder, exchange->out, "gathered");
    if (rotated_out.blocks != PTO_BLOCKS_EQUAL)
        rotated_out.blocks = PTO_BLOCKS_ROTATED;
    int gathered = pto_build_buffer(builder, rotated_out);
    pto_build_copy(builder, "own block", exchange, pto_slice_all(builder, exchange->in),
                   pto_slice_block(gathered, PTO_ANCHOR_ABSOLUTE));
    pto_build_loop(builder, 0, pto_log2_ceil(exchange->n), true);
    pto_slice_t arrived = arriving(gathered, exchange->n), sent = arrived;
    sent.offset = pto_power(-1); /* the same number of blocks, from block 0 on */
    pto_build_sendrecv(builder, "round", exchange, pto_peers_at(pto_power(1), -1), sent, arrived);
    pto_build_end(builder);
    pto_build_copy(builder, "rotate", exchange, pto_slice_all(builder, gathered),
                   rotated(exchange->out, exchange->n, false));
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    if (pto_builder_request(builder)->collective == PTO_COLLECTIVE_ALLTOALL)
        build_alltoall(builder, exchange);
    else
        build_allgather(builder, exchange);
}

const pto_algorithm_t pto_algorithm_bruck = {
    .name = "bruck",
    .summary = "ceil(log2 n) rounds, each passing on half of all blocks, or for allgather all that arrived",
    .collectives = PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLTOALL,
    .relays = true,
    .build = build,
};
