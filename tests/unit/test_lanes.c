/* Lanes: parallel branches and pipelines in plans. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lanes_plan.h"
#include "machine/machine_internal.h"
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
    } wanted[] = {{"ready", 0, 0, -1},
                  {"copy to host", 0, 1, -1},
                  {"take", 0, 1, 1},
                  {"push", 1, 1, -1},
                  {"take", 1, 1, 3}};
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

/* --- rings ------------------------------------------------------------------------------------------------
 */

static const char ring_machine[] =
    "machine: ring\n"
    "source: made up\n"
    "node: {sockets: 1, gpus: 2, cores: 2}\n"
    "messages:\n"
    "  cpu:\n"
    "    on_socket: [{protocol: eager, alpha_s: 5e-7, beta_s_per_byte: 1e-10}]\n"
    "    off_node: [{protocol: eager, alpha_s: 2e-6, beta_s_per_byte: 4e-11}]\n"
    "copies:\n"
    "  h2d: {on_socket: {alpha_s: 6e-6, beta_s_per_byte: 2e-11}}\n"
    "  d2h: {on_socket: {alpha_s: 6e-6, beta_s_per_byte: 2e-11}}\n"
    "signals: {flag_s: 1e-7}\n";

static pto_machine_t machine;

static int read_machine(void **state) {
    (void)state;
    pto_error_t err;
    return pto_machine_parse(ring_machine, strlen(ring_machine), "ring.yaml", &machine, &err) == PTO_OK ? 0
                                                                                                        : -1;
}

static int free_machine(void **state) {
    (void)state;
    pto_machine_fini(&machine);
    return 0;
}

enum { RING_BYTES = 16 << 20 };

static void assert_within(double got, double wanted, double fraction) {
    if (fabs(got - wanted) > fraction * wanted)
        fail_msg("%.9g us, not %.9g us", got * 1e6, wanted * 1e6);
}

/* The price by class, rank by rank and simulated; they agree within 1 percent. */
static double price_in_all_ways(const pto_plan_t *plan) {
    pto_price_t price, walked;
    pto_simulation_t simulation;
    pto_error_t err = {0};
    if (pto_price(plan, &machine, &price, NULL, &err) != PTO_OK ||
        pto_price_walk(plan, &machine, &walked, NULL, &err) != PTO_OK ||
        pto_simulate(plan, &machine, NULL, &simulation, &err) != PTO_OK)
        fail_msg("%s", err.message);
    assert_within(price.seconds, simulation.seconds, 0.01);
    assert_within(walked.seconds, simulation.seconds, 0.01);
    return simulation.seconds;
}

static void a_ring_costs_what_it_takes(void **state) {
    (void)state;
    static const int64_t slots[] = {1, 2, 4, 8, 16}, chunks[] = {1, 16, 61, 64};
    for (size_t s = 0; s < sizeof slots / sizeof *slots; s++)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            int64_t bytes = RING_BYTES / chunks[c] * chunks[c];
            pto_plan_t *plan = ring_plan(slots[s], chunks[c], bytes);
            double copy_s = 6e-6 + 2e-11 * (double)(bytes / chunks[c]);
            double c_s = (double)chunks[c] * copy_s;
            double seconds = price_in_all_ways(plan);
            assert_within(seconds, slots[s] == 1 ? 2 * c_s : copy_s + c_s, 0.015);
            pto_plan_destroy(plan);
        }
}

/* The two sides of a ring differ: the slower one decides, after the other has filled the ring. */
static void a_ring_costs_what_its_slower_side_takes(void **state) {
    (void)state;
    static const int64_t slots[] = {1, 2, 3, 8};
    pto_param_t *beta = &machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET].beta_s_per_byte;
    const double before = beta->value;
    for (double factor = 0.1; factor < 8; factor *= 1.7)
        for (size_t s = 0; s < sizeof slots / sizeof *slots; s++) {
            pto_plan_t *plan = ring_plan(slots[s], 512, RING_BYTES);
            beta->value = factor * before;
            price_in_all_ways(plan);
            pto_plan_destroy(plan);
        }
    beta->value = before;
}

/* Both copies of a slot are in the queue of one GPU, which the closed sum over the rounds moves on, too. */
static void a_ring_inside_a_gpu_has_a_closed_sum(void **state) {
    (void)state;
    pto_cost_row_t row = {.procs = 2, .below_bytes = INT64_MAX};
    row.postal = machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    row.postal.beta_s_per_byte.value *= 1.7;
    machine.shared_copies[PTO_COPY_H2D] = machine.shared_copies[PTO_COPY_D2H] =
        (pto_cost_table_t){.count = 1, .row = &row};
    shape.one_gpu = true;
    for (int64_t slots = 1; slots <= 4; slots++) {
        pto_plan_t *plan = ring_plan(slots, 256, RING_BYTES);
        pto_price_t price, walked;
        assert_int_equal(pto_price(plan, &machine, &price, NULL, NULL), PTO_OK);
        assert_int_equal(pto_price_walk(plan, &machine, &walked, NULL, NULL), PTO_OK);
        assert_within(price.seconds, walked.seconds, 1e-9);
        pto_plan_destroy(plan);
    }
    shape.one_gpu = false;
    machine.shared_copies[PTO_COPY_H2D] = machine.shared_copies[PTO_COPY_D2H] = (pto_cost_table_t){0};
}

