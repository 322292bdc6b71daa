/* Which buffers can use the line format: only where lines imply the same order as a plan's flags. */
#include "built.h"
#include "inside_plan.h"
#include "must.h"
#include "portolan/lines.h"
#include "portolan/strategy.h"
#include "test.h"

enum { BYTES_MAX = 4096 };

static const pto_layout_t four = {1, 4, 1, 1, 4, false}, two_each = {1, 2, 1, 2, 2, false};

static pto_plan_t *made_for(pto_collective_t collective, const char *strategy, pto_layout_t layout,
                            int64_t bytes) {
    pto_request_t request = ask(collective, strategy, layout);
    request.bytes = bytes;
    return must_plan(&request);
}

/* What all ranks together say. */
static int lines_of(const pto_plan_t *plan) { return pto_plan_lines(plan, BYTES_MAX); }

TEST(stores_from_all_to_all_can_be_lines) {
    static const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLTOALL,
                                                  PTO_COLLECTIVE_ALLTOALLV, PTO_COLLECTIVE_ALLGATHER,
                                                  PTO_COLLECTIVE_REDUCE,    PTO_COLLECTIVE_BROADCAST};
    for (size_t i = 0; i < sizeof collective / sizeof *collective; i++) {
        pto_plan_t *plan = made_for(collective[i], "gas_allgather", four, 1000);
        int gathered = buffer_named(plan, "gathered");
        assert_int_equal(lines_of(plan), gathered);
        assert_int_equal(lines_of(made_for(collective[i], "gas_allgather", four, BYTES_MAX)), gathered);
    }
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_REDUCE_SCATTER, "gas_split", four, 1000);
    int gathered = buffer_named(plan, "gathered");
    assert_int_equal(lines_of(plan), gathered);
}

/* Of an alltoallv of four with this table. A plan borrows its counts, so there is one at a time. */
static pto_plan_t *made_of_pairs(const int64_t *bytes) {
    static pto_counts_t counts;
    counts = (pto_counts_t){.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = (int64_t *)bytes};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, "gas_allgather", four);
    request.bytes = 0;
    request.counts = &counts;
    return must_plan(&request);
}

TEST(blocks_of_different_sizes_can_be_lines) {
    static const int64_t all[] = {0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 10, 11, 12, 13, BYTES_MAX},
                         some[] = {0, 1, 0, 3, 4, 0, 5, 0, 0, 8, 9, 0, 11, 0, 0, 99},
                         large[] = {0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 10, 11, BYTES_MAX + 1, 13, 14};
    pto_plan_t *plan = made_of_pairs(all);
    int gathered = buffer_named(plan, "gathered");
    assert_int_equal(lines_of(plan), gathered);
    assert_int_equal(lines_of(made_of_pairs(some)), gathered);
    assert_int_equal(lines_of(made_of_pairs(large)), PTO_LINES_NONE);
}

/* The first would overwrite what the other still reads, without lines from there that tell otherwise. */
TEST(flags_stay_where_a_pair_sends_in_one_direction) {
    for (int64_t i = 0; i < 16; i++) {
        int64_t bytes[16];
        for (int64_t j = 0; j < 16; j++)
            bytes[j] = j == i ? 0 : 8 * j + 8;
        pto_plan_t *plan = made_of_pairs(bytes);
        int gathered = buffer_named(plan, "gathered"), own = i / 4 == i % 4;
        assert_int_equal(lines_of(plan), own ? gathered : PTO_LINES_NONE);
    }
}

/* Their lines are not told apart. */
TEST(several_blocks_of_different_sizes_at_once_are_rejected) {
    static const int64_t bytes[] = {9, 1, 2, 3, 4, 9, 5, 6, 7, 8, 9, 10, 11, 12, 13, 9};
    pto_plan_t *plan = made_of_pairs(bytes);
    pto_step_t *out = step_in(plan, "copy out", PTO_STEP_COPY);
    out->peers = (pto_peers_t){0};
    out->source.anchor = out->target.anchor = PTO_ANCHOR_ABSOLUTE;
    out->source.run = out->target.run = out->source.until = out->target.until = pto_constant(4);
    assert_int_equal(lines_of(plan), PTO_LINES_NONE);
}

