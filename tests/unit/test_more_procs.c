/* The hint that more processes per GPU would pay: only where their number is open, where the difference is
 * larger than the intervals, and where the machine knows what processes lose that share a GPU. */
#include "asked.h"
#include "must.h"
#include "portolan/workload.h"
#include "test.h"

/* `change`: NULL, or of the machine. */
static asked_t *ask_hint(const char *machine, const char *text, const char *change) {
    pto_error_t err = {0};
    char path[128];
    snprintf(path, sizeof path, "scenarios/machines/%s.yaml", machine);
    asked_t *asked = ask_file(path, text, change);
    assert_ok(pto_predictions_find_more_procs(&asked->predictions, &err), &err);
    return asked;
}

static int64_t hinted(const char *machine, const char *text, const char *change) {
    asked_t *asked = ask_hint(machine, text, change);
    const int64_t procs = asked->predictions.more_procs.procs_per_gpu;
    return procs;
}

#define ALLTOALL "scenario: a\nmachine: m\ncollective: alltoall\nlayout: {nodes: 4"
#define BYTES "}\nbytes: [64, 32768, 1048576]\n"

TEST(the_hint_is_the_price_with_these_processes) {
    asked_t *asked = ask_hint("summit-spectrum-refit", ALLTOALL BYTES, NULL);
    asked_t *given = ask_hint("summit-spectrum-refit", ALLTOALL ", procs_per_gpu: 6" BYTES, NULL);
    const pto_more_procs_t *more = &asked->predictions.more_procs;
    assert_int_equal(more->procs_per_gpu, 6);
    const int one = pto_pick_at(&asked->predictions, more->point);
    const int six = pto_pick_at(&given->predictions, more->point);
    assert_ptr_equal(more->strategy, given->predictions.strategy[six]);
    assert_true(more->seconds == pto_prediction_at(&given->predictions, more->point, six)->price.seconds);
    assert_true(more->pick_s == pto_prediction_at(&asked->predictions, more->point, one)->price.seconds);
    assert_true(more->seconds < more->pick_s);
    assert_string_equal(more->unpriced, "signals.flag_s");
}

TEST(no_hint_where_the_number_is_given_or_no_strategy_splits) {
    assert_int_equal(hinted("summit-spectrum-refit", ALLTOALL ", procs_per_gpu: 1" BYTES, NULL), 0);
    assert_int_equal(hinted("summit-spectrum-refit", ALLTOALL BYTES, "procs_per_gpu=1"), 0);
    assert_int_equal(hinted("summit-spectrum-refit", ALLTOALL BYTES, "node.cores=6"), 0);
    assert_int_equal(
        hinted("summit-spectrum-refit", ALLTOALL BYTES "strategies: [three_step, cuda_aware]\n", NULL), 0);
    assert_int_equal(
        hinted("summit-spectrum-refit", ALLTOALL BYTES "strategies: [three_step, dup_devptr]\n", NULL), 6);
}

TEST(no_hint_where_it_is_unknown_what_sharing_a_gpu_costs) {
    asked_t *asked = ask_hint("summit-spectrum-refit", ALLTOALL BYTES, NULL);
    assert_int_equal(asked->predictions.more_procs.procs_per_gpu, 6);
    pto_predictions_fini(&asked->predictions);
    assert_int_equal(pto_machine_restrict(&asked->machine, "published", NULL), PTO_OK); /* no copies.shared */
    assert_int_equal(pto_predict(&asked->scenario, &asked->machine, true, &asked->predictions, NULL), PTO_OK);
    assert_int_equal(pto_predictions_find_more_procs(&asked->predictions, NULL), PTO_OK);
    assert_int_equal(asked->predictions.more_procs.procs_per_gpu, 0);
}

TEST(no_hint_within_the_intervals) {
    asked_t *one = ask_hint("summit-spectrum-refit", ALLTOALL "}\nbytes: 256\n", NULL);
    asked_t *six = ask_hint("summit-spectrum-refit", ALLTOALL ", procs_per_gpu: 6}\nbytes: 256\n", NULL);
    assert_int_equal(one->predictions.more_procs.procs_per_gpu, 0);
    assert_true(pto_prediction_at(&six->predictions, 0, pto_pick_at(&six->predictions, 0))->price.seconds <
                pto_prediction_at(&one->predictions, 0, pto_pick_at(&one->predictions, 0))->price.seconds);
}

TEST(calls_of_a_step_have_their_own_hints) {
    static const char text[] = "workload: w\nlayout: {nodes: 4}\nstep:\n"
                               "  - {collective: alltoall, bytes: 32768}\n"
                               "  - {collective: alltoall, bytes: 4096}\n";
    for (int given = 0; given < 2; given++) {
        pto_workload_t workload;
        pto_step_prediction_t step;
        pto_machine_t *machine = must_open("scenarios/machines/summit-spectrum-refit.yaml");
        assert_int_equal(pto_workload_parse(text, strlen(text), "w.yaml", &workload, NULL), PTO_OK);
        workload.layout.procs_per_gpu = given;
        assert_int_equal(pto_workload_bind(&workload, machine, NULL), PTO_OK);
        assert_int_equal(pto_step_predict(&workload, machine, &step, NULL), PTO_OK);
        assert_int_equal(pto_step_find_more_procs(&step, NULL), PTO_OK);
        assert_int_equal(step.call[0].predictions.more_procs.procs_per_gpu, given ? 0 : 6);
        assert_int_equal(step.call[1].predictions.more_procs.procs_per_gpu, 0);
        pto_step_fini(&step);
        pto_workload_fini(&workload);
    }
}
