/* Recursive doubling: log2 n rounds. In round k every process exchanges data with the process whose index
 * differs in bit k. In an allreduce they exchange whole vectors, which both reduce; in an allgather, the 2^k
 * blocks that each has so far (Thakur, Rabenseifner, Gropp 2005, sections 4.1 and 4.5). If n is not a power
 * of two, an allreduce is folded first, and an allgather uses Bruck's algorithm, as in Open MPI. */
#include "algorithms.h"

extern const pto_algorithm_t pto_algorithm_bruck;

/* Builds one stage of the loop: each process sends `source` to its partner and receives into `target`. */
static void build_round(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t source,
                        pto_slice_t target) {
    pto_peers_t partner = {.kind = PTO_PEERS_XOR, .first = pto_power(1), .sign = 1};
    pto_build_sendrecv(builder, "exchange", exchange, partner, source, target);
}

static void build_allreduce(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int received = pto_build_temporary(builder, exchange->out, "received");
    pto_exchange_t folded =
        pto_build_fold(builder, exchange, pto_slice_all(builder, exchange->out), received);
    pto_build_loop(builder, 0, pto_log2_ceil(folded.n), true);
    build_round(builder, &folded, pto_slice_all(builder, exchange->out), pto_slice_all(builder, received));
    pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, &folded), pto_slice_all(builder, received),
                     received, exchange->out);
    pto_build_end(builder);
    pto_build_unfold(builder, exchange, pto_slice_all(builder, exchange->out),
                     pto_slice_all(builder, exchange->out));
}

/* Returns the 2^k blocks that the process at `anchor` has before round k. */
static pto_slice_t blocks_so_far(int buffer, pto_anchor_t anchor) {
    return pto_slice_aligned_run(pto_slice_block(buffer, anchor), pto_power(1));
}

static void build_allgather(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int64_t rounds = pto_log2_ceil(exchange->n);
    if (exchange->n != (int64_t)1 << rounds) {
        pto_algorithm_bruck.build(builder, exchange);
        return;
    }
    pto_build_own_block(builder, exchange, exchange->in);
    pto_build_loop(builder, 0, rounds, true);
    build_round(builder, exchange, blocks_so_far(exchange->out, PTO_ANCHOR_ME),
                blocks_so_far(exchange->out, PTO_ANCHOR_PEER));
    pto_build_end(builder);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    if (pto_builder_request(builder)->collective == PTO_COLLECTIVE_ALLREDUCE)
        build_allreduce(builder, exchange);
    else
        build_allgather(builder, exchange);
}

const pto_algorithm_t pto_algorithm_recursive_doubling = {
    .name = "recursive_doubling",
    .summary = "log2 n exchanges of all that a process has with partners at doubling distance",
    .collectives = PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE,
    .build = build,
};
