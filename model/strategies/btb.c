/* btb, the binomial tree over GPU shared buffers: every second process of a node has a buffer in its device
 * memory. The process's children in the tree copy into this buffer by CUDA IPC, and read from it on the way
 * down. Flags in host memory say which level of the tree a buffer has reached (Faraji's thesis, section
 * 3.2.2). Faraji and Afsahi, "GPU-Aware Intranode MPI_Allreduce", EuroMPI/ASIA 2014, section 3.2, has the
 * same reduction, but its broadcast has no tree (btb_flat.c).
 *
 * A buffer has two blocks: the partial result of its process, and the data of the child at the current level.
 * Data that goes down has a buffer of its own, so that no flag is needed before it is reused (gsb.c). */
#include "intranode.h"

typedef struct {
    pto_builder_t *builder;
    const pto_exchange_t *members;
    int tree;       /* buffer of two vectors: block 0 is the process's own, block 1 the child's */
    int result;     /* buffer of the root's result */
    int64_t rounds; /* levels of the tree */
} reduction_t;

static pto_slice_t block(int buffer, int64_t index) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.offset = pto_constant(index);
    return slice;
}

/* Copies by the lower and by the upper ends of the edges of length `distance`, with the other ends as peers.
 */
static pto_step_t children(const pto_exchange_t *members, pto_expr_t distance) {
    return pto_build_tree_ends(PTO_STEP_COPY, members, true, distance);
}

static pto_step_t parents(const pto_exchange_t *members, pto_expr_t distance) {
    return pto_build_tree_ends(PTO_STEP_COPY, members, false, distance);
}

/* The parents of a level reduce block 1 into block 0. At the last level the root reduces both into the
 * result. */
static void build_reduce(const reduction_t *reduction, pto_expr_t distance, bool last) {
    pto_step_t step = parents(reduction->members, distance);
    step.kind = PTO_STEP_REDUCE;
    step.peers.kind = PTO_PEERS_NONE;
    step.fresh = last;
    pto_build_local(reduction->builder, "reduce", step,
                    last ? pto_slice_all(reduction->builder, reduction->tree) : block(reduction->tree, 1),
                    last ? pto_slice_all(reduction->builder, reduction->result) : block(reduction->tree, 0));
}

/* The lowest level: children copy their input to the parents, and parents copy theirs to their own buffer. */
static void build_entry(const reduction_t *reduction, int source) {
    pto_builder_t *builder = reduction->builder;
    pto_expr_t one = pto_constant(1);
    pto_step_t child = children(reduction->members, one);
    pto_slice_t input = pto_slice_all(builder, source);
    pto_step_t own = pto_step_of(PTO_STEP_COPY, reduction->members);
    own.who_stride = pto_constant(2);
    pto_build_local(builder, "enter the tree", own, input, block(reduction->tree, 0));
    pto_build_move(builder, child, input, pto_slice_of_peer(block(reduction->tree, 1)));
    pto_intranode_flag(builder, "copied", child, parents(reduction->members, one));
    build_reduce(reduction, one, reduction->rounds == 1);
}

/* A child waits until its parent has reached this level. */
static void build_level(const reduction_t *reduction, pto_expr_t distance, bool last) {
    pto_builder_t *builder = reduction->builder;
    pto_step_t child = children(reduction->members, distance), parent = parents(reduction->members, distance);
    pto_intranode_flag(builder, "at this level", parent, child);
    pto_build_local(builder, "up the tree", child, block(reduction->tree, 0),
                    pto_slice_of_peer(block(reduction->tree, 1)));
    pto_intranode_flag(builder, "copied", child, parent);
    build_reduce(reduction, distance, last);
}

