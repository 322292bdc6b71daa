/* Ring: n - 1 rounds, each of which passes one n-th of the data to the next process. An allgather passes the
 * blocks themselves around (Thakur, Rabenseifner, Gropp 2005, section 4.1). A reduce-scatter passes partial
 * sums around, until each process holds one reduced block. An allreduce does both, with n parts of the vector
 * as the blocks (Patarasuk and Yuan 2009). */
#include "algorithms.h"

/* Builds a round: each process sends `part` to the next one, and receives the part before it into `target`.
 * Returns the slice of the received part. */
static pto_slice_t build_round(pto_builder_t *builder, const pto_exchange_t *exchange, int target,
                               pto_slice_t part) {
    pto_slice_t received = part;
    received.buffer = target;
    received.offset.constant--;
    pto_build_sendrecv(builder, "round", exchange, pto_peers_at(pto_constant(1), 1), part, received);
    return received;
}

/* Passes parts around until every process has all of them. `own` is the part that a process has in round 0.
 */
static void build_passing(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t own) {
    own.offset.loop = -1;
    pto_build_loop(builder, 0, exchange->n - 1, false);
    build_round(builder, exchange, exchange->out, own);
    pto_build_end(builder);
}

/* Passes partial sums around. `first` is the part that a process sends in round 0. */
static void build_reducing(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t first) {
    int received = pto_build_temporary(builder, first.buffer, "received");
    first.offset.loop = -1;
    pto_build_loop(builder, 0, exchange->n - 1, false);
    pto_slice_t reduced = build_round(builder, exchange, received, first);
    pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, exchange), reduced, received, first.buffer);
    pto_build_end(builder);
}

/* A process must end with its own block. It receives block me - 2 - k in round k, so it sends me - 1 first.
 */
static void build_reduce_scatter(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_slice_t before = pto_slice_block(pto_build_sum(builder, exchange, exchange->n), PTO_ANCHOR_ME);
    before.offset = pto_constant(-1);
    build_reducing(builder, exchange, before);
    pto_build_own_block(builder, exchange, before.buffer);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_collective_t collective = pto_builder_request(builder)->collective;
    if (collective == PTO_COLLECTIVE_ALLREDUCE) {
        pto_slice_t part = pto_slice_part(exchange->out, exchange->n, PTO_ANCHOR_ME, pto_constant(0));
        build_reducing(builder, exchange, part);
        part.offset = pto_constant(1);
        build_passing(builder, exchange, part);
        return;
    }
    if (collective == PTO_COLLECTIVE_REDUCE_SCATTER) {
        build_reduce_scatter(builder, exchange);
        return;
    }
    pto_build_own_block(builder, exchange, exchange->in);
    build_passing(builder, exchange, pto_slice_block(exchange->out, PTO_ANCHOR_ME));
}

const pto_algorithm_t pto_algorithm_ring = {
    .name = "ring",
    .summary = "n-1 rounds (allreduce: twice), each passing an n-th of the data to the next process",
    .collectives = PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .build = build,
};