TEST(processes_without_a_part_do_not_matter) {
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", two_each, 64);
    int gathered = buffer_named(plan, "gathered");
    assert_int_equal(pto_lines(plan, 1, BYTES_MAX), PTO_LINES_ANY);
    assert_int_equal(lines_of(plan), gathered);
}

TEST(any_size_up_to_a_limit_can_be_lines) {
    static const int64_t bytes[] = {4, 12, 1004, BYTES_MAX};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        assert_int_not_equal(lines_of(made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, bytes[i])),
                             PTO_LINES_NONE);
    assert_int_equal(lines_of(made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, BYTES_MAX + 4)),
                     PTO_LINES_NONE);
}

/* Which copy of it a kernel loads from depends on the run's number. */
TEST(other_double_buffered_memory_is_rejected) {
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, 1000);
    pto_buffer_t *buffer = plan->buffers.item;
    for (int i = 0; i < plan->buffers.count; i++)
        if (buffer[i].role == PTO_ROLE_IN)
            buffer[i].double_buffered = true;
    assert_int_equal(lines_of(plan), PTO_LINES_NONE);
}

/* A copy of the first half of a block. */
TEST(pieces_of_blocks_are_rejected) {
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, 1000);
    int gathered = buffer_named(plan, "gathered"), changed = 0;
    for (int s = 0; s < plan->steps.count; s++) {
        pto_step_t *step = (pto_step_t *)plan->steps.item + s;
        if (step->kind != PTO_STEP_COPY || step->target.buffer != gathered)
            continue;
        step->source.parts = step->target.parts = 2;
        changed++;
    }
    assert_true(changed > 0);
    assert_int_equal(lines_of(plan), PTO_LINES_NONE);
}

/* Without stores to others, a rank leaves the choice to them, but not if it uses a buffer in pieces itself.
 */
TEST(a_rank_that_does_not_mind_must_use_whole_blocks_too) {
    for (int parts = 0; parts <= 2; parts += 2) {
        pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, 1000);
        int gathered = buffer_named(plan, "gathered"), own = 0;
        for (int s = 0; s < plan->steps.count; s++) {
            pto_step_t *step = (pto_step_t *)plan->steps.item + s;
            if (step->peers.kind != PTO_PEERS_NONE) {
                step->core_count = 0;
            } else if (step->kind == PTO_STEP_COPY && step->target.buffer == gathered) {
                step->source.parts = step->target.parts = parts;
                own++;
            }
        }
        assert_int_equal(own, 1);
        assert_int_equal(pto_lines(plan, 1, BYTES_MAX), parts == 0 ? PTO_LINES_ANY : PTO_LINES_NONE);
        assert_int_equal(lines_of(plan), PTO_LINES_NONE); /* no rank needs one */
    }
}

/* Flags of these say more: that a buffer is free, that a process has begun or that a result is there. */
TEST(flags_that_order_more_than_lines_stay) {
    static const struct {
        pto_collective_t collective;
        const char *strategy;
    } plans[] = {{PTO_COLLECTIVE_ALLREDUCE, "gas_read"},   {PTO_COLLECTIVE_ALLREDUCE, "gas_gather"},
                 {PTO_COLLECTIVE_ALLREDUCE, "gas_split"},  {PTO_COLLECTIVE_REDUCE, "gas_read"},
                 {PTO_COLLECTIVE_REDUCE, "gas_gather"},    {PTO_COLLECTIVE_REDUCE, "gas_split"},
                 {PTO_COLLECTIVE_ALLTOALL, "gas_read"},    {PTO_COLLECTIVE_ALLTOALL, "gas_split"},
                 {PTO_COLLECTIVE_ALLTOALLV, "gas_read"},   {PTO_COLLECTIVE_ALLTOALLV, "gas_split"},
                 {PTO_COLLECTIVE_ALLREDUCE, "gsb"},        {PTO_COLLECTIVE_ALLREDUCE, "btb"},
                 {PTO_COLLECTIVE_ALLREDUCE, "cuda_aware"}, {PTO_COLLECTIVE_ALLREDUCE, "nccl"}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        pto_request_t request = ask(plans[i].collective, "gas_read", four);
        assert_int_equal(pto_strategy_find(plans[i].strategy, &request.strategy, NULL), PTO_OK);
        const char *algorithm = request.strategy->nccl     ? "nccl"
                                : request.strategy->direct ? "direct"
                                                           : "ring";
        assert_int_equal(pto_algorithm_find(algorithm, plans[i].collective, &request.algorithm, NULL),
                         PTO_OK);
        pto_plan_t *plan = must_plan(&request);
        if (lines_of(plan) != PTO_LINES_NONE)
            fail_msg("%s by %s", pto_collective_name(plans[i].collective), plans[i].strategy);
    }
}