static int reduce(pto_builder_t *builder, const pto_exchange_t *members, int source, int into,
                  pto_run_order_t runs) {
    reduction_t reduction = {
        .builder = builder, .members = members, .result = into, .rounds = pto_log2_ceil(members->n)};
    reduction.tree = pto_intranode_buffer(builder, members, source, "tree", 2, 2);
    if (into < 0)
        reduction.result = pto_intranode_buffer(builder, members, source, "passed", 1, 2);
    pto_expr_t one = pto_constant(1);
    if (runs == PTO_RUN_LOOSE)
        pto_intranode_flag(builder, "tree free", parents(members, one), children(members, one));
    build_entry(&reduction, source);
    if (reduction.rounds > 2) {
        pto_build_loop(builder, 1, reduction.rounds - 1, true);
        build_level(&reduction, pto_power(1), false);
        pto_build_end(builder);
    }
    if (reduction.rounds > 1)
        build_level(&reduction, pto_constant((int64_t)1 << (reduction.rounds - 1)), true);
    return reduction.result;
}

/* Children signal all their parents before any parent waits, so flags don't form a chain. */
static void build_release(pto_builder_t *builder, const pto_exchange_t *members) {
    int flag = pto_build_flag(builder, "passed free");
    pto_step_t signal = children(members, pto_power(1)), wait = parents(members, pto_power(1));
    signal.kind = PTO_STEP_SIGNAL;
    wait.kind = PTO_STEP_WAIT;
    signal.flag = wait.flag = flag;
    for (int i = 0; i < 2; i++) {
        pto_build_loop(builder, 0, pto_log2_ceil(members->n), true);
        pto_build_stage(builder, "passed free", PTO_ORDER_SEQUENCE);
        pto_build_step(builder, i ? wait : signal);
        pto_build_end(builder);
    }
}

/* Processes with children read into their buffer, to pass the data on; the others into the target. */
static void build_down(pto_builder_t *builder, const pto_exchange_t *members, int passed, int target) {
    int64_t rounds = pto_log2_ceil(members->n);
    pto_slice_t mine = pto_slice_all(builder, passed), output = pto_slice_all(builder, target);
    if (rounds > 1) {
        pto_expr_t halving = pto_inverse_power((int64_t)1 << (rounds - 1));
        pto_build_loop(builder, 0, rounds - 1, true);
        pto_intranode_flag(builder, "complete", parents(members, halving), children(members, halving));
        pto_build_local(builder, "down the tree", children(members, halving), pto_slice_of_peer(mine), mine);
        pto_build_end(builder);
    }
    pto_expr_t one = pto_constant(1);
    pto_intranode_flag(builder, "complete", parents(members, one), children(members, one));
    pto_step_t own = pto_step_of(PTO_STEP_COPY, members);
    own.who_stride = pto_constant(2);
    pto_build_local(builder, "copy out", own, mine, output);
    pto_build_move(builder, children(members, one), pto_slice_of_peer(mine), output);
}

static void broadcast(pto_builder_t *builder, const pto_exchange_t *members, int source, int target,
                      pto_run_order_t runs) {
    const pto_buffer_t *input = pto_builder_buffer(builder, source);
    /* Whether `source` is a buffer that the reduction has built for data that goes down. */
    bool in_tree = runs == PTO_RUN_ORDERED && input->role == PTO_ROLE_TEMPORARY && input->held_stride == 2 &&
                   input->group == pto_builder_group(builder, members->group)->kind;
    if (runs == PTO_RUN_LOOSE)
        build_release(builder, members);
    int passed = source;
    if (!in_tree) {
        passed = pto_intranode_buffer(builder, members, source, "passed", 1, 2);
        pto_exchange_t root = *members;
        root.n = 1;
        pto_build_copy(builder, "share", &root, pto_slice_all(builder, source),
                       pto_slice_all(builder, passed));
    }
    build_down(builder, members, passed, target);
}

const pto_intranode_t pto_intranode_btb = {.reduce = reduce, .broadcast = broadcast};

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_intranode_build(builder, request, &pto_intranode_btb);
}

const pto_strategy_t pto_strategy_btb = {
    .name = "btb",
    .summary = "a node's processes copy up and down a binomial tree of buffers on every second one's GPU",
    .collectives = PTO_VECTORS,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_intranode_applicable,
    .build = build,
};
