/* Scores of small synthetic measurements, computed by hand. */
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/score.h"
#include "test.h"

#define HEADER "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds\n"

typedef struct {
    pto_collectives_t collectives;
    pto_score_t score;
} scored_t;

static void end_scored(void *object) {
    scored_t *scored = object;
    pto_score_fini(&scored->score);
    pto_collectives_fini(&scored->collectives);
}

static void read_text(scored_t *scored, const char *text) {
    pto_error_t err = {0};
    assert_ok(pto_collectives_parse(text, strlen(text), "c.csv", &scored->collectives, &err), &err);
}

/* Of one text, or of two; until the test ends. */
static scored_t *collect_as(const char *text, const char *second, const pto_score_options_t *options) {
    scored_t *scored = keep_new(sizeof *scored, end_scored);
    read_text(scored, text);
    if (second)
        read_text(scored, second);
    pto_score_options_t by_default = pto_score_defaults(&scored->collectives);
    assert_int_equal(
        pto_score_collect(&scored->collectives, options ? options : &by_default, &scored->score, NULL),
        PTO_OK);
    return scored;
}

static scored_t *collect_both(const char *text, const char *second) { return collect_as(text, second, NULL); }

static scored_t *collect(const char *text) { return collect_as(text, NULL, NULL); }

/* As if a machine had predicted these seconds for a cell of two; negative: does not apply. */
static void predict(pto_score_cell_t *cell, const double seconds[2]) {
    assert_int_equal(cell->candidate_count, 2);
    for (int c = 0; c < 2; c++) {
        cell->prediction[c].applicable = seconds[c] >= 0;
        cell->prediction[c].price.seconds = seconds[c];
    }
    assert_int_equal(pto_score_pick(cell, NULL), PTO_OK);
}

static pto_score_summary_t summary_of(const pto_score_t *score, pto_picker_t picker, const char *name) {
    static const pto_score_filter_t all = {PTO_COLLECTIVE_COUNT, PTO_IMPLEMENTATION_COUNT, 0};
    pto_score_summary_t summary;
    assert_int_equal(
        pto_score_summarise(score, &all, picker, name ? strategy_named(name) : NULL, &summary, NULL), PTO_OK);
    return summary;
}

/* --- cells ---------------------------------------------------------------------------------------------- */

TEST(each_number_of_processes_makes_a_cell_with_the_unsplit_in_it) {
    scored_t *scored = collect(HEADER "alltoall,library,dup_devptr,2,2,4,64,1,3\n"
                                      "alltoall,library,dup_devptr,2,2,2,64,1,2\n"
                                      "alltoall,library,three_step,2,2,1,64,1,1\n"
                                      "alltoall,library,extra_message,2,2,2,64,1,4\n"
                                      "alltoall,library,three_step,2,2,1,32,1,1\n"
                                      "alltoall,library,cuda_aware,2,2,1,32,1,1\n"
                                      "allreduce,library,cuda_aware,2,2,1,128,1,1\n"
                                      "allreduce,library,three_step,2,2,1,128,1,2\n");
    const pto_score_t *score = &scored->score;
    assert_int_equal(score->cell_count, 3);
    assert_int_equal(score->cell[0].collective, PTO_COLLECTIVE_ALLREDUCE);
    assert_int_equal(score->cell[0].procs_per_gpu, 1);
    assert_int_equal(score->cell[0].candidate_count, 2);
    assert_int_equal(score->cell[1].procs_per_gpu, 2);
    assert_int_equal(score->cell[1].candidate_count, 3);
    assert_int_equal(score->cell[2].procs_per_gpu, 4);
    assert_int_equal(score->cell[2].candidate_count, 2);
    for (int i = 1; i < 3; i++) {
        const pto_score_cell_t *cell = &score->cell[i];
        assert_ptr_equal(cell->candidate[cell->best].strategy, strategy_named("three_step"));
        assert_around(cell->margin, i == 1 ? 1 : 2, 1e-9);
        assert_int_equal(cell->floor_count, 0);
        assert_int_equal(cell->picked, -1);
    }
}

