/* Counters of long calls, and ending them early. A stop lasts, so it is tested last. */
#include "must.h"
#include "portolan/pick.h"
#include "portolan/progress.h"
#include "test.h"

static int ends;
static void count_end(void) { ends++; }

TEST(the_outermost_call_is_shown) {
    pto_progress_t progress;
    assert_false(pto_progress_read(&progress));
    pto_progress_on_end(count_end);
    assert_true(pto_progress_begin("outer", 8, 3));
    assert_false(pto_progress_begin("inner", 5, 0));
    pto_progress_add(2);
    pto_progress_add(1);
    assert_true(pto_progress_read(&progress));
    assert_string_equal(progress.what, "outer");
    assert_int_equal(progress.done, 3);
    assert_int_equal(progress.total, 8);
    assert_int_equal(progress.work_per_s, 3);
    assert_int_equal(ends, 0);
    pto_progress_end();
    assert_int_equal(ends, 1);
    assert_false(pto_progress_read(&progress));
    assert_true(pto_progress_begin("next", 1, 0));
    assert_true(pto_progress_read(&progress));
    assert_int_equal(progress.done, 0);
    pto_progress_end();
}

TEST(parts_of_one_kind_count_together) {
    pto_progress_t progress;
    int ended = ends;
    assert_true(pto_progress_begin_parts("pricing", 10, 3));
    for (int part = 0; part < 2; part++) {
        assert_true(pto_progress_begin("pricing", 77, 0));
        pto_progress_add(4);
        pto_progress_end();
        assert_false(pto_progress_begin("simulating", 77, 0));
    }
    assert_true(pto_progress_read(&progress));
    assert_int_equal(progress.done, 8);
    assert_int_equal(progress.total, 10);
    assert_int_equal(ends, ended);
    pto_progress_end();
    assert_int_equal(ends, ended + 1);
    assert_true(pto_progress_begin("pricing", 5, 0));
    assert_false(pto_progress_begin("pricing", 5, 0)); /* the parts have ended */
    pto_progress_end();
    assert_false(pto_progress_read(&progress));
}

/* --- a sweep -------------------------------------------------------------------------------------------- */

typedef struct {
    pto_machine_t *machine;
    pto_scenario_t scenario;
} asked_t;

static int setup(void **state) {
    static const char text[] =
        "scenario: a\nmachine: m.yaml\ncollective: alltoall\n"
        "layout: {nodes: 8, gpus_per_node: 6, procs_per_gpu: 1}\n"
        "bytes: [64, 128, 256, 512, 1024, 2048]\nstrategies: [cuda_aware, three_step]\n"
        "library: linear\n";
    static asked_t asked;
    asked.machine = must_open("scenarios/machines/summit-spectrum-refit.yaml");
    asked.scenario = must_ask(text);
    assert_int_equal(pto_scenario_bind(&asked.scenario, asked.machine, NULL), PTO_OK);
    *state = &asked;
    return 0;
}

static int teardown(void **state) {
    asked_t *asked = *state;
    pto_scenario_fini(&asked->scenario);
    return 0;
}

static int begun, simulations_seen;
static int64_t total_seen;

/* Stops after the eighth simulation has begun: cells are taken in their order. */
static void look_and_stop(const pto_simulate_progress_t *simulation) {
    pto_progress_t progress;
    simulations_seen += pto_progress_read(&progress) && strcmp(progress.what, "simulating") == 0;
    total_seen = progress.total;
    if (++begun == 8)
        pto_stop();
}

TEST(a_stopped_simulation_keeps_the_points_that_are_done) {
    const asked_t *asked = *test_state;
    pto_predictions_t predictions;
    pto_simulation_t *simulation = NULL;
    const pto_simulate_options_t how = {.begin = look_and_stop};
    pto_error_t err = {0};
    assert_false(pto_is_stopped());
    pto_status_t status =
        pto_simulate_scenario(&asked->scenario, asked->machine, &how, &predictions, &simulation, &err);
    assert_ok(status, &err);
    assert_true(pto_is_stopped());
    assert_int_equal(begun, 8);
    assert_int_equal(simulations_seen, 8);
    /* 6 points of two plans, each of 48 processes that send to 42 on other nodes and 5 on theirs. */
    assert_int_equal(total_seen, 12 * 48 * 47);
    /* 8 of 12 cells began, and those that began were simulated. */
    assert_int_equal(predictions.point_count, 4);
    for (int64_t cell = 0; cell < 8; cell++) {
        assert_true(predictions.prediction[cell].applicable);
        assert_true(simulation[cell].seconds > 0);
    }
    free(simulation);
    pto_predictions_fini(&predictions);
}

TEST(what_begins_after_a_stop_is_interrupted) {
    const asked_t *asked = *test_state;
    pto_predictions_t predictions;
    pto_error_t err = {0};
    assert_true(pto_is_stopped());
    assert_int_equal(pto_predict(&asked->scenario, asked->machine, true, &predictions, &err),
                     PTO_ERR_INTERRUPTED);
    pto_progress_t progress;
    assert_false(pto_progress_read(&progress));
}

int main(void) { return run_all_tests(setup, teardown); }
