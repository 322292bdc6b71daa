/* Memory of other processes that the stages of a collective node use, and memory that its call may write:
 * what check must not take for ordered, or for untouched. */
#include "broken_plan.h"
#include "portolan/strategy.h"
#include "test.h"

enum { MEMBERS = 4, BLOCK_BYTES = 128 };

static const pto_layout_t four_gpus = {1, MEMBERS, 1, 1, MEMBERS, false};

static int build_blocks(pto_builder_t *builder, const char *name, pto_role_t role, int64_t count,
                        int64_t user_stride) {
    pto_buffer_t buffer = owners_floats(name, role, count, BLOCK_BYTES);
    buffer.user_stride = user_stride;
    return pto_build_buffer(builder, buffer);
}

static pto_exchange_t owners_with(pto_builder_t *builder, int in, int out) {
    pto_exchange_t owners = owners_exchange(builder, MEMBERS);
    owners.in = in;
    owners.out = out;
    return owners;
}

/* A stage in which the members from `first` on copy. */
static void build_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *who, int64_t first,
                       pto_slice_t source, pto_slice_t target) {
    pto_step_t copy = pto_step_of(PTO_STEP_COPY, who);
    copy.who_first = pto_constant(first);
    add_copy_stage(builder, name, copy, source, target);
}

static pto_plan_t *plan_by(pto_collective_t collective, void (*build)(pto_builder_t *, const pto_request_t *),
                           const pto_algorithm_t *algorithm) {
    pto_request_t request = request_on(four_gpus, collective, "cuda_aware", "linear", BLOCK_BYTES);
    request.strategy = strategy_made_of(request.collective, build);
    request.algorithm = algorithm ? algorithm : request.algorithm;
    return plan_of(request);
}

/* --- loads without flags -------------------------------------------------------------------------------- */

static bool has_flags;

/* Every member loads its block from each other one's input. */
static void build_loads(pto_builder_t *builder, const pto_exchange_t *who) {
    if (has_flags)
        pto_flag_barrier(builder, "ready", who);
    build_copy(builder, "own block", who, 0, pto_slice_block(who->in, PTO_ANCHOR_ME),
               pto_slice_block(who->out, PTO_ANCHOR_ME));
    pto_slice_t theirs = pto_slice_block(who->in, PTO_ANCHOR_ME);
    theirs.holder = PTO_HOLDER_PEER;
    add_copy_stage(builder, "load", pto_step_of_all(PTO_STEP_COPY, who), theirs,
                   pto_slice_block(who->out, PTO_ANCHOR_PEER));
    if (has_flags)
        pto_flag_barrier(builder, "loaded", who);
}

static void build_alltoall(pto_builder_t *builder, const pto_request_t *request) {
    int in = build_blocks(builder, "in", PTO_ROLE_IN, MEMBERS, 0);
    int out = build_blocks(builder, "out", PTO_ROLE_OUT, MEMBERS, 0);
    pto_exchange_t who = owners_with(builder, in, out);
    pto_build_exchange(builder, request, &who);
}

TEST(loads_inside_a_collective_need_flags) {
    static const pto_algorithm_t loads = {
        .name = "loads", .collectives = 1u << PTO_COLLECTIVE_ALLTOALL, .build = build_loads};
    has_flags = true;
    assert_right(plan_by(PTO_COLLECTIVE_ALLTOALL, build_alltoall, &loads));
    has_flags = false;
    refused_for(plan_by(PTO_COLLECTIVE_ALLTOALL, build_alltoall, &loads),
                "stage 'load': reads bytes 0..127 of 'in' of rank 1, unordered with rank 1's write");
}

/* --- a reduction in place ------------------------------------------------------------------------------- */

static void build_flag(pto_builder_t *builder, const char *name, const pto_exchange_t *who, int64_t from,
                       int64_t to) {
    pto_intranode_flag(builder, name, step_of_member(PTO_STEP_SIGNAL, who, from, to),
                       step_of_member(PTO_STEP_WAIT, who, to, from));
}

static bool is_read_before;

/* Member 0 reads member 1's vector before the two meet in a reduction. Member 1 is told at once, or only
 * after it. */
static void build_overlooked(pto_builder_t *builder, const pto_request_t *request) {
    int in = build_blocks(builder, "in", PTO_ROLE_IN, 1, 0);
    int out = build_blocks(builder, "out", PTO_ROLE_OUT, 1, MEMBERS);
    int note = build_blocks(builder, "note", PTO_ROLE_TEMPORARY, 1, 0);
    pto_exchange_t who = owners_with(builder, out, out);
    build_copy(builder, "place input", &who, 0, pto_slice_all(builder, in), pto_slice_all(builder, out));
    build_flag(builder, "ready", &who, 1, 0);
    pto_slice_t theirs = pto_slice_all(builder, out);
    theirs.holder = PTO_HOLDER_PEER;
    add_copy_stage(builder, "read", step_of_member(PTO_STEP_COPY, &who, 0, 1), theirs,
                   pto_slice_all(builder, note));
    if (is_read_before)
        build_flag(builder, "read", &who, 0, 1);
    pto_build_exchange(builder, request, &who);
    if (!is_read_before)
        build_flag(builder, "read", &who, 0, 1);
}

TEST(a_reduction_in_place_writes_all_vectors) {
    is_read_before = true;
    assert_right(plan_by(PTO_COLLECTIVE_REDUCE, build_overlooked, NULL));
    is_read_before = false;
    refused_for(plan_by(PTO_COLLECTIVE_REDUCE, build_overlooked, NULL),
                "writes bytes 0..127 of 'out' of rank 1, unordered with rank 0's read");
}

/* --- outputs that the call does not write --------------------------------------------------------------- */

static int64_t scribbles_from; /* the first member whose stages write its output */

static void build_scribbles(pto_builder_t *builder, const pto_exchange_t *who) {
    build_copy(builder, "scribble", who, scribbles_from, pto_slice_all(builder, who->in),
               pto_slice_block(who->out, PTO_ANCHOR_ABSOLUTE));
    algorithm_named("linear", PTO_COLLECTIVE_GATHER)->build(builder, who);
}

/* Those that get nothing keep a note where they would get it. */
static void build_gather(pto_builder_t *builder, const pto_request_t *request) {
    int in = build_blocks(builder, "in", PTO_ROLE_IN, 1, 0);
    int out = build_blocks(builder, "out", PTO_ROLE_OUT, MEMBERS, MEMBERS);
    int note = build_blocks(builder, "note", PTO_ROLE_TEMPORARY, 1, 0);
    pto_exchange_t who = owners_with(builder, in, out);
    pto_slice_t kept = pto_slice_block(out, PTO_ANCHOR_ABSOLUTE);
    build_copy(builder, "keep", &who, 1, pto_slice_all(builder, in), kept);
    pto_build_exchange(builder, request, &who);
    build_copy(builder, "note", &who, 1, kept, pto_slice_all(builder, note));
}

TEST(stages_write_nothing_that_the_call_does_not) {
    static const pto_algorithm_t algorithm = {
        .name = "scribbles", .collectives = 1u << PTO_COLLECTIVE_GATHER, .build = build_scribbles};
    scribbles_from = MEMBERS; /* none does */
    assert_right(plan_by(PTO_COLLECTIVE_GATHER, build_gather, &algorithm));
    scribbles_from = MEMBERS - 1;
    refused_for(plan_by(PTO_COLLECTIVE_GATHER, build_gather, &algorithm),
                "rank 3, the end of the collective: a collective's stages write 128 bytes of 'out', of which "
                "the call writes 0");
}