TEST(datatypes_owners_and_own_algorithms_keep_cells_apart) {
    scored_t *scored = collect(
        "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,owners_per_gpu,bytes,run,"
        "seconds,algorithm\n"
        "alltoall,library,cuda_aware,2,2,1,1,64,1,1,\n"
        "alltoall,library,three_step,2,2,1,1,64,1,2,\n"
        "alltoall,library,cuda_aware,2,2,2,2,64,1,1,\n"
        "alltoall,library,three_step,2,2,2,2,64,1,2,\n"
        "alltoall,library,cuda_aware,2,2,1,1,64,1,1,bruck\n"
        "alltoall,library,three_step,2,2,1,1,64,1,2,pairwise\n");
    assert_int_equal(scored->score.cell_count, 3);
    assert_int_equal(scored->score.cell[1].owners_per_gpu, 2);
    assert_true(scored->score.cell[2].own_algorithms);
    assert_null(scored->score.cell[0].candidate[0].algorithm);
    assert_string_equal(scored->score.cell[2].candidate[0].algorithm, "bruck");
    assert_string_equal(scored->score.cell[2].candidate[1].algorithm, "pairwise");
    scored = collect_both(HEADER "allreduce,library,cuda_aware,2,2,1,64,1,1\n",
                          "# datatype=double\n" HEADER "allreduce,library,three_step,2,2,1,64,1,2\n");
    assert_int_equal(scored->score.cell_count, 0);
    assert_int_equal(scored->score.note[0].count, 2);
}

#define THREE_RUNS                                                                                           \
    HEADER "alltoall,library,cuda_aware,2,2,1,64,1,3\nalltoall,library,cuda_aware,2,2,1,64,2,1\n"            \
           "alltoall,library,cuda_aware,2,2,1,64,3,9\nalltoall,library,three_step,2,2,1,64,1,4\n"            \
           "alltoall,library,three_step,2,2,1,64,2,2\nalltoall,library,three_step,2,2,1,64,3,2\n"

TEST(a_time_is_the_minimum_of_jobs_and_the_median_of_repeats) {
    scored_t *scored = collect(THREE_RUNS);
    assert_int_equal(scored->score.options.statistic, PTO_STATISTIC_MIN);
    assert_around(scored->score.cell[0].candidate[0].measured_s, 1, 1e-9);
    assert_around(scored->score.cell[0].candidate[1].measured_s, 2, 1e-9);
    scored = collect("# portolan=0.1.0\n" THREE_RUNS);
    assert_int_equal(scored->score.options.statistic, PTO_STATISTIC_MEDIAN);
    assert_around(scored->score.cell[0].candidate[0].measured_s, 3, 1e-9);
    assert_around(scored->score.cell[0].candidate[1].measured_s, 2, 1e-9);
    scored = collect_both("# portolan=0.1.0\n" THREE_RUNS, THREE_RUNS);
    assert_int_equal(scored->score.options.statistic, PTO_STATISTIC_MIN);
}

typedef struct {
    int64_t count;
    const char *words;
} expected_note_t;

static void assert_notes(const pto_score_t *score, const expected_note_t *expected, int count) {
    assert_int_equal(score->note_count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(score->note[i].count, expected[i].count);
        if (!strstr(score->note[i].text, expected[i].words))
            fail_msg("'%s' does not say '%s'", score->note[i].text, expected[i].words);
    }
}

TEST(rows_that_compare_nothing_are_left_out_and_reported) {
    const pto_score_skip_t skip = {PTO_IMPLEMENTATION_LIBRARY, strategy_named("cuda_aware")};
    const pto_score_options_t options = {.min_bytes = 0, .clear_margin = 0.1, .skip_count = 1, .skip = &skip};
    scored_t *scored = collect_as("# machine=x\n# caveat_isend_irecv_split=no all-to-all\n" HEADER
                                  "alltoallv,isend_irecv,cuda_aware,2,2,1,0,1,1\n"
                                  "alltoallv,isend_irecv,three_step,2,2,1,0,1,1\n"
                                  "alltoallv,isend_irecv,extra_message,2,2,4,0,1,1\n"
                                  "alltoallv,isend_irecv,extra_message,2,2,4,0,2,1\n"
                                  "alltoallv,library,extra_message,2,2,4,0,1,1\n"
                                  "alltoallv,library,cuda_aware,2,2,1,0,1,1\n"
                                  "alltoallv,library,teleport,2,2,1,0,1,1\n"
                                  "messages,isend_irecv,three_step,2,2,1,0,1,1\n"
                                  "alltoallv,library,three_step,2,2,4,0,1,1\n",
                                  NULL, &options);
    static const expected_note_t expected[] = {
        {2, "isend_irecv with extra_message: c.csv:2 says"},
        {1, "library with cuda_aware: as asked"},
        {1, "teleport: no strategy of that name"},
        {1, "messages: the format does not say how many"},
        {1, "three_step: it does not split"},
        {1, "one strategy alone"},
    };
    assert_notes(&scored->score, expected, 6);
    assert_int_equal(scored->score.cell_count, 1);
    assert_int_equal(scored->score.cell[0].implementation, PTO_IMPLEMENTATION_ISEND_IRECV);
}

