/* Binomial tree: a reduction to member 0, a broadcast from it, or both in turn for an allreduce; ceil(log2 n)
 * rounds each (Thakur, Rabenseifner, Gropp 2005, sections 4.1 and 4.4). A gather and a scatter move the
 * blocks of whole subtrees along the same edges, through a temporary. The edges of a round have the same
 * length, a power of two. The upper end of an edge is closer to member 0, the root. */
#include "algorithms.h"

/* Builds the messages of a round, `up` the tree or down, from the vectors into `target`. */
static void build_edges(pto_builder_t *builder, const pto_exchange_t *exchange, const char *name, bool up,
                        int target, pto_expr_t distance) {
    pto_step_t send = pto_build_tree_ends(PTO_STEP_SEND, exchange, up, distance);
    pto_step_t recv = pto_build_tree_ends(PTO_STEP_RECV, exchange, !up, distance);
    pto_build_message(builder, name, send, pto_slice_all(builder, exchange->out), recv,
                      pto_slice_all(builder, target));
}

static void build_up(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int received = pto_build_temporary(builder, exchange->out, "received");
    pto_build_loop(builder, 0, pto_log2_ceil(exchange->n), true);
    build_edges(builder, exchange, "up the tree", true, received, pto_power(1));
    pto_build_reduce(builder, pto_build_tree_ends(PTO_STEP_REDUCE, exchange, false, pto_power(1)),
                     pto_slice_all(builder, received), received, exchange->out);
    pto_build_end(builder);
}

static void build_down(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int64_t rounds = pto_log2_ceil(exchange->n);
    pto_build_loop(builder, 0, rounds, true);
    pto_expr_t halving = rounds > 0 ? pto_inverse_power((int64_t)1 << (rounds - 1)) : pto_constant(1);
    build_edges(builder, exchange, "down the tree", false, exchange->out, halving);
    pto_build_end(builder);
}

static void build_vector(pto_builder_t *builder, const pto_exchange_t *exchange,
                         pto_collective_t collective) {
    if (collective != PTO_COLLECTIVE_BROADCAST)
        build_up(builder, exchange);
    if (collective != PTO_COLLECTIVE_REDUCE)
        build_down(builder, exchange);
}

/* The edges of one length, and the number of blocks in the subtree below each. The last subtree may have
 * fewer. */
typedef struct {
    pto_expr_t distance;
    pto_expr_t blocks;
} edges_t;

/* Builds the messages along edges, `up` the tree or down. Members with a subtree hold its blocks in `inner`.
 * `lower` is the buffer of the lower ends: `inner`, or at edges to leaves the user's buffer of one block.
 * `below` is the slice at the lower ends, whose peer is the upper end; `above` is the slice at the upper
 * ends. */
static void build_subtrees(pto_builder_t *builder, const pto_exchange_t *exchange, bool up, int inner,
                           int lower, edges_t edges) {
    bool leaves = lower != inner;
    pto_slice_t below = leaves ? pto_slice_all(builder, lower)
                               : pto_slice_subtree(inner, exchange->n, edges.distance, edges.blocks);
    pto_slice_t above = pto_slice_subtree(inner, exchange->n, pto_constant(0), edges.blocks);
    pto_step_t send = pto_build_tree_ends(PTO_STEP_SEND, exchange, up, edges.distance);
    pto_step_t recv = pto_build_tree_ends(PTO_STEP_RECV, exchange, !up, edges.distance);
    pto_build_message(builder, up ? "up the tree" : "down the tree", send, up ? below : above, recv,
                      up ? above : below);
}

/* Builds a stage in which the members below `until` that have a subtree (those with even numbers) copy. */
static void build_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *exchange,
                       int64_t until, pto_slice_t source, pto_slice_t target) {
    pto_step_t copy = pto_step_of(PTO_STEP_COPY, exchange);
    copy.who_stride = pto_constant(2);
    copy.who_until = pto_constant(until);
    pto_build_local(builder, name, copy, source, target);
}

/* Builds the temporary of the blocks of subtrees, at all members with even numbers. `all`: a buffer of all
 * blocks. */
static int build_inner(pto_builder_t *builder, int all) {
    pto_buffer_t inner = pto_temporary_like(builder, all, "subtree");
    inner.held_stride = 2;
    return pto_build_buffer(builder, inner);
}

/* Returns the longest edge. It is a single one, so the number of blocks below it is exact. */
static edges_t longest(int64_t n) {
    int64_t half = (int64_t)1 << (pto_log2_ceil(n) - 1);
    return (edges_t){pto_constant(half), pto_constant(n - half)};
}

static const edges_t shortest = {.distance = {.constant = 1}, .blocks = {.constant = 1}};

static void build_gather(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int inner = build_inner(builder, exchange->out);
    int64_t n = exchange->n;
    build_copy(builder, "own block", exchange, n, pto_slice_all(builder, exchange->in),
               pto_slice_block(inner, PTO_ANCHOR_ME));
    if (n > 1)
        build_subtrees(builder, exchange, true, inner, exchange->in, shortest);
    if (n > 2) {
        pto_build_loop(builder, 1, pto_log2_ceil(n) - 1, true);
        build_subtrees(builder, exchange, true, inner, inner, (edges_t){pto_power(1), pto_power(1)});
        pto_build_end(builder);
        build_subtrees(builder, exchange, true, inner, inner, longest(n));
    }
    build_copy(builder, "place output", exchange, 1, pto_slice_all(builder, inner),
               pto_slice_all(builder, exchange->out));
}

static void build_scatter(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int inner = build_inner(builder, exchange->in);
    int64_t n = exchange->n, rounds = pto_log2_ceil(n);
    build_copy(builder, "place input", exchange, 1, pto_slice_all(builder, exchange->in),
               pto_slice_all(builder, inner));
    if (n > 2) {
        pto_expr_t halving = pto_inverse_power((int64_t)1 << (rounds - 2));
        build_subtrees(builder, exchange, false, inner, inner, longest(n));
        pto_build_loop(builder, 0, rounds - 2, true);
        build_subtrees(builder, exchange, false, inner, inner, (edges_t){halving, halving});
        pto_build_end(builder);
    }
    if (n > 1)
        build_subtrees(builder, exchange, false, inner, exchange->out, shortest);
    build_copy(builder, "own block", exchange, n, pto_slice_block(inner, PTO_ANCHOR_ME),
               pto_slice_all(builder, exchange->out));
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_collective_t collective = pto_builder_request(builder)->collective;
    if (collective == PTO_COLLECTIVE_GATHER)
        build_gather(builder, exchange);
    else if (collective == PTO_COLLECTIVE_SCATTER)
        build_scatter(builder, exchange);
    else
        build_vector(builder, exchange, collective);
}

const pto_algorithm_t pto_algorithm_binomial = {
    .name = "binomial",
    .summary = "up a binomial tree to process 0, down it from there, or both",
    .collectives = PTO_VECTORS | PTO_ROOTED,
    .build = build,
};
