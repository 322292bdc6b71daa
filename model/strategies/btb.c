/* btb, the binomial tree over GPU shared buffers: every second process has a buffer in its device memory. Its
 * children in the tree copy into it by CUDA IPC, and read from it on the way back. Flags in host memory say
 * which level of the tree a buffer is at (Faraji's thesis, section 3.2.2). The way up is also that of Faraji
 * and Afsahi, "GPU-Aware Intranode MPI_Allreduce", EuroMPI/ASIA 2014, section 3.2, which has no tree down:
 * btb_flat.c.
 *
 * A buffer has two places: one for the partial result of its process, and one for the data of the child at
 * the current level. Data passed down has a buffer of its own, for the same reason as gsb's result. */
#include "intranode.h"

typedef struct {
    pto_builder_t *builder;
    const pto_exchange_t *who;
    int tree; /* two vectors: the process's own and the child's */
    int into;
    int64_t rounds;
} up_t;

static pto_slice_t place(int buffer, int64_t index) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.offset = pto_constant(index);
    return slice;
}

static pto_step_t lower(const pto_exchange_t *who, pto_expr_t distance) {
    return pto_build_tree_ends(PTO_STEP_COPY, who, true, distance);
}

static pto_step_t upper(const pto_exchange_t *who, pto_expr_t distance) {
    return pto_build_tree_ends(PTO_STEP_COPY, who, false, distance);
}

/* The upper ends of a level combine both places. At the last level the root combines them into the result. */
static void build_reduce(const up_t *up, pto_expr_t distance, bool last) {
    pto_step_t step = upper(up->who, distance);
    step.kind = PTO_STEP_REDUCE;
    step.peers.kind = PTO_PEERS_NONE;
    step.fresh = last;
    pto_build_local(up->builder, "reduce", step,
                    last ? pto_slice_all(up->builder, up->tree) : place(up->tree, 1),
                    last ? pto_slice_all(up->builder, up->into) : place(up->tree, 0));
}

/* The lowest level: children copy their input up, while processes with a buffer place theirs in it. */
static void build_entry(const up_t *up, int source) {
    pto_expr_t one = pto_constant(1);
    pto_slice_t input = pto_slice_all(up->builder, source);
    pto_step_t own = pto_step_of(PTO_STEP_COPY, up->who);
    own.who_stride = pto_constant(2);
    pto_build_local(up->builder, "enter the tree", own, input, place(up->tree, 0));
    pto_build_move(up->builder, lower(up->who, one), input, pto_slice_of_peer(place(up->tree, 1)));
    pto_intranode_flag(up->builder, "copied", lower(up->who, one), upper(up->who, one));
    build_reduce(up, one, up->rounds == 1);
}

/* A child waits until its parent has reached this level. */
static void build_level(const up_t *up, pto_expr_t distance, bool last) {
    pto_intranode_flag(up->builder, "at this level", upper(up->who, distance), lower(up->who, distance));
    pto_build_local(up->builder, "up the tree", lower(up->who, distance), place(up->tree, 0),
                    pto_slice_of_peer(place(up->tree, 1)));
    pto_intranode_flag(up->builder, "copied", lower(up->who, distance), upper(up->who, distance));
    build_reduce(up, distance, last);
}

static int reduce(pto_builder_t *builder, const pto_exchange_t *who, int source, int into,
                  pto_run_order_t runs) {
    up_t up = {.builder = builder, .who = who, .into = into, .rounds = pto_log2_ceil(who->n)};
    up.tree = pto_intranode_buffer(builder, who, source, "tree", 2, 2);
    if (into < 0)
        up.into = pto_intranode_buffer(builder, who, source, "passed", 1, 2);
    pto_expr_t one = pto_constant(1);
    if (runs == PTO_RUN_LOOSE)
        pto_intranode_flag(builder, "tree free", upper(who, one), lower(who, one));
    build_entry(&up, source);
    if (up.rounds > 2) {
        pto_build_loop(builder, 1, up.rounds - 1, true);
        build_level(&up, pto_power(1), false);
        pto_build_end(builder);
    }
    if (up.rounds > 1)
        build_level(&up, pto_constant((int64_t)1 << (up.rounds - 1)), true);
    return up.into;
}

/* Children signal all their parents before any parent waits, so flags don't form a chain. */
static void build_release(pto_builder_t *builder, const pto_exchange_t *who) {
    int flag = pto_build_flag(builder, "passed free");
    pto_step_t signal = lower(who, pto_power(1)), wait = upper(who, pto_power(1));
    signal.kind = PTO_STEP_SIGNAL;
    wait.kind = PTO_STEP_WAIT;
    signal.flag = wait.flag = flag;
    for (int i = 0; i < 2; i++) {
        pto_build_loop(builder, 0, pto_log2_ceil(who->n), true);
        pto_build_stage(builder, "passed free", PTO_ORDER_SEQUENCE);
        pto_build_step(builder, i ? wait : signal);
        pto_build_end(builder);
    }
}

/* Processes with children read into their own buffer, to pass the data on; the others read into the
 * target. */
static void build_down(pto_builder_t *builder, const pto_exchange_t *who, int passed, int target) {
    int64_t rounds = pto_log2_ceil(who->n);
    pto_slice_t mine = pto_slice_all(builder, passed), output = pto_slice_all(builder, target);
    if (rounds > 1) {
        pto_expr_t halving = pto_inverse_power((int64_t)1 << (rounds - 1));
        pto_build_loop(builder, 0, rounds - 1, true);
        pto_intranode_flag(builder, "complete", upper(who, halving), lower(who, halving));
        pto_build_local(builder, "down the tree", lower(who, halving), pto_slice_of_peer(mine), mine);
        pto_build_end(builder);
    }
    pto_expr_t one = pto_constant(1);
    pto_intranode_flag(builder, "complete", upper(who, one), lower(who, one));
    pto_step_t own = pto_step_of(PTO_STEP_COPY, who);
    own.who_stride = pto_constant(2);
    pto_build_local(builder, "copy out", own, mine, output);
    pto_build_move(builder, lower(who, one), pto_slice_of_peer(mine), output);
}

static void broadcast(pto_builder_t *builder, const pto_exchange_t *who, int source, int target,
                      pto_run_order_t runs) {
    const pto_buffer_t *held = pto_builder_buffer(builder, source);
    bool in_tree = runs == PTO_RUN_ORDERED && held->role == PTO_ROLE_TEMPORARY && held->held_stride == 2 &&
                   held->group == pto_builder_group(builder, who->group)->kind;
    if (runs == PTO_RUN_LOOSE)
        build_release(builder, who);
    int passed = source;
    if (!in_tree) {
        passed = pto_intranode_buffer(builder, who, source, "passed", 1, 2);
        pto_exchange_t root = *who;
        root.n = 1;
        pto_build_copy(builder, "share", &root, pto_slice_all(builder, source),
                       pto_slice_all(builder, passed));
    }
    build_down(builder, who, passed, target);
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