TEST(a_caveat_applies_only_to_its_own_file) {
    static const char rows[] = HEADER "alltoallv,isend_irecv,three_step,2,2,1,64,1,1\n"
                                      "alltoallv,isend_irecv,extra_message,2,2,4,64,1,2\n";
    static const char caveat[] = "# caveat_isend_irecv_split=no all-to-all\n" HEADER
                                 "alltoallv,isend_irecv,extra_message,2,2,4,64,1,0.5\n";
    scored_t *scored = collect_both(rows, caveat);
    assert_int_equal(scored->score.note_count, 1);
    assert_int_equal(scored->score.cell_count, 1);
    assert_around(scored->score.cell[0].candidate[1].measured_s, 2, 1e-9);
}

/* --- metrics -------------------------------------------------------------------------------------------- */

#define TWO(bytes, cuda_aware_s, three_step_s)                                                               \
    "alltoall,library,cuda_aware,2,2,1," bytes ",1," cuda_aware_s "\n"                                       \
    "alltoall,library,three_step,2,2,1," bytes ",1," three_step_s "\n"

/* Regrets 0, 0, 0.5 and 1; the first cell is not clear; a fifth cell can't be predicted. */
static scored_t *collect_five(void) {
    static const double predicted[][2] = {{8, 12}, {1, 3}, {3, 2}, {4, 5}, {-1, -1}};
    scored_t *scored = collect(HEADER TWO("64", "10", "10.5") TWO("128", "2", "4") TWO("256", "2", "3")
                                   TWO("512", "8", "4") TWO("1024", "8", "4"));
    assert_int_equal(scored->score.cell_count, 5);
    for (int i = 0; i < 5; i++)
        predict(&scored->score.cell[i], predicted[i]);
    return scored;
}

TEST(picks_and_errors_are_summed_up) {
    scored_t *scored = collect_five();
    pto_score_summary_t summary = summary_of(&scored->score, PTO_PICKER_MODEL, NULL);
    assert_int_equal(summary.cells, 4);
    assert_around(summary.right, 2, 1e-9);
    assert_int_equal(summary.clear_cells, 3);
    assert_around(summary.clear_right, 1, 1e-9);
    assert_int_equal(summary.near_ties, 0);
    assert_around(summary.regret_mean, 0.375, 1e-9);
    assert_around(summary.regret_95, 0.5 + 0.85 * 0.5, 1e-9); /* place 0.95 * 3 = 2.85 of 0, 0, 0.5, 1 */
    assert_around(summary.regret_max, 1, 1e-9);
    /* Errors 0.2, 12 / 10.5 - 1, 0.5, 0.25, 0.5, 1 / 3, 0.5, 0.25: the middle two are 0.25 and 1 / 3, and the
     * place 0.9 * 7 = 6.3 lies between 0.5 and 0.5. */
    assert_int_equal(summary.pairs, 8);
    assert_around(summary.error_median, (0.25 + 1.0 / 3) / 2, 1e-9);
    assert_around(summary.error_90, 0.5, 1e-9);
}

TEST(always_one_strategy_needs_no_model) {
    scored_t *scored = collect_five();
    pto_score_summary_t summary = summary_of(&scored->score, PTO_PICKER_ALWAYS, "three_step");
    assert_int_equal(summary.cells, 4);
    assert_around(summary.right, 1, 1e-9);
    assert_around(summary.regret_mean, (0.05 + 1 + 0.5 + 0) / 4, 1e-9);
    assert_around(summary.regret_max, 1, 1e-9);
    assert_int_equal(summary.pairs, 4);
    assert_around(summary.error_median, 0.25, 1e-9); /* of 1/7, 1/4, 1/3 and 1/4 */
    summary = summary_of(&scored->score, PTO_PICKER_ALWAYS, "dup_devptr");
    assert_int_equal(summary.cells, 0);
    assert_int_equal(summary.pairs, 0);
}