/* With one copy for all runs a second flag would have to say that it is free. */
TEST(single_buffers_are_rejected) {
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, 1000);
    pto_buffer_t *buffer = plan->buffers.item;
    buffer[buffer_named(plan, "gathered")].double_buffered = false;
    assert_int_equal(lines_of(plan), PTO_LINES_NONE);
}

/* Whoever signals others than it stores to, or waits for others, is refused. */
TEST(stores_and_flags_of_different_peers_are_refused) {
    static const pto_step_kind_t kind[] = {PTO_STEP_COPY, PTO_STEP_SIGNAL, PTO_STEP_WAIT};
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, 1000);
        int changed = 0;
        for (int s = 0; s < plan->steps.count; s++) {
            pto_step_t *step = (pto_step_t *)plan->steps.item + s;
            if (step->kind != kind[i] || step->peers.kind == PTO_PEERS_NONE)
                continue;
            step->peers.until = pto_constant(3);
            changed++;
        }
        assert_int_equal(changed, 1);
        assert_int_equal(lines_of(plan), PTO_LINES_NONE);
    }
}

/* Two that did so in turn could wait for each other. */
TEST(stores_after_a_wait_are_refused) {
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, 1000);
    pto_stage_t *stage = plan->stages.item;
    int stores = 0, waits = 0;
    for (int i = 0; i < plan->stages.count; i++) {
        const pto_step_t *first = (const pto_step_t *)plan->steps.item + stage[i].step_first;
        stores = first->kind == PTO_STEP_COPY ? i : stores;
        waits = first->kind == PTO_STEP_WAIT ? i : waits;
    }
    assert_true(0 < stores && stores < waits);
    const pto_stage_t moved = stage[stores];
    stage[stores] = stage[waits];
    stage[waits] = moved;
    assert_int_equal(lines_of(plan), PTO_LINES_NONE);
}

/* --- what is stored twice, or not read ------------------------------------------------------------------ */

typedef enum { STORED_AND_READ, STORED_TWICE, WRITTEN_AFTERWARDS, READ_BY_ROOT } fate_t;
static fate_t fate;

static int build_blocks(pto_builder_t *builder, const char *name, pto_role_t role, int64_t count) {
    pto_buffer_t buffer = owners_floats(name, role, count, pto_builder_request(builder)->bytes);
    buffer.double_buffered = role == PTO_ROLE_TEMPORARY;
    bool is_for_root = pto_builder_request(builder)->collective == PTO_COLLECTIVE_REDUCE;
    buffer.user_stride = is_for_root && role == PTO_ROLE_OUT ? 4 : 0;
    return pto_build_buffer(builder, buffer);
}

static void build_copy(pto_builder_t *builder, pto_step_t copy, pto_slice_t source, pto_slice_t target) {
    copy.source = source;
    copy.target = target;
    pto_build_stage(builder, "copy", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, copy);
}

/* An alltoall by one kernel, as gas_allgather's, and a place more than it needs, for the process after the
 * next one. */