static void the_explanation_of_a_ring_sums_to_its_price(void **state) {
    (void)state;
    pto_plan_t *plan = ring_plan(4, 512, RING_BYTES);
    pto_price_t price;
    pto_explanation_t explanation = {0};
    assert_int_equal(pto_price(plan, &machine, &price, &explanation, NULL), PTO_OK);
    double sum = 0;
    for (int i = 0; i < explanation.count; i++) {
        assert_true(explanation.term[i].count >= 0);
        sum += explanation.term[i].seconds;
    }
    assert_within(sum, price.seconds, 1e-9);
    pto_explanation_fini(&explanation);
    pto_plan_destroy(plan);
}

static void assert_proved(pto_plan_t *plan) {
    pto_check_report_t report;
    pto_error_t err = {0};
    if (pto_check(plan, &report, &err) != PTO_OK)
        fail_msg("%s", err.message);
    pto_plan_destroy(plan);
}

static void a_ring_is_proved(void **state) {
    (void)state;
    static const int64_t slots[] = {1, 2, 4, 8, 16}, chunks[] = {1, 16, 64};
    for (size_t s = 0; s < sizeof slots / sizeof *slots; s++)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
            assert_proved(ring_plan(slots[s], chunks[c], 6400));
}

static void refused(pto_plan_t *plan, const char *words) {
    pto_check_report_t report;
    pto_error_t err = {0};
    assert_int_equal(pto_check(plan, &report, &err), PTO_ERR_INVALID_PLAN);
    if (!strstr(err.message, words))
        fail_msg("'%s' does not say '%s'", err.message, words);
    pto_plan_destroy(plan);
}

static void a_ring_without_credits_is_refused(void **state) {
    (void)state;
    shape.no_credits = true;
    refused(ring_plan(4, 16, 6400), "writes bytes 0..399 of 'ring' of rank 1, unordered with rank 1's read");
    shape.no_credits = false;
}

/* --- pipelines --------------------------------------------------------------------------------------------
 */

static double longest(const double *stage_s, int count) {
    double longest_s = 0;
    for (int i = 0; i < count; i++)
        longest_s = fmax(longest_s, stage_s[i]);
    return longest_s;
}

/* c chunks through stages t_i: sum t_i + (c - 1) max t_i. */
static void a_pipeline_costs_its_closed_formula(void **state) {
    (void)state;
    static const int64_t chunks[] = {1, 2, 8, 64}, slots[] = {3, 4, 64};
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
        for (size_t d = 0; d < sizeof slots / sizeof *slots; d++) {
            double bytes = (double)RING_BYTES / (double)chunks[c];
            double copy_s = 6e-6 + 2e-11 * bytes, send_s = 2e-6 + 4e-11 * bytes;
            double stage_s[] = {copy_s, send_s, copy_s};
            double wanted_s = 2 * copy_s + send_s + (double)(chunks[c] - 1) * longest(stage_s, 3);
            pto_plan_t *plan = pipeline_plan(slots[d], chunks[c], RING_BYTES);
            assert_within(price_in_all_ways(plan), wanted_s, 0.01);
            pto_plan_destroy(plan);
        }
}

/* With fewer slots than stages, chunks wait for slots. */
static void a_pipeline_of_one_slot_does_not_overlap(void **state) {
    (void)state;
    double bytes = RING_BYTES / 8.0;
    double whole_s = 8 * (2 * (6e-6 + 2e-11 * bytes) + 2e-6 + 4e-11 * bytes);
    pto_plan_t *one = pipeline_plan(1, 8, RING_BYTES);
    assert_within(price_in_all_ways(one), whole_s, 0.01);
    pto_plan_destroy(one);
}

/* The message of 16 MiB in chunks of 2 MiB between two of Summit's nodes. */
static void summits_message_takes_what_its_closed_formula_says(void **state) {
    (void)state;
    pto_machine_t summit, before = machine;
    pto_error_t err;
    assert_int_equal(pto_machine_read("scenarios/machines/summit-spectrum.yaml", &summit, &err), PTO_OK);
    machine = summit;
    pto_plan_t *chunked = pipeline_plan(8, 8, RING_BYTES), *whole = pipeline_plan(1, 1, RING_BYTES);
    assert_within(price_in_all_ways(chunked), 1601e-6, 0.01);
    assert_within(price_in_all_ways(whole), 2251e-6, 0.01);
    pto_plan_destroy(chunked);
    pto_plan_destroy(whole);
    machine = before;
    pto_machine_fini(&summit);
}

static void a_pipeline_is_proved(void **state) {
    (void)state;
    static const int64_t slots[] = {1, 2, 3, 8}, chunks[] = {1, 2, 3, 16};
    for (size_t d = 0; d < sizeof slots / sizeof *slots; d++)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
            assert_proved(pipeline_plan(slots[d], chunks[c], 4800));
}