TEST(a_measured_tie_is_right_either_way) {
    static const double predicted[] = {2, 1};
    scored_t *scored = collect(HEADER TWO("64", "3", "3"));
    predict(&scored->score.cell[0], predicted);
    pto_score_summary_t summary = summary_of(&scored->score, PTO_PICKER_MODEL, NULL);
    assert_around(summary.right, 1, 1e-9);
    assert_int_equal(summary.clear_cells, 0);
}

TEST(clear_begins_where_the_second_takes_a_tenth_longer) {
    scored_t *scored = collect(HEADER TWO("64", "10", "11") TWO("128", "10.99", "10"));
    assert_true(scored->score.cell[0].clear);
    assert_false(scored->score.cell[1].clear);
    assert_int_equal(scored->score.cell[1].best, 1);
}

TEST(an_unpredicted_strategy_cannot_be_picked_but_counts) {
    static const double predicted[] = {-1, 5};
    scored_t *scored = collect(HEADER TWO("64", "1", "4"));
    predict(&scored->score.cell[0], predicted);
    assert_int_equal(scored->score.cell[0].picked, 1);
    assert_around(scored->score.cell[0].regret, 3, 1e-9);
    pto_score_summary_t summary = summary_of(&scored->score, PTO_PICKER_MODEL, NULL);
    assert_int_equal(summary.pairs, 1);
    assert_around(summary.right, 0, 1e-9);
}

TEST(a_margin_inside_the_intervals_is_a_toss_up) {
    static const double predicted[] = {1.0, 1.2};
    scored_t *scored = collect(HEADER TWO("64", "1", "4") TWO("128", "1", "4"));
    for (int i = 0; i < 2; i++) {
        pto_score_cell_t *cell = &scored->score.cell[i];
        predict(cell, predicted);
        cell->prediction[0].price =
            (pto_price_t){.seconds = 1.0, .has_interval = true, .low_s = 0.9, .high_s = i == 0 ? 1.1 : 1.3};
        assert_int_equal(pto_score_pick(cell, NULL), PTO_OK);
        assert_int_equal(cell->near_tie, i == 1);
    }
    assert_int_equal(summary_of(&scored->score, PTO_PICKER_MODEL, NULL).near_ties, 1);
    assert_int_equal(summary_of(&scored->score, PTO_PICKER_FLOOR, NULL).near_ties, 0);
}

/* Minima 1 and 2. Run 1 picks cuda_aware (3 against 4), run 2 too (1 against 2), run 3 three_step: its regret
 * is 1. In the other cell run 2 lacks a strategy, which leaves two runs: right and a regret of 1. */
TEST(the_floor_is_what_single_runs_would_have_picked) {
    static const double predicted[] = {1, 2};
    scored_t *scored = collect(
        THREE_RUNS "alltoall,library,cuda_aware,2,2,1,128,1,1\nalltoall,library,cuda_aware,2,2,1,128,2,1\n"
                   "alltoall,library,cuda_aware,2,2,1,128,3,5\nalltoall,library,three_step,2,2,1,128,1,2\n"
                   "alltoall,library,three_step,2,2,1,128,3,4\n");
    for (int i = 0; i < 2; i++)
        predict(&scored->score.cell[i], predicted);
    assert_int_equal(scored->score.cell[0].floor_count, 3);
    assert_int_equal(scored->score.cell[1].floor_count, 2);
    pto_score_summary_t summary = summary_of(&scored->score, PTO_PICKER_FLOOR, NULL);
    assert_int_equal(summary.cells, 2);
    assert_around(summary.right, 2.0 / 3 + 1.0 / 2, 1e-9);
    assert_around(summary.clear_right, 2.0 / 3 + 1.0 / 2, 1e-9);
    assert_around(summary.regret_mean, (1.0 / 3 + 1.0 / 2) / 2, 1e-9);
    assert_around(summary.regret_max, 1, 1e-9);
    assert_int_equal(summary.pairs, 0);
}

