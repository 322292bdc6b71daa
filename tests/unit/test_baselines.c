/* Baselines learn from some measured cells and pick in others; expected picks and times by hand. */
#include "portolan/score.h"
#include "test.h"

#define HEADER "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds\n"

typedef struct {
    pto_collectives_t collectives;
    pto_score_t train;
    pto_score_t score;
} trained_t;

static void end_trained(void *object) {
    trained_t *made = object;
    pto_score_fini(&made->score);
    pto_score_fini(&made->train);
    pto_collectives_fini(&made->collectives);
}

/* Cells of `test` nodes are scored; the others are the training set. */
static trained_t *split(const char *text, int64_t test) {
    trained_t *made = keep_new(sizeof *made, end_trained);
    pto_error_t err = {0};
    assert_ok(pto_collectives_parse(text, strlen(text), "c.csv", &made->collectives, &err), &err);
    pto_score_options_t options = pto_score_defaults(&made->collectives);
    options.nodes = (pto_node_counts_t){.count = 1, .value = {test}};
    assert_int_equal(pto_score_collect(&made->collectives, &options, &made->score, NULL), PTO_OK);
    options.nodes.except = true;
    assert_int_equal(pto_score_collect(&made->collectives, &options, &made->train, NULL), PTO_OK);
    return made;
}

static const pto_score_baseline_t *baseline_of(const trained_t *made, int64_t cell, pto_picker_t picker) {
    return &made->score.cell[cell].baseline[picker - PTO_BASELINE_FIRST];
}

/* cuda_aware grows with the nodes, three_step with their logarithm. */
static const char growing[] = HEADER "alltoall,library,cuda_aware,2,1,1,64,1,2\n"
                                     "alltoall,library,three_step,2,1,1,64,1,3\n"
                                     "alltoall,library,cuda_aware,4,1,1,64,1,4\n"
                                     "alltoall,library,three_step,4,1,1,64,1,5\n"
                                     "alltoall,library,cuda_aware,16,1,1,64,1,16\n"
                                     "alltoall,library,three_step,16,1,1,64,1,9\n";

TEST(nearest_takes_the_winner_of_the_nearest_node_count) {
    trained_t *made = split(growing, 16);
    assert_int_equal(pto_score_learn(&made->score, &made->train, 0, NULL), PTO_OK);
    const pto_score_baseline_t *nearest = baseline_of(made, 0, PTO_PICKER_NEAREST);
    assert_int_equal(nearest->picked, 0);
    assert_around(nearest->seconds[0], 4, 1e-9);
    assert_around(nearest->seconds[1], 5, 1e-9);
}

TEST(interpolation_follows_each_strategy_over_nodes) {
    trained_t *made = split(growing, 16);
    assert_int_equal(pto_score_learn(&made->score, &made->train, 0, NULL), PTO_OK);
    const pto_score_baseline_t *affine = baseline_of(made, 0, PTO_PICKER_AFFINE);
    assert_around(affine->seconds[0], 16, 1e-9); /* N */
    assert_around(affine->seconds[1], 17, 1e-9); /* 1 + N */
    assert_int_equal(affine->picked, 0);
    const pto_score_baseline_t *in_log = baseline_of(made, 0, PTO_PICKER_LOG);
    assert_around(in_log->seconds[0], 8, 1e-9); /* 2 log2 N */
    assert_around(in_log->seconds[1], 9, 1e-9); /* 1 + 2 log2 N */
}

/* What was predicted until Ctrl-C. */
TEST(a_part_teaches_nothing) {
    for (int i = 0; i < 2; i++) {
        trained_t *made = split(growing, 16);
        if (i == 0)
            pto_score_cut(&made->train, 1);
        else
            pto_score_cut_nodes(&made->train, 4);
        assert_int_equal(made->train.cell_count, 1);
        assert_int_equal(pto_score_learn(&made->score, &made->train, 0, NULL), PTO_OK);
        for (pto_picker_t picker = PTO_PICKER_NEAREST; picker < PTO_PICKER_COUNT; picker++)
            assert_int_equal(baseline_of(made, 0, picker)->picked, -1);
    }
}

/* The line through 4 and 16 nodes falls below 0 at 2 nodes in log N. */
TEST(a_line_below_zero_gives_the_least_time) {
    trained_t *made = split(growing, 2);
    assert_int_equal(pto_score_learn(&made->score, &made->train, 0, NULL), PTO_OK);
    assert_around(baseline_of(made, 0, PTO_PICKER_LOG)->seconds[0], 4, 1e-9);
    assert_around(baseline_of(made, 0, PTO_PICKER_LOG)->seconds[1], 3, 1e-9);
}

