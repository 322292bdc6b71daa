/* Flags of kernels: a thread block signals the same block of another GPU with the number of the run, so a
 * flag can say less than one of processes. */
#include "broken_plan.h"
#include "portolan/strategy.h"
#include "test.h"

enum { MEMBERS = 4, BLOCK_BYTES = 4096 };

typedef struct {
    pto_builder_t *builder;
    pto_exchange_t who;
    int place; /* for what others store */
} kernels_t;

/* Of an alltoall; with a place of so many blocks. */
static kernels_t build_members(pto_builder_t *builder, int64_t place_blocks) {
    kernels_t kernels = {.builder = builder, .who = {.n = MEMBERS, .core_count = 1}};
    pto_buffer_t place = owners_floats("place", PTO_ROLE_TEMPORARY, place_blocks, BLOCK_BYTES);
    place.double_buffered = true;
    kernels.who.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0);
    kernels.who.in = pto_build_buffer(builder, owners_floats("in", PTO_ROLE_IN, MEMBERS, BLOCK_BYTES));
    kernels.who.out = pto_build_buffer(builder, owners_floats("out", PTO_ROLE_OUT, MEMBERS, BLOCK_BYTES));
    kernels.place = pto_build_buffer(builder, place);
    return kernels;
}

static void build_own_block(const kernels_t *kernels) {
    add_copy_stage(kernels->builder, "own block", pto_step_of(PTO_STEP_COPY, &kernels->who),
                   pto_slice_block(kernels->who.in, PTO_ANCHOR_ME),
                   pto_slice_block(kernels->who.out, PTO_ANCHOR_ME));
}

static pto_plan_t *plan_by(void (*build)(pto_builder_t *, const pto_request_t *)) {
    pto_request_t request = request_on((pto_layout_t){1, MEMBERS, 1, 1, MEMBERS, false},
                                       PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", BLOCK_BYTES);
    request.strategy = strategy_made_of(request.collective, build);
    return plan_of(request);
}

/* --- kernels in loops ----------------------------------------------------------------------------------- */

static bool in_loop;

/* A kernel in which each stores a block to the peer at distance k, into the same place in every iteration. */
static void build_shift(const kernels_t *kernels, pto_expr_t distance) {
    pto_builder_t *builder = kernels->builder;
    const pto_exchange_t *who = &kernels->who;
    pto_step_t store = pto_step_of(PTO_STEP_COPY, who), take = store;
    store.peers = pto_peers_at(distance, 1);
    take.peers = pto_peers_at(distance, -1);
    pto_slice_t place = pto_slice_block(kernels->place, PTO_ANCHOR_ABSOLUTE), theirs = place;
    theirs.holder = PTO_HOLDER_PEER;
    pto_build_kernel(builder, who);
    pto_flag_barrier(builder, "free", who);
    add_copy_stage(kernels->builder, "store", store, pto_slice_block(who->in, PTO_ANCHOR_PEER), theirs);
    pto_flag_barrier(builder, "stored", who);
    add_copy_stage(kernels->builder, "take", take, place, pto_slice_block(who->out, PTO_ANCHOR_PEER));
    pto_build_end(builder);
}

static void build_shifts(pto_builder_t *builder, const pto_request_t *request) {
    kernels_t kernels = build_members(builder, 1);
    build_own_block(&kernels);
    if (in_loop)
        pto_build_loop(builder, 1, MEMBERS, false);
    for (int64_t k = 1; k < (in_loop ? 2 : MEMBERS); k++)
        build_shift(&kernels, in_loop ? pto_loop_index(1, 0) : pto_constant(k));
    if (in_loop)
        pto_build_end(builder);
}

/* In the second iteration the flags already have the number of the run. */
TEST(a_kernel_with_flags_in_a_loop_is_refused) {
    in_loop = false;
    assert_right(plan_by(build_shifts));
    in_loop = true;
    refused_for(plan_by(build_shifts), "a kernel with flags is inside a loop");
}

/* After a loop kernels are as anywhere. */
static void build_after_loop(pto_builder_t *builder, const pto_request_t *request) {
    kernels_t kernels = build_members(builder, 1);
    pto_build_loop(builder, 0, 1, false);
    build_own_block(&kernels);
    pto_build_end(builder);
    for (int64_t k = 1; k < MEMBERS; k++)
        build_shift(&kernels, pto_constant(k));
}

TEST(kernels_after_a_loop_may_have_flags) { assert_right(plan_by(build_after_loop)); }

/* --- flags between kernels ------------------------------------------------------------------------------ */

static bool in_one_kernel;

static void build_wait(const kernels_t *kernels, int flag) {
    pto_step_t wait = pto_step_of_all(PTO_STEP_WAIT, &kernels->who);
    wait.flag = flag;
    pto_build_stage(kernels->builder, "wait", PTO_ORDER_SEQUENCE);
    pto_build_step(kernels->builder, wait);
}

/* Each stores its whole input to all others, who take their block of it: of all of it at once, a part is more
 * than a part of the block. */
static void build_two_kernels(pto_builder_t *builder, const pto_request_t *request) {
    kernels_t kernels = build_members(builder, MEMBERS * MEMBERS);
    const pto_exchange_t *who = &kernels.who;
    pto_step_t store = pto_step_of_all(PTO_STEP_COPY, who), signal = pto_step_of_all(PTO_STEP_SIGNAL, who);
    pto_slice_t theirs = pto_slice_block(kernels.place, PTO_ANCHOR_ME);
    theirs.bundle = MEMBERS;
    theirs.holder = PTO_HOLDER_PEER;
    signal.flag = pto_build_flag(builder, "stored");
    pto_build_kernel(builder, who);
    add_copy_stage(builder, "store", store, pto_slice_all(builder, who->in), theirs);
    pto_build_step(builder, signal);
    if (in_one_kernel)
        build_wait(&kernels, signal.flag);
    pto_build_end(builder);
    pto_build_kernel(builder, who);
    build_own_block(&kernels);
    if (!in_one_kernel)
        build_wait(&kernels, signal.flag);
    pto_slice_t place = pto_slice_block(kernels.place, PTO_ANCHOR_ME);
    place.offset.peer = MEMBERS;
    add_copy_stage(builder, "take", pto_step_of_all(PTO_STEP_COPY, who), place,
                   pto_slice_block(who->out, PTO_ANCHOR_PEER));
    pto_build_end(builder);
}

/* A block of the second kernel knows only that the same block of the first one has ended its part. */
TEST(a_flag_is_raised_and_awaited_in_one_kernel) {
    in_one_kernel = true;
    assert_right(plan_by(build_two_kernels));
    in_one_kernel = false;
    refused_for(plan_by(build_two_kernels), "a kernel's flag 'stored' is awaited outside of the kernel");
}

TEST(a_wait_alone_in_a_kernel_is_named) {
    in_one_kernel = false;
    pto_plan_t *plan = plan_by(build_two_kernels);
    step_in(plan, "store", PTO_STEP_SIGNAL)->kind = PTO_STEP_WAIT;
    step_in(plan, "wait", PTO_STEP_WAIT)->kind = PTO_STEP_SIGNAL;
    refused_for(plan, "a kernel's flag 'stored' is raised outside of the kernel");
}