TEST(the_same_run_of_joined_files_is_one) {
    scored_t *scored =
        collect("# portolan=1\n" HEADER
                "alltoall,library,three_step,2,2,1,64,1,1\nalltoall,library,three_step,2,2,1,64,1,9\n"
                "alltoall,library,three_step,2,2,1,64,1,3\nalltoall,library,three_step,2,2,1,64,2,1\n"
                "alltoall,library,dup_devptr,2,2,2,64,1,2\nalltoall,library,dup_devptr,2,2,2,64,2,2\n");
    const pto_score_cell_t *cell = &scored->score.cell[0];
    assert_around(cell->candidate[0].measured_s, 2, 1e-9); /* of 1, 1, 3, 9 */
    assert_int_equal(cell->floor_count, 2);
    assert_int_equal(cell->floor_pick[0], 1); /* 3 against 2 */
    assert_int_equal(cell->floor_pick[1], 0);
}

TEST(filters_choose_cells) {
    static const double predicted[] = {1, 2};
    scored_t *scored = collect(HEADER TWO("64", "1", "2") "allreduce,library,cuda_aware,4,2,1,64,1,1\n"
                                                          "allreduce,library,three_step,4,2,1,64,1,2\n");
    static const struct {
        pto_score_filter_t filter;
        int64_t cells;
    } expected[] = {{{PTO_COLLECTIVE_ALLREDUCE, PTO_IMPLEMENTATION_LIBRARY, 0}, 1},
                    {{PTO_COLLECTIVE_ALLREDUCE, PTO_IMPLEMENTATION_LIBRARY, 2}, 0},
                    {{PTO_COLLECTIVE_COUNT, PTO_IMPLEMENTATION_ISEND_IRECV, 0}, 0},
                    {{PTO_COLLECTIVE_COUNT, PTO_IMPLEMENTATION_COUNT, 2}, 1}};
    for (int i = 0; i < 2; i++)
        predict(&scored->score.cell[i], predicted);
    for (int i = 0; i < 4; i++) {
        pto_score_summary_t summary;
        assert_int_equal(
            pto_score_summarise(&scored->score, &expected[i].filter, PTO_PICKER_MODEL, NULL, &summary, NULL),
            PTO_OK);
        assert_int_equal(summary.cells, expected[i].cells);
    }
}

TEST(quantiles_are_linear_between_values) {
    double value[] = {4, 1, 3, 2};
    assert_around(pto_quantile(value, 4, 0), 1, 1e-9);
    assert_around(pto_quantile(value, 4, 0.5), 2.5, 1e-9);
    assert_around(pto_quantile(value, 4, 0.9), 3.7, 1e-9);
    assert_around(pto_quantile(value, 4, 1), 4, 1e-9);
    assert_around(pto_quantile(value, 1, 0.95), 1, 1e-9);
    assert_around(pto_quantile(value, 0, 0.95), 0, 1e-9);
}

/* --- predicting ----------------------------------------------------------------------------------------- */

/* A GPU message starts in 2 us and moves 1 GB/s, a CPU message in 1 us, a copy in 5 us, both 10 GB/s. */
#define MACHINE(gpu_alpha)                                                                                   \
    "machine: simple\nsource: made up\nnode: {sockets: 1, gpus: 1, cores: 2}\nmessages:\n"                   \
    "  cpu:\n    off_node: [{protocol: eager, alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}]\n"                 \
    "  gpu:\n    off_node: [{protocol: eager, alpha_s: " gpu_alpha ", beta_s_per_byte: 1.0e-9}]\n"           \
    "copies:\n  h2d: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 1.0e-10}}\n"                             \
    "  d2h: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 1.0e-10}}\n"                                      \
    "library: {alltoall: {cpu: [{algorithm: pairwise}], gpu: [{algorithm: pairwise}]}}\n"

