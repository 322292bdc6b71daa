/* Bruck's index algorithm (Bruck et al. 1997): ceil(log2 n) rounds. In round k every process forwards, to the
 * one whose index is 2^k higher, all blocks whose remaining distance has bit k set. Blocks are first rotated
 * so that their position is that distance, and rotated back (in reverse) at the end. */
#include "algorithms.h"

/* The blocks whose number has bit k set: runs of 2^k, every 2^(k+1), from 2^k on. */
static pto_slice_t blocks_with_bit(int buffer, int64_t n) {
    return (pto_slice_t){.buffer = buffer,
                         .first = pto_power(1),
                         .run = pto_power(1),
                         .stride = pto_power(2),
                         .until = pto_constant(n)};
}

/* Blocks me, me + 1, ... or, reversed, me, me - 1, ... of a buffer. */
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
    pto_build_stage(builder, "round", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange);
    send.peers = pto_peers_at(pto_power(1), 1);
    send.source = blocks_with_bit(travelling, exchange->n);
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, exchange);
    recv.peers = pto_peers_at(pto_power(1), -1);
    recv.target = blocks_with_bit(arrived, exchange->n);
    pto_build_step(builder, recv);
    pto_build_stage(builder, "unpack", PTO_ORDER_SEQUENCE);
    pto_step_t unpack = pto_step_of(PTO_STEP_COPY, exchange);
    unpack.source = blocks_with_bit(arrived, exchange->n);
    unpack.target = blocks_with_bit(travelling, exchange->n);
    pto_build_step(builder, unpack);
    pto_build_end(builder);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int travelling = pto_build_temporary(builder, exchange->in, "travelling");
    pto_build_stage(builder, "rotate", PTO_ORDER_SEQUENCE);
    pto_step_t rotate = pto_step_of(PTO_STEP_COPY, exchange);
    rotate.source = rotated(exchange->in, exchange->n, false);
    rotate.target = pto_slice_all(builder, travelling);
    pto_build_step(builder, rotate);
    build_rounds(builder, exchange, travelling);
    pto_build_stage(builder, "rotate back", PTO_ORDER_SEQUENCE);
    pto_step_t back = pto_step_of(PTO_STEP_COPY, exchange);
    back.source = pto_slice_all(builder, travelling);
    back.target = rotated(exchange->out, exchange->n, true);
    pto_build_step(builder, back);
}

const pto_algorithm_t pto_algorithm_bruck = {
    .name = "bruck",
    .summary = "ceil(log2 n) rounds, each passing on about half of all blocks",
    .collectives = 1u << PTO_COLLECTIVE_ALLTOALL,
    .relays = true,
    .build = build,
};