TEST(neighbors_vote_for_the_winner) {
    trained_t *made = split(HEADER "alltoall,library,cuda_aware,2,1,1,64,1,1\n"
                                   "alltoall,library,three_step,2,1,1,64,1,2\n"
                                   "alltoall,library,cuda_aware,2,1,1,128,1,2\n"
                                   "alltoall,library,three_step,2,1,1,128,1,1\n"
                                   "alltoall,library,cuda_aware,2,1,1,256,1,2\n"
                                   "alltoall,library,three_step,2,1,1,256,1,1\n"
                                   "alltoall,library,cuda_aware,2,1,1,1048576,1,1\n"
                                   "alltoall,library,three_step,2,1,1,1048576,1,2\n"
                                   "alltoall,library,cuda_aware,8,1,1,64,1,1\n"
                                   "alltoall,library,three_step,8,1,1,64,1,2\n"
                                   "allreduce,library,cuda_aware,8,1,1,64,1,1\n"
                                   "allreduce,library,three_step,8,1,1,64,1,2\n",
                            8);
    assert_int_equal(pto_score_learn(&made->score, &made->train, 0, NULL), PTO_OK);
    assert_int_equal(made->score.cell_count, 2);
    assert_int_equal(baseline_of(made, 0, PTO_PICKER_NEIGHBORS)->picked, -1); /* no other allreduce */
    assert_int_equal(baseline_of(made, 1, PTO_PICKER_NEIGHBORS)->picked, 1);  /* two of three, not 1 MiB */
    assert_null(baseline_of(made, 1, PTO_PICKER_NEIGHBORS)->seconds);
}

TEST(residual_scales_the_prediction) {
    trained_t *made = split(growing, 16);
    for (int c = 0; c < 2; c++) {
        made->train.cell[1].prediction[c] = (pto_prediction_t){.applicable = true, .price = {.seconds = 2}};
        made->score.cell[0].prediction[c] =
            (pto_prediction_t){.applicable = true, .price = {.seconds = 3 + c}};
    }
    assert_int_equal(pto_score_learn(&made->score, &made->train, 0, NULL), PTO_OK);
    const pto_score_baseline_t *residual = baseline_of(made, 0, PTO_PICKER_RESIDUAL);
    assert_around(residual->seconds[0], 3 * 4. / 2, 1e-9);
    assert_around(residual->seconds[1], 4 * 5. / 2, 1e-9);
    assert_int_equal(residual->picked, 0);
}

/* Regret and errors of a baseline enter the summary as the model's do. */
TEST(a_baseline_is_summarised) {
    static const pto_score_filter_t all = {PTO_COLLECTIVE_COUNT, PTO_IMPLEMENTATION_COUNT, 0};
    trained_t *made = split(growing, 16);
    made->score.cell[0].picked = 1; /* summaries are over cells in which the model picks */
    assert_int_equal(pto_score_learn(&made->score, &made->train, 0, NULL), PTO_OK);
    pto_score_summary_t summary;
    assert_int_equal(pto_score_summarise(&made->score, &all, PTO_PICKER_NEAREST, NULL, &summary, NULL),
                     PTO_OK);
    assert_int_equal(summary.cells, 1);
    assert_around(summary.clear_right, 0, 1e-9);
    assert_around(summary.regret_mean, 16. / 9 - 1, 1e-9);
    assert_int_equal(summary.pairs, 2);
    assert_around(summary.error_median, (0.75 + 4. / 9) / 2, 1e-9);
}

TEST(node_counts_are_parsed) {
    static const char *const bad[] = {"2", "nodes=", "nodes=2,", "nodes=0", "nodes=2;8", "nodes=a"};
    pto_node_counts_t counts;
    pto_error_t err;
    assert_int_equal(pto_node_counts_parse("nodes=2,8", &counts, NULL), PTO_OK);
    assert_true(pto_node_counts_has(&counts, 2) && pto_node_counts_has(&counts, 8));
    assert_false(pto_node_counts_has(&counts, 4));
    counts.except = true;
    assert_true(pto_node_counts_has(&counts, 4) && !pto_node_counts_has(&counts, 8));
    assert_true(pto_node_counts_has(&(pto_node_counts_t){0}, 3));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pto_node_counts_parse(bad[i], &counts, &err), PTO_ERR_TYPE);
        assert_non_null(strstr(err.message, bad[i]));
    }
}