/* On two nodes with one GPU each an alltoall is one message each way. */
TEST(cells_are_predicted_as_predict_does) {
    pto_machine_t machine = must_parse(MACHINE("2.0e-6"));
    scored_t *scored = collect(
        HEADER
        "alltoall,library,cuda_aware,2,1,1,1000,1,3e-6\nalltoall,library,three_step,2,1,1,1000,1,1e-6\n"
        "alltoall,library,cuda_aware,4,1,1,1000,1,1\nalltoall,library,three_step,4,1,1,1000,1,1\n");
    assert_int_equal(pto_score_predict(&scored->score, &machine, 2, NULL), PTO_OK);
    const pto_score_cell_t *cell = &scored->score.cell[0];
    pto_scenario_t scenario;
    pto_scenario_init(&scenario);
    int64_t nodes = 2, bytes = 1000;
    scenario.collective = PTO_COLLECTIVE_ALLTOALL;
    scenario.layout.procs_per_gpu = 1;
    scenario.nodes = (pto_series_t){&nodes, 1};
    scenario.bytes = (pto_series_t){&bytes, 1};
    pto_predictions_t predictions;
    assert_int_equal(pto_scenario_bind(&scenario, &machine, NULL), PTO_OK);
    assert_int_equal(pto_predict(&scenario, &machine, true, &predictions, NULL), PTO_OK);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < predictions.strategy_count; i++)
            if (predictions.strategy[i] == cell->candidate[c].strategy)
                assert_around(cell->prediction[c].price.seconds * 1e6,
                              pto_prediction_at(&predictions, 0, i)->price.seconds * 1e6, 1e-9);
    assert_true(cell->prediction[0].price.seconds > 0);
    assert_string_equal(cell->prediction[0].algorithm->name, "pairwise");
    assert_int_equal(cell->picked, 0);
    assert_around(cell->regret, 2, 1e-9);
    assert_int_equal(scored->score.cell[1].picked, -1); /* not among the nodes asked for */
    pto_predictions_fini(&predictions);
}

TEST(a_layout_the_machine_lacks_is_a_reason) {
    pto_machine_t machine = must_parse(MACHINE("2.0e-6"));
    scored_t *scored = collect(
        "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds,algorithm\n"
        "alltoall,library,cuda_aware,2,3,1,1000,1,3e-6,\nalltoall,library,three_step,2,3,1,1000,1,1e-6,\n"
        "allreduce,library,cuda_aware,2,1,1,999,1,3e-6,\nallreduce,library,three_step,2,1,1,999,1,1e-6,\n"
        "alltoall,library,cuda_aware,2,1,1,1000,1,3e-6,magic\n"
        "alltoall,library,three_step,2,1,1,1000,1,1e-6,pairwise\n");
    assert_int_equal(pto_score_predict(&scored->score, &machine, 0, NULL), PTO_OK);
    const pto_score_cell_t *cell = scored->score.cell;
    assert_non_null(strstr(cell[0].prediction[0].reason, "not a multiple"));
    assert_non_null(strstr(cell[1].prediction[1].reason, "more than the 1 GPU of"));
    assert_int_equal(cell[1].picked, -1);
    assert_non_null(strstr(cell[2].prediction[0].reason, "magic"));
    assert_int_equal(cell[2].picked, 1);
    assert_int_equal(summary_of(&scored->score, PTO_PICKER_MODEL, NULL).cells, 1);
}

TEST(missing_machine_values_are_listed) {
    pto_machine_t machine = must_parse(MACHINE("2.0e-6"));
    scored_t *scored = collect(
        HEADER
        "allreduce,library,cuda_aware,2,1,1,64,1,3e-6\nallreduce,library,three_step,2,1,1,64,1,1e-6\n");
    assert_int_equal(pto_score_predict(&scored->score, &machine, 0, NULL), PTO_OK);
    int found = 0;
    for (int i = 0; i < scored->score.unpriced_count; i++)
        found += strcmp(scored->score.unpriced[i], "reduce.cpu.alpha_s") == 0;
    assert_int_equal(found, 1);
}

/* A fit that knows only which nodes it must not see: it makes GPU messages cost as many seconds. */
static pto_status_t refit(const pto_machine_t *machine, const pto_collectives_t *collectives,
                          const pto_node_counts_t *train, void *context, pto_machine_t **fitted,
                          pto_error_t *err) {
    int64_t *calls = context, nodes = train->value[0] == 2 ? 4 : 2;
    assert_true(train->count == 1 && !train->except && machine && collectives->count == 4);
    calls[(*calls < 2) + 1] = nodes;
    (*calls)++;
    const char *text = nodes == 2 ? MACHINE("2") : MACHINE("4");
    return pto_machine_create(text, strlen(text), "fitted.yaml", fitted, err);
}

