/* Which buffers can use the line format: only where lines imply the same order as a plan's flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inside_plan.h"
#include "portolan/builder.h"
#include "portolan/lines.h"

enum { BYTES_MAX = 4096 };

static const pto_layout_t four = {1, 4, 1, 1, 4, false}, two_each = {1, 2, 1, 2, 2, false};

static pto_plan_t *made_for(pto_collective_t collective, const char *strategy, pto_layout_t layout,
                            int64_t bytes) {
    pto_request_t request = ask(collective, strategy, layout);
    pto_plan_t *plan = NULL;
    request.bytes = bytes;
    assert_int_equal(pto_plan_create(&request, &plan, NULL), PTO_OK);
    return plan;
}

/* What all ranks together say; destroys the plan. */
static int lines_of(pto_plan_t *plan) {
    int lines = pto_plan_lines(plan, BYTES_MAX);
    pto_plan_destroy(plan);
    return lines;
}

static void stores_from_all_to_all_can_be_lines(void **state) {
    (void)state;
    static const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLTOALL,
                                                  PTO_COLLECTIVE_ALLTOALLV, PTO_COLLECTIVE_ALLGATHER};
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
    pto_plan_t *plan = NULL;
    request.bytes = 0;
    request.counts = &counts;
    assert_int_equal(pto_plan_create(&request, &plan, NULL), PTO_OK);
    return plan;
}

static void blocks_of_different_sizes_can_be_lines(void **state) {
    (void)state;
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
static void flags_stay_where_a_pair_sends_in_one_direction(void **state) {
    (void)state;
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
static void several_blocks_of_different_sizes_at_once_are_rejected(void **state) {
    (void)state;
    static const int64_t bytes[] = {9, 1, 2, 3, 4, 9, 5, 6, 7, 8, 9, 10, 11, 12, 13, 9};
    pto_plan_t *plan = made_of_pairs(bytes);
    pto_step_t *out = step_in(plan, "copy out", PTO_STEP_COPY);
    out->peers = (pto_peers_t){0};
    out->source.anchor = out->target.anchor = PTO_ANCHOR_ABSOLUTE;
    out->source.run = out->target.run = out->source.until = out->target.until = pto_constant(4);
    assert_int_equal(lines_of(plan), PTO_LINES_NONE);
}

static void processes_without_a_part_do_not_matter(void **state) {
    (void)state;
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", two_each, 64);
    int gathered = buffer_named(plan, "gathered");
    assert_int_equal(pto_lines(plan, 1, BYTES_MAX), PTO_LINES_ANY);
    assert_int_equal(lines_of(plan), gathered);
}

static void any_size_up_to_a_limit_can_be_lines(void **state) {
    (void)state;
    static const int64_t bytes[] = {4, 12, 1004, BYTES_MAX};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        assert_int_not_equal(lines_of(made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, bytes[i])),
                             PTO_LINES_NONE);
    assert_int_equal(lines_of(made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, BYTES_MAX + 4)),
                     PTO_LINES_NONE);
}

/* Which copy of it a kernel loads from depends on the run's number. */
static void other_double_buffered_memory_is_rejected(void **state) {
    (void)state;
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, 1000);
    pto_buffer_t *buffer = plan->buffers.item;
    for (int i = 0; i < plan->buffers.count; i++)
        if (buffer[i].role == PTO_ROLE_IN)
            buffer[i].double_buffered = true;
    assert_int_equal(lines_of(plan), PTO_LINES_NONE);
}

/* A copy of the first half of a block. */
static void pieces_of_blocks_are_rejected(void **state) {
    (void)state;
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
static void a_rank_that_does_not_mind_must_use_whole_blocks_too(void **state) {
    (void)state;
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
static void flags_that_order_more_than_lines_stay(void **state) {
    (void)state;
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
        pto_plan_t *plan = NULL;
        assert_int_equal(pto_strategy_find(plans[i].strategy, &request.strategy, NULL), PTO_OK);
        const char *algorithm = request.strategy->nccl     ? "nccl"
                                : request.strategy->direct ? "direct"
                                                           : "ring";
        assert_int_equal(pto_algorithm_find(algorithm, plans[i].collective, &request.algorithm, NULL),
                         PTO_OK);
        assert_int_equal(pto_plan_create(&request, &plan, NULL), PTO_OK);
        if (lines_of(plan) != PTO_LINES_NONE)
            fail_msg("%s by %s", pto_collective_name(plans[i].collective), plans[i].strategy);
    }
}

/* With one copy for all runs a second flag would have to say that it is free. */
static void single_buffers_are_rejected(void **state) {
    (void)state;
    pto_plan_t *plan = made_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four, 1000);
    pto_buffer_t *buffer = plan->buffers.item;
    buffer[buffer_named(plan, "gathered")].double_buffered = false;
    assert_int_equal(lines_of(plan), PTO_LINES_NONE);
}

/* Whoever signals others than it stores to, or waits for others, is refused. */
static void stores_and_flags_of_different_peers_are_refused(void **state) {
    (void)state;
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
static void stores_after_a_wait_are_refused(void **state) {
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_from_all_to_all_can_be_lines),
        cmocka_unit_test(blocks_of_different_sizes_can_be_lines),
        cmocka_unit_test(flags_stay_where_a_pair_sends_in_one_direction),
        cmocka_unit_test(several_blocks_of_different_sizes_at_once_are_rejected),
        cmocka_unit_test(processes_without_a_part_do_not_matter),
        cmocka_unit_test(any_size_up_to_a_limit_can_be_lines),
        cmocka_unit_test(other_double_buffered_memory_is_rejected),
        cmocka_unit_test(pieces_of_blocks_are_rejected),
        cmocka_unit_test(a_rank_that_does_not_mind_must_use_whole_blocks_too),
        cmocka_unit_test(flags_that_order_more_than_lines_stay),
        cmocka_unit_test(single_buffers_are_rejected),
        cmocka_unit_test(stores_and_flags_of_different_peers_are_refused),
        cmocka_unit_test(stores_after_a_wait_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
