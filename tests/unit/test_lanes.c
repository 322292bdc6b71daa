/* Lanes: parallel branches and pipelines in plans. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lanes_plan.h"
#include "portolan/check.h"
#include "portolan/price.h"
#include "portolan/print.h"
#include "portolan/simulate.h"

/* --- plans ---------------------------------------------------------------------------------------------- */

static void a_walk_takes_a_pipeline_chunk_by_chunk(void **state) {
    (void)state;
    pto_plan_t *plan = pipeline_plan(2, 4, 64);
    assert_int_equal(pto_plan_lane_count(plan), 3);
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    for (int64_t i = 0; i < 12; i++) {
        assert_true(pto_walk_next(&walk));
        assert_int_equal(walk.instance, i);
        assert_int_equal(walk.k, i / 3);
        assert_int_equal(walk.lane, i % 3);
        pto_walk_after_t after = pto_walk_after(&walk);
        assert_int_equal(after.fork, 0);
        assert_int_equal(after.lane, i >= 3 ? i - 3 : -1);
        assert_int_equal(after.chunk, i % 3 > 0 ? i - 1 : -1);
        assert_int_equal(after.slot, i % 3 == 0 && i >= 6 ? i - 4 : -1);
    }
    assert_false(pto_walk_next(&walk));
    pto_plan_destroy(plan);
}

static void a_walk_takes_branch_after_branch(void **state) {
    (void)state;
    pto_plan_t *plan = plan_of(build_branches, PTO_COLLECTIVE_BROADCAST, 1, 64);
    static const struct {
        const char *stage;
        int lane;
        int64_t fork, after;
    } wanted[] = {
        {"own", 0, 0, -1}, {"copy to host", 0, 1, -1}, {"copy to device", 0, 1, 1}, {"push", 1, 1, -1}};
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(pto_walk_next(&walk));
        assert_string_equal(walk.stage->name, wanted[i].stage);
        assert_int_equal(walk.lane, wanted[i].lane);
        pto_walk_after_t after = pto_walk_after(&walk);
        assert_int_equal(after.fork, wanted[i].fork);
        assert_int_equal(after.lane, wanted[i].after);
    }
    assert_false(pto_walk_next(&walk));
    pto_plan_destroy(plan);
}

static void the_depth_of_a_pipeline_is_in_the_digest(void **state) {
    (void)state;
    pto_plan_t *two = pipeline_plan(2, 4, 64), *four = pipeline_plan(4, 4, 64);
    assert_true(pto_plan_digest(two) != pto_plan_digest(four));
    pto_plan_destroy(two);
    pto_plan_destroy(four);
}

static void a_plan_with_lanes_is_printed(void **state) {
    (void)state;
    pto_plan_t *plan = pipeline_plan(2, 4, 64);
    char *text;
    assert_int_equal(pto_print(plan, 0, false, &text, NULL), PTO_OK);
    assert_non_null(strstr(text,
                           "  for k = 0 .. 3, pipelined: each stage is a lane, at most 2 chunks at once\n"
                           "    copy to host\n"));
    free(text);
    pto_plan_destroy(plan);
    plan = plan_of(build_branches, PTO_COLLECTIVE_BROADCAST, 1, 64);
    assert_int_equal(pto_print(plan, 0, true, &text, NULL), PTO_OK);
    assert_non_null(strstr(text, "  in parallel\n    lane 0\n      copy to host\n"));
    assert_non_null(strstr(text, "    lane 1\n      push\n"));
    free(text);
    pto_plan_destroy(plan);
}

/* --- structure -------------------------------------------------------------------------------------------
 */

static void build_loop_in_pipeline(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_build_pipeline(builder, 0, 2, 1);
    pto_build_loop(builder, 0, 2, false);
    pto_build_end(builder);
    pto_build_end(builder);
}

static void build_pipeline_without_depth(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_build_pipeline(builder, 0, 2, 0);
    pto_build_end(builder);
}

static void build_branch_alone(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_build_branch(builder);
    pto_build_end(builder);
}

static void build_kernel_in_branch(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_exchange_t owners = test_owners(builder, request);
    pto_build_parallel(builder);
    pto_build_branch(builder);
    pto_build_kernel(builder, &owners);
    pto_build_end(builder);
    pto_build_end(builder);
    pto_build_end(builder);
}

static void build_many_branches(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_build_parallel(builder);
    for (int i = 0; i <= PTO_LANES_MAX; i++) {
        pto_build_branch(builder);
        pto_build_end(builder);
    }
    pto_build_end(builder);
}

static void a_node_in_the_wrong_place_is_refused(void **state) {
    (void)state;
    static const struct {
        void (*build)(pto_builder_t *, const pto_request_t *);
        const char *message;
    } cases[] = {{build_loop_in_pipeline, "a pipeline contains a loop"},
                 {build_pipeline_without_depth, "a pipeline has depth 0; it must be 1 or more"},
                 {build_branch_alone, "a plan contains a branch"},
                 {build_kernel_in_branch, "a branch contains a kernel"},
                 {build_many_branches, "a parallel node has 17 lanes; the maximum is 16"}};
    shape.slots = shape.chunks = 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_plan_t *plan = NULL;
        pto_error_t err = {0};
        assert_int_equal(try_plan(cases[i].build, PTO_COLLECTIVE_MESSAGES, 2, 64, &plan, &err),
                         PTO_ERR_INVALID_PLAN);
        assert_string_equal(err.message, cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_takes_a_pipeline_chunk_by_chunk),
        cmocka_unit_test(a_walk_takes_branch_after_branch),
        cmocka_unit_test(the_depth_of_a_pipeline_is_in_the_digest),
        cmocka_unit_test(a_plan_with_lanes_is_printed),
        cmocka_unit_test(a_node_in_the_wrong_place_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
