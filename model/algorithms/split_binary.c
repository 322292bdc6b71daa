/* A broadcast along a binary tree that is split in two (Open MPI's `split_binary_tree`; Pjesivac-Grbovic et
 * al. 2007). Segments of the first half of the vector go down the subtree of process 1, segments of the
 * second half down the subtree of process 2, in a pipeline. Then neighbors in the two subtrees exchange their
 * halves.
 *
 * Level l has the processes 2^l - 1 to 2^(l+1) - 2. Process r of level l has the children r + 2^l and
 * r + 2^(l+1). The subtree of process 1 therefore has the odd numbers, that of process 2 the even ones. In
 * round t, level l sends segment t - l. */
#include "algorithms.h"

typedef struct {
    pto_builder_t *builder;
    const pto_exchange_t *exchange;
    int64_t levels; /* number of levels with children */
    int64_t half;   /* number of segments of a half */
} tree_t;

/* Returns segment `index` of the half that the process at `anchor` receives in its subtree. Its number in the
 * vector is anchor * half + half + index, modulo 2 * half: odd processes begin at 0, even ones at `half`. */
static pto_slice_t segment_of(const tree_t *tree, pto_anchor_t anchor, pto_expr_t index) {
    index.constant += tree->half;
    pto_slice_t slice = pto_slice_part(tree->exchange->out, 2 * tree->half, anchor, index);
    slice.anchor_step = tree->half;
    return slice;
}

static pto_slice_t half_of(const tree_t *tree, pto_anchor_t anchor) {
    return pto_slice_aligned_run(segment_of(tree, anchor, pto_constant(0)), pto_constant(tree->half));
}

/* Builds the messages from every `stride`-th process of [first, until) to the process `distance` after it. */
static void build_edges(const tree_t *tree, int64_t first, int64_t until, int64_t stride, int64_t distance,
                        pto_slice_t sent, pto_slice_t received) {
    pto_step_t send = pto_step_of(PTO_STEP_SEND, tree->exchange);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, tree->exchange);
    if (first >= until)
        return;
    send.who_first = pto_constant(first);
    send.who_until = pto_constant(until);
    recv.who_first = pto_constant(first + distance);
    recv.who_until = pto_constant(until + distance);
    send.who_stride = recv.who_stride = pto_constant(stride);
    send.peers = pto_peers_at(pto_constant(distance), 1);
    recv.peers = pto_peers_at(pto_constant(distance), -1);
    send.source = sent;
    recv.target = received;
    pto_build_step(tree->builder, send);
    pto_build_step(tree->builder, recv);
}

static int64_t smaller_of(int64_t a, int64_t b) { return a < b ? a : b; }

/* Builds the stage in which levels [first, until) send a segment each to the first (`child` is 1) or to the
 * second (2) children of their processes. */
static void build_children(const tree_t *tree, int64_t first, int64_t until, int64_t child) {
    pto_build_stage(tree->builder, "down both trees", PTO_ORDER_AT_ONCE);
    for (int64_t level = 0; level < until; level++) {
        const pto_expr_t index = pto_loop_index(1, -level);
        const int64_t width = (int64_t)1 << level, distance = child * width;
        if (level >= first)
            build_edges(tree, width - 1, smaller_of(2 * width - 1, tree->exchange->n - distance), 1, distance,
                        segment_of(tree, PTO_ANCHOR_PEER, index), segment_of(tree, PTO_ANCHOR_ME, index));
    }
}

/* Builds rounds [from, to), in which levels [first, until) send. */
static void build_rounds(const tree_t *tree, int64_t from, int64_t to, int64_t first, int64_t until) {
    pto_build_loop(tree->builder, from, to, false);
    build_children(tree, first, until, 1);
    build_children(tree, first, until, 2);
    pto_build_end(tree->builder);
}

/* At first, one more level sends in each round; then all levels; at last, one level fewer in each round. The
 * rounds in which all levels send are one loop. */
static void build_down(const tree_t *tree) {
    const int64_t levels = tree->levels, half = tree->half, rounds = half + levels - 1;
    int64_t t = 0;
    while (t < rounds) {
        bool all_levels_send = t == levels - 1 && t < half;
        int64_t to = all_levels_send ? half : t + 1;
        build_rounds(tree, t, to, t < half ? 0 : t - half + 1, smaller_of(t + 1, levels));
        t = to;
    }
}

/* Processes 1 and 2, 3 and 4, ... swap halves. A last one without a neighbor gets the second half from
 * process 0. */
static void build_swap(const tree_t *tree) {
    const int64_t n = tree->exchange->n;
    pto_slice_t own = half_of(tree, PTO_ANCHOR_ME), of_peer = half_of(tree, PTO_ANCHOR_PEER);
    pto_build_stage(tree->builder, "swap halves", PTO_ORDER_AT_ONCE);
    build_edges(tree, 1, n - 1, 2, 1, own, of_peer);
    build_edges(tree, 2, n, 2, -1, own, of_peer);
    if (n % 2 == 0)
        build_edges(tree, 0, 1, 1, n - 1, own, of_peer);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    tree_t tree = {.builder = builder,
                   .exchange = exchange,
                   .half = (pto_build_segment_count(builder, exchange->out) + 1) / 2};
    while ((int64_t)2 << tree.levels <= exchange->n)
        tree.levels++;
    if (exchange->n == 1)
        return;
    build_down(&tree);
    build_swap(&tree);
}

const pto_algorithm_t pto_algorithm_split_binary = {
    .name = "split_binary",
    .summary = "half of the segments down each side of a binary tree, then an exchange of halves",
    .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
    .segmented = true,
    .only_named = true,
    .build = build,
};
