/* Predicting and picking on synthetic machines whose winners can be computed by hand. */
#include "asked.h"
#include "portolan/pick.h"
#include "test.h"

static const char simple_machine[] =
    SIMPLE_MACHINE("simple", "", "memory: {gpu_bytes: 1000000, host_bytes: 100000000}\n");

typedef struct {
    int64_t from, below;
    const char *winner, *runner_up;
} expected_t;

static void expect_ranges(const asked_t *asked, const expected_t *expected, int64_t expected_count) {
    const pto_range_t *range = asked->range;
    assert_int_equal(asked->range_count, expected_count);
    for (int64_t i = 0; i < expected_count; i++) {
        assert_int_equal(range[i].from, expected[i].from);
        assert_int_equal(range[i].below, expected[i].below);
        assert_string_equal(asked->predictions.strategy[range[i].winner]->name, expected[i].winner);
        if (expected[i].runner_up)
            assert_string_equal(asked->predictions.strategy[range[i].runner_up]->name, expected[i].runner_up);
        else
            assert_true(range[i].runner_up == -1 && range[i].tied > 0);
    }
}

TEST(the_winner_changes_where_the_lines_cross) {
    asked_t *asked =
        ask(simple_machine, "scenario: one message\nmachine: m.yaml\ncollective: messages\nmessages: 1\n"
                            "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\n"
                            "bytes: [1000, 12000, 13000, 50000]\nstrategies: [cuda_aware, three_step]\n");
    /* 2 + s/1000 = 11 + 3 s/10000 at s = 12857. */
    const expected_t expected[] = {{1000, 13000, "cuda_aware", "three_step"},
                                   {13000, INT64_MAX, "three_step", "cuda_aware"}};
    expect_ranges(asked, expected, 2);
}

TEST(many_messages_share_one_copy) {
    asked_t *asked =
        ask(simple_machine,
            "scenario: many messages\nmachine: m.yaml\ncollective: messages\nmessages: [1, 8, 12, 20]\n"
            "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: 0\n"
            "strategies: [cuda_aware, three_step]\n");
    assert_int_equal(asked->predictions.sweep, PTO_SWEEP_MESSAGES);
    /* No bytes: nothing is sent or copied at all, so both cost nothing and tie. */
    const expected_t nothing[] = {{1, INT64_MAX, "cuda_aware", NULL}};
    expect_ranges(asked, nothing, 1);
    asked = ask(simple_machine,
                "scenario: many messages\nmachine: m.yaml\ncollective: messages\nmessages: [1, 8, 12, 20]\n"
                "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: 1\n"
                "strategies: [cuda_aware, three_step]\n");
    /* 2 n against 10 + n. */
    const expected_t expected[] = {{1, 12, "cuda_aware", "three_step"},
                                   {12, INT64_MAX, "three_step", "cuda_aware"}};
    expect_ranges(asked, expected, 2);
}

/* One element has one share, so dup_devptr does what three_step does. */
TEST(equal_prices_tie_and_the_runner_up_is_the_next) {
    asked_t *asked =
        ask(simple_machine,
            "scenario: one element has one share\nmachine: m.yaml\ncollective: alltoall\nsplit: bytes\n"
            "layout: {nodes: 32, gpus_per_node: 1, procs_per_gpu: 2}\nbytes: [4, 1000]\nlibrary: linear\n"
            "strategies: [three_step, cuda_aware, dup_devptr]\n");
    const pto_range_t *range = asked->range;
    assert_int_equal(asked->range_count, 2); /* the pick is another one where the tie ends */
    assert_int_equal(range[0].winner, 0);
    assert_int_equal(range[0].tied, 1);
    assert_true(pto_range_is_tied(&asked->predictions, &range[0], 2));
    assert_false(pto_range_is_tied(&asked->predictions, &range[0], 0));
    assert_false(pto_range_is_tied(&asked->predictions, &range[0], 1));
    assert_int_equal(range[0].runner_up, 1);
    assert_true(range[0].margin_low > 0.1);
    assert_false(range[0].near_tie);
    assert_int_equal(range[1].tied, 0);
}

