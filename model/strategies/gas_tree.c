/* gas_tree: a binomial tree in a kernel (section 4 of the paper cited in gas.h, "tree-based hierarchical
 * design"). On the way up every GPU stores its partial result in the memory of its parent, which adds it to
 * its own. On the way down every GPU that has the result stores it in the output of its children. No link
 * carries more than log2 n vectors, and the GPUs of a level work in parallel, so it suits many GPUs. With
 * four GPUs it is the paper's two-level tree.
 *
 * A kernel has no loops: each level has stages and flags of its own. A parent has a block for the child of
 * each level, so a child waits only until its parent's previous run has ended. In an allreduce the child
 * knows this from the result of that run. In a reduce the parent signals it ("free"). In a broadcast the
 * child signals that its output may be written. */
#include "gas.h"

typedef struct {
    pto_builder_t *builder;
    const pto_exchange_t *members;
    int64_t levels;
} tree_t;

/* Returns a step of the lower or the upper ends of the edges at `level`, whose length is 2^level. */
static pto_step_t ends(const tree_t *tree, pto_step_kind_t kind, bool lower, int64_t level) {
    return pto_build_tree_ends(kind, tree->members, lower,
                               pto_constant((int64_t)1 << (level < 62 ? level : 62)));
}

static void build_flag(const tree_t *tree, const char *name, bool up, int64_t level) {
    pto_intranode_flag(tree->builder, name, ends(tree, PTO_STEP_SIGNAL, up, level),
                       ends(tree, PTO_STEP_WAIT, !up, level));
}

/* The flags `free` of all levels precede any data, so their latency is hidden behind the first levels. */
static void build_free(const tree_t *tree, bool up) {
    for (int64_t level = 0; level < tree->levels; level++)
        build_flag(tree, "free", up, level);
}

static void build_up(const tree_t *tree) {
    pto_builder_t *builder = tree->builder;
    pto_buffer_t shape =
        pto_intranode_shape(builder, tree->members, tree->members->in, "children", tree->levels, 2);
    int children = pto_build_buffer(builder, shape);
    pto_slice_t in = pto_slice_all(builder, tree->members->in),
                sum = pto_slice_all(builder, tree->members->out);
    for (int64_t level = 0; level < tree->levels; level++) {
        pto_slice_t place = pto_slice_block(children, PTO_ANCHOR_ABSOLUTE);
        place.offset = pto_constant(level);
        pto_step_t store = ends(tree, PTO_STEP_COPY, true, level),
                   reduce = ends(tree, PTO_STEP_REDUCE, false, level);
        pto_build_stage(builder, "up the tree", PTO_ORDER_SEQUENCE);
        if (level == 0) {
            pto_step_t own = pto_step_of(PTO_STEP_COPY, tree->members);
            own.who_stride = pto_constant(2);
            pto_build_move(builder, own, in, sum);
        }
        pto_build_move(builder, store, level == 0 ? in : sum, pto_slice_of_peer(place));
        build_flag(tree, "stored", true, level);
        reduce.peers = (pto_peers_t){0};
        pto_build_local(builder, "reduce", reduce, place, sum);
    }
}

static void build_down(const tree_t *tree) {
    for (int64_t level = tree->levels - 1; level >= 0; level--) {
        pto_slice_t result = pto_slice_all(tree->builder, tree->members->out);
        pto_build_local(tree->builder, "down the tree", ends(tree, PTO_STEP_COPY, false, level), result,
                        pto_slice_of_peer(result));
        build_flag(tree, "complete", false, level);
    }
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user_in_place(builder, request);
    tree_t tree = {builder, &members, pto_log2_ceil(members.n)};
    pto_build_kernel(builder, &members);
    if (request->collective == PTO_COLLECTIVE_REDUCE)
        build_free(&tree, false);
    if (request->collective != PTO_COLLECTIVE_BROADCAST) {
        build_up(&tree);
    } else {
        build_free(&tree, true);
        pto_exchange_t root = members;
        root.n = 1;
        pto_build_copy(builder, "own output", &root, pto_slice_all(builder, members.in),
                       pto_slice_all(builder, members.out));
    }
    if (request->collective != PTO_COLLECTIVE_REDUCE)
        build_down(&tree);
    pto_build_end(builder);
}

const pto_strategy_t pto_strategy_gas_tree = {
    .name = "gas_tree",
    .summary = "one kernel a GPU: partial results are stored up a binomial tree, the result down",
    .collectives = PTO_VECTORS,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_gas_applicable,
    .build = build,
};