static void a_slot_that_is_used_again_too_early_is_refused(void **state) {
    (void)state;
    shape.one_slot_less = true;
    refused(
        pipeline_plan(3, 16, 6400),
        "stage 'copy to host', k=2: lane 0 writes bytes 0..399 of 'host in' of rank 0, unordered with the "
        "read of stage 'exchange' in lane 1 of the same rank");
    shape.one_slot_less = false;
}

/* --- branches ---------------------------------------------------------------------------------------------
 */

/* Branches cost the longer of both if they use different things, and the sum if they use the same. */
static void branches_overlap_where_they_use_different_things(void **state) {
    (void)state;
    const double bytes = RING_BYTES, copy_s = 6e-6 + 2e-11 * bytes, send_s = 2e-6 + 4e-11 * bytes;
    static const pto_copy_kind_t out = PTO_COPY_D2H, in = PTO_COPY_H2D, message = PTO_COPY_H2H;
    const struct {
        pto_copy_kind_t kind[2];
        double wanted_s;
    } cases[] = {{{out, in}, copy_s},
                 {{out, out}, 2 * copy_s},
                 {{in, in}, 2 * copy_s},
                 {{out, message}, fmax(copy_s, send_s)},
                 {{message, message}, 2 * send_s}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(shape.kind, cases[i].kind, sizeof shape.kind);
        pto_plan_t *plan = plan_of(build_pair, PTO_COLLECTIVE_MESSAGES, 2, RING_BYTES);
        assert_within(price_in_all_ways(plan), cases[i].wanted_s, 0.01);
        pto_plan_destroy(plan);
    }
}

static void a_broadcast_in_two_branches_takes_the_longer_one(void **state) {
    (void)state;
    const double half = RING_BYTES / 2.0, staged_s = 2 * (6e-6 + 2e-11 * half);
    pto_postal_t *peer = &machine.peer[PTO_REACH_ON_SOCKET];
    pto_plan_t *plan = plan_of(build_branches, PTO_COLLECTIVE_BROADCAST, 1, RING_BYTES);
    peer->alpha_s = (pto_param_t){.value = 5e-6, .line = 1};
    for (double beta = 1e-11; beta < 1e-10; beta *= 2) {
        peer->beta_s_per_byte = (pto_param_t){.value = beta, .line = 1};
        assert_within(price_in_all_ways(plan), fmax(staged_s, 5e-6 + beta * half), 0.01);
    }
    pto_plan_destroy(plan);
}

static pto_plan_t *branches_plan(void) { return plan_of(build_branches, PTO_COLLECTIVE_BROADCAST, 1, 6400); }

static void branches_are_proved(void **state) {
    (void)state;
    assert_proved(branches_plan());
}

static void a_branch_that_races_another_is_refused(void **state) {
    (void)state;
    shape.steals = true;
    refused(branches_plan(),
            "rank 0, stage 'push': lane 1 reads bytes 0..3199 of 'host' of rank 1, unordered "
            "with the write of stage 'copy to host' in lane 0 of the same rank");
    shape.steals = false;
}

static void a_flag_of_two_lanes_is_refused(void **state) {
    (void)state;
    shape.same_flag = true;
    refused(branches_plan(),
            "flag 'ready' is raised in lane 0 (stage 'copy to host') and in lane 1 (stage 'push')");
    shape.same_flag = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_takes_a_pipeline_chunk_by_chunk),
        cmocka_unit_test(a_walk_takes_branch_after_branch),
        cmocka_unit_test(the_depth_of_a_pipeline_is_in_the_digest),
        cmocka_unit_test(a_plan_with_lanes_is_printed),
        cmocka_unit_test(a_node_in_the_wrong_place_is_refused),
        cmocka_unit_test(a_ring_costs_what_it_takes),
        cmocka_unit_test(a_ring_costs_what_its_slower_side_takes),
        cmocka_unit_test(a_ring_inside_a_gpu_has_a_closed_sum),
        cmocka_unit_test(the_explanation_of_a_ring_sums_to_its_price),
        cmocka_unit_test(a_ring_is_proved),
        cmocka_unit_test(a_ring_without_credits_is_refused),
        cmocka_unit_test(a_pipeline_costs_its_closed_formula),
        cmocka_unit_test(a_pipeline_of_one_slot_does_not_overlap),
        cmocka_unit_test(branches_overlap_where_they_use_different_things),
        cmocka_unit_test(a_broadcast_in_two_branches_takes_the_longer_one),
        cmocka_unit_test(a_pipeline_is_proved),
        cmocka_unit_test(a_slot_that_is_used_again_too_early_is_refused),
        cmocka_unit_test(branches_are_proved),
        cmocka_unit_test(a_branch_that_races_another_is_refused),
        cmocka_unit_test(a_flag_of_two_lanes_is_refused),
        cmocka_unit_test(summits_message_takes_what_its_closed_formula_says),
    };
    return cmocka_run_group_tests(tests, read_machine, free_machine);
}