TEST(buffers_too_large_for_a_node_are_the_reason) {
    char machine[sizeof simple_machine + 32];
    snprintf(machine, sizeof machine, "%s", simple_machine);
    char *memory = strstr(machine, "memory:");
    snprintf(memory, sizeof machine - (size_t)(memory - machine), "memory: {host_bytes: 1000000}\n");
    asked_t *asked =
        ask(machine, "scenario: memory\nmachine: m.yaml\ncollective: allreduce\n"
                     "layout: {nodes: 2, gpus_per_node: 2, procs_per_gpu: 1}\nbytes: [100000, 600000]\n"
                     "strategies: [three_step, cuda_aware]\n");
    assert_true(pto_prediction_at(&asked->predictions, 0, 0)->applicable);
    const pto_prediction_t *large = pto_prediction_at(&asked->predictions, 1, 0);
    assert_false(large->applicable);
    assert_non_null(strstr(large->reason, "memory.host_bytes"));
    assert_true(pto_prediction_at(&asked->predictions, 1, 1)->applicable);
}

/* Of the rows that hold for at most as many processes as there are, the one for the most counts. */
TEST(a_library_row_for_more_processes_has_priority) {
    static const struct {
        int nodes;
        const char *algorithm;
    } expected[] = {{2, "ring"}, {4, "recursive_doubling"}, {8, "rabenseifner"}, {16, "rabenseifner"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char scenario[512];
        snprintf(scenario, sizeof scenario,
                 "scenario: rows\nmachine: m.yaml\ncollective: allreduce\n"
                 "layout: {nodes: %d, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: [1024]\n"
                 "strategies: [cuda_aware]\nlibrary:\n  - {algorithm: ring}\n"
                 "  - {procs: 4, algorithm: recursive_doubling}\n  - {procs: 8, algorithm: rabenseifner}\n",
                 expected[i].nodes);
        asked_t *asked = ask(simple_machine, scenario);
        assert_string_equal(pto_prediction_at(&asked->predictions, 0, 0)->algorithm->name,
                            expected[i].algorithm);
    }
}

TEST(buffers_too_large_for_a_gpu_are_the_reason) {
    asked_t *asked = ask(simple_machine,
                         "scenario: memory\nmachine: m.yaml\ncollective: allreduce\n"
                         "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: [250000, 600000]\n"
                         "strategies: [three_step, cuda_aware]\n");
    assert_true(pto_prediction_at(&asked->predictions, 0, 0)->applicable);
    const pto_prediction_t *large = pto_prediction_at(&asked->predictions, 1, 0);
    assert_false(large->applicable);
    assert_non_null(strstr(large->reason, "memory.gpu_bytes"));
    const pto_range_t *range = asked->range;
    assert_int_equal(asked->range_count, 2);
    assert_int_equal(range[1].winner, -1);
}

TEST(best_takes_the_cheapest_algorithm) {
    const char *const library[] = {"best", "pairwise", "bruck", "linear"};
    double seconds[4][2];
    for (int i = 0; i < 4; i++) {
        char scenario[512];
        snprintf(scenario, sizeof scenario,
                 "scenario: algorithms\nmachine: m.yaml\ncollective: alltoall\n"
                 "layout: {nodes: 16, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: [4, 20000]\n"
                 "strategies: [three_step]\nlibrary: %s\n",
                 library[i]);
        asked_t *asked = ask(simple_machine, scenario);
        for (int point = 0; point < 2; point++)
            seconds[i][point] = pto_prediction_at(&asked->predictions, point, 0)->price.seconds;
        if (i == 0) {
            assert_string_equal(pto_prediction_at(&asked->predictions, 0, 0)->algorithm->name, "bruck");
            assert_string_equal(pto_prediction_at(&asked->predictions, 1, 0)->algorithm->name, "pairwise");
        }
    }
    for (int point = 0; point < 2; point++)
        assert_true(seconds[0][point] == fmin(seconds[1][point], fmin(seconds[2][point], seconds[3][point])));
}

TEST(a_table_of_byte_ranges_names_the_algorithm) {
    asked_t *asked =
        ask(simple_machine,
            "scenario: table\nmachine: m.yaml\ncollective: alltoall\n"
            "layout: {nodes: 16, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: [4, 1000, 1024, 20000]\n"
            "strategies: [three_step]\n"
            "library: [{below_bytes: 1024, algorithm: linear}, {algorithm: bruck}]\n");
    const char *const expected[] = {"linear", "linear", "bruck", "bruck"};
    for (int point = 0; point < 4; point++)
        assert_string_equal(pto_prediction_at(&asked->predictions, point, 0)->algorithm->name,
                            expected[point]);
}

/* What a machine file says of its library holds unless the scenario asks for the best. */
TEST(the_machines_library_table_is_followed) {
    char machine[4096];
    snprintf(machine, sizeof machine, "%s%s", simple_machine,
             "library:\n  alltoall:\n    cpu: [{algorithm: linear}]\n    gpu: [{algorithm: pairwise}]\n");
    asked_t *asked =
        ask(machine,
            "scenario: library\nmachine: m.yaml\ncollective: alltoall\n"
            "layout: {nodes: 16, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: 4\nstrategies: [three_step, "
            "cuda_aware]\n");
    assert_string_equal(pto_prediction_at(&asked->predictions, 0, 0)->algorithm->name, "linear");
    assert_string_equal(pto_prediction_at(&asked->predictions, 0, 1)->algorithm->name, "pairwise");
}

TEST(an_unknown_strategy_suggests_the_nearest) {
    const pto_strategy_t *strategy;
    pto_error_t err;
    assert_int_equal(pto_strategy_find("three_stpe", &strategy, &err), PTO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "'three_step'"));
    const pto_algorithm_t *algorithm;
    assert_int_equal(pto_algorithm_find("bruck", PTO_COLLECTIVE_ALLREDUCE, &algorithm, &err),
                     PTO_ERR_NOT_APPLICABLE);
}

