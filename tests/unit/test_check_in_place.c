/* Plans that executors run in place if the user's input and output are one buffer. check must refuse those
 * that are right with two buffers only. */
#include "broken_plan.h"
#include "portolan/strategy.h"
#include "test.h"

enum { HALF_BYTES = 64 };

static const pto_layout_t two_gpus = {1, 2, 1, 1, 2, false};

/* The parts of an allreduce of two GPUs. */
static struct {
    pto_builder_t *builder;
    pto_exchange_t who;
    int theirs; /* room for the other vector */
    int note;   /* and for one's own */
} parts;

static bool is_right; /* in place, too */

static int build_vector(const char *name, pto_role_t role) {
    return pto_build_buffer(parts.builder, owners_floats(name, role, 2, HALF_BYTES));
}

static void build_parts(pto_builder_t *builder) {
    parts.builder = builder;
    parts.who = owners_exchange(builder, 2);
    parts.who.in = build_vector("in", PTO_ROLE_IN);
    parts.who.out = build_vector("out", PTO_ROLE_OUT);
    parts.theirs = build_vector("theirs", PTO_ROLE_TEMPORARY);
    parts.note = build_vector("note", PTO_ROLE_TEMPORARY);
}

/* Both halves, as one range. */
static pto_slice_t all_of(int buffer) { return pto_slice_all(parts.builder, buffer); }

static pto_slice_t half_of(int buffer, int64_t half) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.offset = pto_constant(half);
    return slice;
}

static pto_slice_t of_peer(pto_slice_t slice) {
    slice.holder = PTO_HOLDER_PEER;
    return slice;
}

static void build_move(pto_step_kind_t kind, pto_slice_t source, pto_slice_t target) {
    bool is_local = source.holder == PTO_HOLDER_SELF;
    add_copy(parts.builder, is_local ? pto_step_of(kind, &parts.who) : pto_step_of_all(kind, &parts.who),
             source, target);
}

static void build_stage(const char *name) { pto_build_stage(parts.builder, name, PTO_ORDER_SEQUENCE); }

static pto_plan_t *plan_by(void (*build)(pto_builder_t *, const pto_request_t *)) {
    pto_request_t request =
        request_on(two_gpus, PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring", 2 * HALF_BYTES);
    request.strategy = strategy_made_of(request.collective, build);
    return plan_of(request);
}

/* Plans that are right in place, and those that are not. */
static void assert_refused(void (*build)(pto_builder_t *, const pto_request_t *), const char *cause) {
    is_right = true;
    pto_plan_t *plan = plan_by(build);
    assert_right(plan);
    assert_true(pto_plan_may_be_in_place(plan));
    is_right = false;
    plan = plan_by(build);
    assert_true(pto_plan_may_be_in_place(plan));
    refused_for(plan, cause);
}

/* --- accesses of others --------------------------------------------------------------------------------- */

/* Each loads the other's vector. It tells so before it writes its result, or behind it. */
static void build_loads(pto_builder_t *builder, const pto_request_t *request) {
    build_parts(builder);
    pto_flag_barrier(builder, "ready", &parts.who);
    build_stage("load");
    build_move(PTO_STEP_COPY, of_peer(all_of(parts.who.in)), all_of(parts.theirs));
    if (is_right)
        pto_flag_barrier(builder, "loaded", &parts.who);
    build_stage("reduce");
    build_move(PTO_STEP_COPY, all_of(parts.who.in), all_of(parts.who.out));
    build_move(PTO_STEP_REDUCE, all_of(parts.theirs), all_of(parts.who.out));
    if (!is_right)
        pto_flag_barrier(builder, "loaded", &parts.who);
}

TEST(results_in_place_wait_for_those_who_read_the_input) {
    assert_refused(build_loads,
                   "stage 'reduce': writes bytes 0..127 of 'out' of rank 0, unordered with rank 1's read");
}

/* --- one's own input ------------------------------------------------------------------------------------ */

/* A stage begins its result with the other's vector, and adds its own input to it. */
static void build_order(pto_builder_t *builder, const pto_request_t *request) {
    build_parts(builder);
    int first = is_right ? parts.who.in : parts.theirs, second = is_right ? parts.theirs : parts.who.in;
    pto_flag_barrier(builder, "ready", &parts.who);
    build_stage("load");
    build_move(PTO_STEP_COPY, of_peer(all_of(parts.who.in)), all_of(parts.theirs));
    pto_flag_barrier(builder, "loaded", &parts.who);
    build_stage("reduce");
    build_move(PTO_STEP_COPY, all_of(first), all_of(parts.who.out));
    build_move(PTO_STEP_REDUCE, all_of(second), all_of(parts.who.out));
}

TEST(an_input_is_not_read_behind_the_result) {
    assert_refused(build_order,
                   "stage 'reduce': reads bytes 0..127 of 'in', which were overwritten in place");
}

/* Both send what they receive into. */
static void build_messages(pto_builder_t *builder, const pto_request_t *request) {
    build_parts(builder);
    int place = is_right ? parts.theirs : parts.who.out;
    build_stage("note");
    build_move(PTO_STEP_COPY, all_of(parts.who.in), all_of(parts.note));
    pto_step_t send = pto_step_of_all(PTO_STEP_SEND, &parts.who), receive = send;
    receive.kind = PTO_STEP_RECV;
    send.source = all_of(parts.who.in);
    receive.target = all_of(place);
    pto_build_stage(builder, "exchange", PTO_ORDER_AT_ONCE);
    pto_build_step(builder, send);
    pto_build_step(builder, receive);
    build_stage("reduce");
    if (is_right)
        build_move(PTO_STEP_COPY, all_of(parts.theirs), all_of(parts.who.out));
    build_move(PTO_STEP_REDUCE, all_of(parts.note), all_of(parts.who.out));
}

TEST(an_input_is_not_sent_from_where_the_result_arrives) {
    assert_refused(build_messages,
                   "stage 'exchange': uses bytes 0..127 of 'out' twice at once and writes them");
}

/* --- parts of kernels ----------------------------------------------------------------------------------- */

/* The members note their inputs, and combine both vectors by halves. A thread block has a part of the note
 * and a part of each half, which are not the same bytes: a note may be of what another block has combined. */
static void build_halves(pto_builder_t *builder, const pto_request_t *request) {
    build_parts(builder);
    pto_build_kernel(builder, &parts.who);
    build_stage("note");
    for (int64_t half = 0; half < 2 && is_right; half++)
        build_move(PTO_STEP_COPY, half_of(parts.who.in, half), half_of(parts.note, half));
    if (!is_right)
        build_move(PTO_STEP_COPY, all_of(parts.who.in), all_of(parts.note));
    pto_flag_barrier(builder, "ready", &parts.who);
    build_stage("load");
    for (int64_t half = 0; half < 2; half++)
        build_move(PTO_STEP_COPY, of_peer(half_of(parts.who.in, half)), half_of(parts.theirs, half));
    pto_flag_barrier(builder, "loaded", &parts.who);
    build_stage("reduce");
    for (int64_t half = 0; half < 2; half++) {
        build_move(PTO_STEP_COPY, half_of(parts.who.in, half), half_of(parts.who.out, half));
        build_move(PTO_STEP_REDUCE, half_of(parts.theirs, half), half_of(parts.who.out, half));
    }
    pto_build_end(builder);
}

TEST(kernels_cut_an_input_as_they_cut_the_result) { assert_refused(build_halves, "in one piece and"); }