static void build_alltoall(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = owners_exchange(builder, 4);
    int in = build_blocks(builder, "in", PTO_ROLE_IN, 4), out = build_blocks(builder, "out", PTO_ROLE_OUT, 4);
    int gathered = build_blocks(builder, "gathered", PTO_ROLE_TEMPORARY, 5);
    pto_step_t own = pto_step_of(PTO_STEP_COPY, &who), all = pto_step_of_all(PTO_STEP_COPY, &who), next = own;
    pto_slice_t theirs = pto_slice_block(gathered, PTO_ANCHOR_ME);
    pto_slice_t more = pto_slice_block(gathered, PTO_ANCHOR_ABSOLUTE);
    theirs.holder = PTO_HOLDER_PEER;
    more.offset = pto_constant(4);
    next.peers = pto_peers_at(pto_constant(2), 1);
    pto_slice_t their_more = more;
    their_more.holder = PTO_HOLDER_PEER;
    pto_build_kernel(builder, &who);
    if (fate == STORED_TWICE) {
        pto_slice_t other = pto_slice_block(in, PTO_ANCHOR_PEER);
        other.offset = pto_constant(1);
        build_copy(builder, all, other, theirs);
    }
    build_copy(builder, all, pto_slice_block(in, PTO_ANCHOR_PEER), theirs);
    if (fate == WRITTEN_AFTERWARDS)
        build_copy(builder, next, pto_slice_block(in, PTO_ANCHOR_ME), their_more);
    pto_flag_barrier(builder, "stored", &who);
    build_copy(builder, all, pto_slice_block(gathered, PTO_ANCHOR_PEER),
               pto_slice_block(out, PTO_ANCHOR_PEER));
    if (fate == WRITTEN_AFTERWARDS) {
        build_copy(builder, own, pto_slice_block(in, PTO_ANCHOR_ME), more);
        build_copy(builder, own, more, pto_slice_block(out, PTO_ANCHOR_ME));
    } else {
        build_copy(builder, own, pto_slice_block(in, PTO_ANCHOR_ME), pto_slice_block(out, PTO_ANCHOR_ME));
    }
    pto_build_end(builder);
}

/* All store to all, and the root alone reads. */
static void build_reduce(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = owners_exchange(builder, 4);
    int in = build_blocks(builder, "in", PTO_ROLE_IN, 1), out = build_blocks(builder, "out", PTO_ROLE_OUT, 1);
    int gathered = build_blocks(builder, "gathered", PTO_ROLE_TEMPORARY, 4);
    pto_slice_t place = pto_slice_block(gathered, PTO_ANCHOR_ME), theirs = place;
    theirs.holder = PTO_HOLDER_PEER;
    pto_step_t reduce = pto_step_of(PTO_STEP_REDUCE, &who);
    reduce.who_until = pto_constant(fate == READ_BY_ROOT ? 1 : 4);
    reduce.fresh = true;
    reduce.source = pto_slice_all(builder, gathered);
    reduce.target = pto_slice_all(builder, out);
    pto_build_kernel(builder, &who);
    build_copy(builder, pto_step_of(PTO_STEP_COPY, &who), pto_slice_all(builder, in), place);
    build_copy(builder, pto_step_of_all(PTO_STEP_COPY, &who), pto_slice_all(builder, in), theirs);
    pto_flag_barrier(builder, "stored", &who);
    pto_build_stage(builder, "reduce", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, reduce);
    pto_build_end(builder);
}

static void are_lines(pto_collective_t collective, fate_t what, bool wanted) {
    fate = what;
    pto_request_t request = ask(collective, "gas_read", four);
    pto_strategy_t strategy = *request.strategy;
    strategy.build = collective == PTO_COLLECTIVE_REDUCE ? build_reduce : build_alltoall;
    request.strategy = &strategy;
    pto_plan_t *plan = plan_of(request);
    assert_right(plan);
    int gathered = buffer_named(plan, "gathered");
    assert_int_equal(lines_of(plan), wanted ? gathered : PTO_LINES_NONE);
}

/* With flags, these plans are right. Lines say in which run they were stored, and no more. */
TEST(what_is_stored_twice_in_a_run_needs_flags) {
    are_lines(PTO_COLLECTIVE_ALLTOALL, STORED_AND_READ, true);
    are_lines(PTO_COLLECTIVE_ALLTOALL, STORED_TWICE, false);
    are_lines(PTO_COLLECTIVE_ALLTOALL, WRITTEN_AFTERWARDS, false);
}

/* A process that does not read another one's lines could be two runs ahead of it. */
TEST(what_is_stored_and_not_read_needs_flags) {
    are_lines(PTO_COLLECTIVE_REDUCE, STORED_AND_READ, true);
    are_lines(PTO_COLLECTIVE_REDUCE, READ_BY_ROOT, false);
}
