/* A broadcast as a scatter and an allgather (Barnett et al. 1994; Thakur, Rabenseifner, Gropp 2005, section
 * 4.2). The vector of process 0 has n parts, which go down a binomial tree: each process keeps its own part
 * and passes on those of its subtree. A ring then passes all parts around. Each process receives less than
 * twice the vector, for any number of processes. This is `scatter_allgather_ring` in Open MPI and
 * `scatter_ring_allgather` in MPICH. As there, the ring also sends parts that the receiver already has from
 * the tree, even to process 0. Empty parts (fewer elements than processes) are not sent. */
#include "algorithms.h"

typedef struct {
    pto_builder_t *builder;
    const pto_exchange_t *exchange;
    int64_t n;
    int passed; /* a temporary: the parts that a process passes down its subtree; at process 0, the parts that
                   it receives from the ring, which it already has */
} parts_t;

/* Builds `passed` at the processes with even numbers, which have subtrees. */
static int build_passed(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_buffer_t passed = pto_temporary_like(builder, exchange->out, "passed on");
    passed.group = pto_builder_group(builder, exchange->group)->kind;
    passed.held_stride = 2;
    return pto_build_buffer(builder, passed);
}

/* Returns the parts of the subtree below an edge, at most `count`. `distance` is 0 at the upper end of the
 * edge, whose peer is the lower end; at the lower end it is the edge's length. */
static pto_slice_t subtree(const parts_t *parts, int buffer, pto_expr_t distance, pto_expr_t count) {
    pto_slice_t slice = pto_slice_subtree(buffer, parts->n, distance, count);
    slice.parts = parts->n;
    return slice;
}

/* Builds the messages along the edges of length `distance`, with at most `count` parts each. Process 0 sends
 * from its vector, the others from `passed`. */
static void build_edges(const parts_t *parts, pto_expr_t distance, pto_expr_t count, int target) {
    const pto_exchange_t *exchange = parts->exchange;
    pto_step_t send = pto_build_tree_ends(PTO_STEP_SEND, exchange, false, distance), first = send;
    first.who_until = pto_constant(1);
    first.source = subtree(parts, exchange->out, pto_constant(0), count);
    send.who_first = send.who_stride;
    send.source = subtree(parts, parts->passed, pto_constant(0), count);
    pto_step_t recv = pto_build_tree_ends(PTO_STEP_RECV, exchange, true, distance);
    recv.target = subtree(parts, target, distance, count);
    pto_build_stage(parts->builder, "scatter", PTO_ORDER_AT_ONCE);
    pto_build_step(parts->builder, first);
    pto_build_step(parts->builder, send);
    pto_build_step(parts->builder, recv);
}

/* The longest edge is a single one, so the number of parts below it is exact. */
static void build_scatter(const parts_t *parts) {
    int64_t rounds = pto_log2_ceil(parts->n), longest = (int64_t)1 << (rounds - 1);
    if (rounds > 1) {
        pto_expr_t halving = pto_inverse_power(longest / 2);
        build_edges(parts, pto_constant(longest), pto_constant(parts->n - longest), parts->passed);
        pto_build_loop(parts->builder, 0, rounds - 2, true);
        build_edges(parts, halving, halving, parts->passed);
        pto_build_end(parts->builder);
    }
    build_edges(parts, pto_constant(1), pto_constant(1), parts->exchange->out);
}

static pto_slice_t part(const parts_t *parts, int buffer, pto_expr_t offset) {
    return pto_slice_part(buffer, parts->n, PTO_ANCHOR_ME, offset);
}

/* Processes with a subtree copy their own part from `passed`; process 0 has it in its vector. */
static void build_own_parts(const parts_t *parts) {
    pto_step_t copy = pto_step_of(PTO_STEP_COPY, parts->exchange);
    copy.who_first = copy.who_stride = pto_constant(2);
    pto_build_local(parts->builder, "own part", copy, part(parts, parts->passed, pto_constant(0)),
                    part(parts, parts->exchange->out, pto_constant(0)));
}

/* `back`: process 0 receives into `passed`. */
static void build_ring(const parts_t *parts) {
    const pto_exchange_t *exchange = parts->exchange;
    pto_build_loop(parts->builder, 0, parts->n - 1, false);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, exchange), back = recv;
    send.peers = pto_peers_at(pto_constant(1), 1);
    recv.who_first = back.who_until = pto_constant(1);
    recv.peers = back.peers = pto_peers_at(pto_constant(1), -1);
    pto_build_message(parts->builder, "round", send, part(parts, exchange->out, pto_loop_index(-1, 0)), recv,
                      part(parts, exchange->out, pto_loop_index(-1, -1)));
    back.target = part(parts, parts->passed, pto_loop_index(-1, -1));
    pto_build_step(parts->builder, back);
    pto_build_end(parts->builder);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    if (exchange->n == 1)
        return;
    parts_t parts = {.builder = builder,
                     .exchange = exchange,
                     .n = exchange->n,
                     .passed = build_passed(builder, exchange)};
    build_scatter(&parts);
    if (exchange->n > 2)
        build_own_parts(&parts);
    build_ring(&parts);
}

const pto_algorithm_t pto_algorithm_scatter_allgather = {
    .name = "scatter_allgather",
    .summary = "n parts of the vector down a binomial tree, then around a ring",
    .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
    .build = build,
};