static const char two_node_counts[] =
    HEADER "alltoall,library,cuda_aware,2,1,1,64,1,1\nalltoall,library,three_step,2,1,1,64,1,1\n"
           "alltoall,library,cuda_aware,4,1,1,64,1,1\nalltoall,library,three_step,4,1,1,64,1,1\n";

TEST(each_node_count_is_scored_by_a_fit_without_it) {
    pto_machine_t machine = must_parse(MACHINE("2.0e-6"));
    int64_t calls[3] = {0};
    scored_t *scored = collect(two_node_counts);
    assert_int_equal(
        pto_score_leave_one_out(&scored->score, &scored->collectives, &machine, refit, calls, NULL), PTO_OK);
    assert_int_equal(calls[0], 2);
    assert_true(scored->score.cell[0].prediction[0].price.seconds > 1.9);
    assert_true(scored->score.cell[0].prediction[0].price.seconds < 3.9);
    assert_true(scored->score.cell[1].prediction[0].price.seconds > 3.9);
    scored = collect(HEADER TWO("64", "1", "2"));
    pto_error_t err;
    assert_int_equal(
        pto_score_leave_one_out(&scored->score, &scored->collectives, &machine, refit, calls, &err),
        PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "one node count"));
}

/* As above, `*context` times; then the user interrupts it. */
static pto_status_t refit_until(const pto_machine_t *machine, const pto_collectives_t *collectives,
                                const pto_node_counts_t *train, void *context, pto_machine_t **fitted,
                                pto_error_t *err) {
    int64_t calls[3] = {0}, *left = context;
    if ((*left)-- == 0)
        return pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted");
    return refit(machine, collectives, train, calls, fitted, err);
}

TEST(what_was_scored_before_a_stop_is_kept) {
    pto_machine_t machine = must_parse(MACHINE("2.0e-6"));
    for (int64_t fits = 0; fits <= 2; fits++) {
        int64_t left = fits;
        scored_t *scored = collect(two_node_counts);
        assert_int_equal(
            pto_score_leave_one_out(&scored->score, &scored->collectives, &machine, refit_until, &left, NULL),
            fits == 0 ? PTO_ERR_INTERRUPTED : PTO_OK);
        assert_int_equal(scored->score.cell_count, fits == 1 ? 1 : 2);
        assert_int_equal(scored->score.is_cut, fits == 1);
        assert_int_equal(scored->score.cell[0].nodes, 2);
    }
}

/* What needs no model is known of the measurements of Summit. */
TEST(summit_has_its_known_cells_and_floor) {
    char path[512];
    const char *shared = getenv("PORTOLAN_SHARED");
    snprintf(path, sizeof path, "%s/data/summit-spectrum/collectives.csv", shared ? shared : "../shared");
    scored_t *scored = keep_new(sizeof *scored, end_scored);
    if (pto_collectives_read(path, &scored->collectives, NULL) != PTO_OK) {
        print_message("skipped: no measured collectives at %s\n", path);
        skip();
    }
    pto_score_options_t options = pto_score_defaults(&scored->collectives);
    assert_int_equal(pto_score_collect(&scored->collectives, &options, &scored->score, NULL), PTO_OK);
    pto_machine_t machine = must_read("scenarios/machines/summit-spectrum.yaml");
    assert_int_equal(pto_score_predict(&scored->score, &machine, 0, NULL), PTO_OK);
    assert_int_equal(summary_of(&scored->score, PTO_PICKER_MODEL, NULL).clear_cells, 74);
    pto_score_summary_t floor = summary_of(&scored->score, PTO_PICKER_FLOOR, NULL);
    assert_int_equal(floor.cells, 104);
    assert_int_equal(1000 * floor.regret_mean + 0.5, 12);
    assert_int_equal(100 * floor.clear_right / (double)floor.clear_cells + 0.5, 94);
    assert_int_equal(100 * summary_of(&scored->score, PTO_PICKER_ALWAYS, "three_step").regret_mean + 0.5, 31);
    assert_int_equal(100 * summary_of(&scored->score, PTO_PICKER_ALWAYS, "extra_message").regret_mean + 0.5,
                     29);
}
