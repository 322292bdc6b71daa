/* Where picks change between the points of a sweep. */
#include "asked.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "test.h"
#include "tool/command.h"

static const char simple_machine[] =
    SIMPLE_MACHINE("simple", "", "memory: {gpu_bytes: 1000000000, host_bytes: 100000000000}\n");

static pto_crossing_t *cross(const asked_t *asked, int64_t *count) {
    pto_crossing_t *crossing = NULL;
    pto_error_t err = {0};
    assert_ok(pto_crossings(&asked->predictions, &crossing, count, &err), &err);
    return keep(crossing, free);
}

TEST(sizes_cross_where_the_lines_do) {
    int64_t count;
    asked_t *asked = ask(simple_machine, ONE_MESSAGE("[1000, 2000, 100000, 500000]"));
    pto_crossing_t *crossing = cross(asked, &count);
    assert_int_equal(count, 1);
    /* 2 + s/1000 = 11 + 3 s/10000 at s = 12857. */
    assert_in_range(crossing[0].at, 12857, 12857 + 12857 / 256 + 1);
    assert_int_equal(crossing[0].winner, 1);
    assert_int_equal(crossing[0].gap, 1);
}

TEST(numbers_of_messages_cross_at_a_whole_number) {
    int64_t count;
    asked_t *asked =
        ask(simple_machine,
            "scenario: many messages\nmachine: m.yaml\ncollective: messages\nmessages: [1, 8, 12, 20]\n"
            "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: 1\n"
            "strategies: [cuda_aware, three_step]\n");
    pto_crossing_t *crossing = cross(asked, &count);
    assert_int_equal(count, 1);
    assert_int_equal(crossing[0].at, 10); /* 2.001 n against 10.0002 + 1.0001 n us */
}

/* 15 sizes and the steps of bisection, each by 4 strategies with the library's algorithm, and one plan of
 * each strategy for its work with each algorithm that the library takes. */
TEST(a_plan_is_made_once_for_each_price) {
    pto_scenario_t scenario;
    pto_machine_t *machine = NULL;
    pto_crossing_t *crossing = NULL;
    int64_t count = 0, before = pto_plans_made;
    assert_int_equal(pto_scenario_read("scenarios/problems/alltoall-summit-measured.yaml", &scenario, NULL),
                     PTO_OK);
    assert_int_equal(pto_scenario_read_machine(&scenario, &machine, NULL), PTO_OK);
    assert_int_equal(pto_scenario_bind(&scenario, machine, NULL), PTO_OK);
    pto_predictions_t predictions = must_predict(&scenario, machine, true);
    assert_int_equal(predictions.point_count * predictions.strategy_count, 60);
    assert_in_range(pto_plans_made - before, 60, 60 + 4 * 3);
    before = pto_plans_made;
    assert_int_equal(pto_crossings(&predictions, &crossing, &count, NULL), PTO_OK);
    assert_true(count > 0);
    assert_in_range(pto_plans_made - before, 1, 4 * 11 * count);
    free(crossing);
    pto_machine_destroy(machine);
    pto_scenario_fini(&scenario);
}

/* A prediction makes 72 of them: a second one would exceed the bound. */
TEST(the_command_makes_at_most_200_plans) {
    char name[] = "pick", problem[] = "scenarios/problems/alltoall-summit-measured.yaml";
    char *argv[] = {name, problem, NULL};
    const pto_command_t *pick;
    int64_t before = pto_plans_made;
    assert_int_equal(pto_command_find(name, &pick, NULL), PTO_OK);
    assert_int_equal(pto_command_run(pick, 2, argv), 0);
    assert_in_range(pto_plans_made - before, 60, 200);
}

TEST(a_single_pick_has_no_crossing) {
    int64_t count;
    asked_t *asked = ask(simple_machine, ONE_MESSAGE("[1000, 2000, 4000]"));
    cross(asked, &count);
    assert_int_equal(count, 0);
}

/* --- a measured machine --------------------------------------------------------------------------------- */

static asked_t *ask_summit(const char *text) {
    return ask_file("scenarios/machines/summit-spectrum-refit.yaml", text, NULL);
}

static const char *name_at(const char *format, int64_t value) {
    char text[512];
    snprintf(text, sizeof text, format, (long long)value);
    asked_t *one = ask_summit(text);
    const char *name = one->predictions.strategy[pto_pick_at(&one->predictions, 0)]->name;
    return name;
}

#define ALLTOALL                                                                                             \
    "scenario: a\nmachine: m.yaml\ncollective: alltoall\nlayout: {nodes: 16, gpus_per_node: 6, "             \
    "procs_per_gpu: 6}\nbytes: "

/* From 64 bytes to 4 KiB there are three picks, and the sweep has the first and the last. */
TEST(strategies_that_win_between_two_points_are_found) {
    int64_t count = 0;
    asked_t *swept = ask_summit(ALLTOALL "[64, 4096]\n");
    pto_crossing_t *crossing = cross(swept, &count);
    assert_true(count >= 2);
    int before = pto_pick_at(&swept->predictions, 0);
    int64_t last = 64;
    for (int64_t i = 0; i < count; i++) {
        const char *winner = swept->predictions.strategy[crossing[i].winner]->name;
        assert_true(crossing[i].at > last && crossing[i].at <= 4096);
        assert_string_equal(name_at(ALLTOALL "%lld\n", crossing[i].at), winner);
        assert_string_equal(name_at(ALLTOALL "%lld\n", crossing[i].at - 1 - crossing[i].at / 256),
                            swept->predictions.strategy[before]->name);
        before = crossing[i].winner;
        last = crossing[i].at;
    }
    assert_int_equal(before, pto_pick_at(&swept->predictions, 1));
}

/* Half an element cannot be reduced. */
TEST(crossings_of_vectors_are_whole_elements) {
    int64_t count = 0;
    asked_t *swept = ask_summit("scenario: a\nmachine: m.yaml\ncollective: allreduce\ndatatype: double\n"
                                "layout: {nodes: 8, gpus_per_node: 6}\nbytes: [64, 67108864]\n");
    pto_crossing_t *crossing = cross(swept, &count);
    assert_true(count >= 1);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(crossing[i].at % 8, 0);
}

TEST(more_prices_than_the_limit_are_refused) {
    int64_t count = -1;
    pto_crossing_t *crossing = NULL;
    pto_error_t err;
    asked_t *asked =
        ask(simple_machine,
            "scenario: a table\nmachine: m.yaml\ncollective: alltoallv\n"
            "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\ncounts: {skew: 0.5, seed: 1}\n"
            "bytes: [16, 1048576]\nstrategies: [cuda_aware, three_step]\n");
    assert_int_not_equal(pto_pick_at(&asked->predictions, 0), pto_pick_at(&asked->predictions, 1));
    int64_t work;
    assert_int_equal(pto_check_work(&asked->scenario, &asked->machine, 1, &work, &err), PTO_OK);
    asked->scenario.work_limit = work;
    assert_int_equal(pto_crossings(&asked->predictions, &crossing, &count, &err), PTO_ERR_TOO_LARGE);
    assert_null(crossing);
    asked->scenario.work_limit = 0;
    cross(asked, &count);
    assert_true(count > 0);
}