/* Alone a copy takes 5 us; what four at once take only the second machine says. Message bytes are slow enough
 * for four processes to pay off. */
static const char four_processes[] = "scenario: shared\nmachine: m.yaml\ncollective: messages\nmessages: 64\n"
                                     "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 4}\n"
                                     "bytes: [1000]\nstrategies: [three_step, dup_devptr]\n";

TEST(sharing_that_is_not_known_makes_a_pick_unsure) {
    asked_t *asked = ask(simple_machine, four_processes);
    assert_int_equal(pto_pick_at(&asked->predictions, 0), 1);
    assert_string_equal(pto_pick_unpriced(&asked->predictions, 0), "copies.shared.d2h");
    const pto_range_t *range = asked->range;
    assert_string_equal(range[0].unpriced, "copies.shared.d2h");
}

TEST(sharing_that_was_measured_leaves_no_doubt) {
    char machine[2048];
    const char *memory = strstr(simple_machine, "memory:");
    snprintf(machine, sizeof machine,
             "%.*s  shared:\n"
             "    h2d: [{procs: 4, alpha_s: 5.0e-6, beta_s_per_byte: 4.0e-10}]\n"
             "    d2h: [{procs: 4, alpha_s: 5.0e-6, beta_s_per_byte: 4.0e-10}]\n"
             "signals: {flag_s: 1.0e-7}\n",
             (int)(memory - simple_machine), simple_machine);
    asked_t *asked = ask(machine, four_processes);
    assert_int_equal(pto_pick_at(&asked->predictions, 0), 1);
    assert_null(pto_pick_unpriced(&asked->predictions, 0));
}

/* What the loser would have to pay as well takes nothing away from the pick. */
TEST(parameters_that_the_pick_does_not_need_can_be_unknown) {
    asked_t *asked =
        ask(simple_machine, "scenario: shared\nmachine: m.yaml\ncollective: messages\nmessages: 1\n"
                            "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 4}\n"
                            "bytes: [8]\nstrategies: [cuda_aware, dup_devptr]\n");
    assert_int_equal(pto_pick_at(&asked->predictions, 0), 0);
    assert_null(pto_pick_unpriced(&asked->predictions, 0));
}
