/* Drawings of predictions: gnuplot scripts, tested without gnuplot, and the choice of measurements. */
#include "asked.h"
#include "files.h"
#include "show/predict_plot.h"
#include "test.h"

static const char machine_text[] = SIMPLE_MACHINE("it's made", "alpha_s_95: [1.0e-6, 3.0e-6], ", "");

static const char scenario_text[] = "scenario: asked\n"
                                    "machine: made.yaml\n"
                                    "collective: alltoall\n"
                                    "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 4}\n"
                                    "bytes: [0, 16, 65536]\n"
                                    "strategies: [cuda_aware, three_step, dup_devptr]\n";

static const char measured_text[] =
    "# machine=made\n"
    "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds\n"
    "alltoall,library,cuda_aware,2,1,1,16,1,1e-5\n"
    "alltoall,library,cuda_aware,2,1,1,16,2,3e-5\n"
    "alltoall,library,cuda_aware,4,1,1,16,1,9e-5\n" /* other nodes */
    "alltoall,library,cuda_aware,2,2,1,16,1,9e-5\n" /* other GPUs */
    "alltoall,library,cuda_aware,2,1,1,1048576,1,9e-5\n"
    "alltoallv,library,cuda_aware,2,1,1,16,1,9e-5\n"
    "alltoall,library,extra_message,2,1,4,16,1,9e-5\n" /* a strategy that is not asked for */
    "alltoall,library,dup_devptr,2,1,2,16,1,9e-5\n"    /* another number of processes */
    "alltoall,library,dup_devptr,2,1,4,65536,1,2e-4\n";

static asked_t *ask_here(void) { return ask(machine_text, scenario_text); }

/* The script for some points. */
static char *script_of(const asked_t *asked, const pto_plot_point_t *point, size_t point_count) {
    pto_predict_plot_t drawn = {.predictions = &asked->predictions,
                                .range = asked->range,
                                .range_count = asked->range_count,
                                .point = point,
                                .point_count = point_count,
                                .measured = point_count > 0 ? "measured.csv" : NULL};
    pto_plot_t plot = pto_predict_plot(&drawn);
    char *text = NULL;
    size_t size = 0;
    FILE *script = open_memstream(&text, &size);
    assert_non_null(script);
    assert_int_equal(pto_plot_script(&plot, "a.svg", script, NULL), PTO_OK);
    fclose(script);
    return keep(text, free);
}

static int occurrences(const char *text, const char *word) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

TEST(each_strategy_is_a_line_and_intervals_are_bands) {
    const asked_t *asked = ask_here();
    char *script = script_of(asked, NULL, 0);
    assert_non_null(strstr(script, "set terminal svg"));
    assert_non_null(strstr(script, "set title 'asked'"));
    assert_non_null(strstr(script, "'machine '.'it''s made, 2 nodes, 1 GPU a node, 4 processes a GPU'"));
    assert_int_equal(occurrences(script, "with lines"), 3);
    assert_int_equal(occurrences(script, "title 'three_step'"), 1);
    assert_int_equal(occurrences(script, "filledcurves"), 1); /* cuda_aware's alone */
    assert_int_equal(occurrences(script, "$measured"), 0);
}

/* Returns the number behind the first occurrence of `text`, which the script must have. */
static double number_after(const char *script, const char *text) {
    const char *at = strstr(script, text);
    assert_non_null(at);
    return strtod(at + strlen(text), NULL);
}

TEST(each_change_is_a_line_of_the_title) {
    asked_t *asked = ask_here();
    static const char *const change[] = {"copies.*=/2", "network.contention=0"};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pto_what_if(change[i], &asked->scenario, &asked->machine, NULL), PTO_OK);
    char *script = script_of(asked, NULL, 0);
    assert_null(strstr(script, "u000a"));
    assert_non_null(strstr(script, "'what if '.'copies.*=/2 (4 parameters)'.\"\\n\".'what if '.'network"));
    assert_true(number_after(script, "tmargin at screen ") == 0.835); /* 600 - 18 * 5.5 px: 4 lines */
}

TEST(a_long_title_leaves_the_panels_their_height) {
    asked_t *asked = ask_here();
    enum { CHANGES = 12, ROW_PX = 18 };
    for (int i = 0; i < CHANGES; i++)
        assert_int_equal(pto_what_if("network.contention=0", &asked->scenario, &asked->machine, NULL),
                         PTO_OK);
    char *script = script_of(asked, NULL, 0);
    assert_true(number_after(script, "size 1016,") > ROW_PX * CHANGES + 480);
}

TEST(picks_are_bands_below) {
    const asked_t *asked = ask_here();
    char *script = script_of(asked, NULL, 0);
    assert_true(asked->range_count >= 2);
    assert_non_null(strstr(script, "rectangle from first 1, graph 0"));
    assert_int_equal(occurrences(script, "set object"), (int)asked->range_count);
}

TEST(bands_are_labelled_and_have_their_strategies_colours) {
    const asked_t *asked = ask_here();
    char *script = script_of(asked, NULL, 0), wanted[128];
    for (int64_t i = 0; i < asked->range_count; i++) {
        const char *name = asked->predictions.strategy[asked->range[i].winner]->name;
        snprintf(wanted, sizeof wanted, "set label '%s", name);
        if (asked->range[i].below > 1)
            assert_non_null(strstr(script, wanted));
        const char *colour = pto_strategy_colour(asked->predictions.strategy[asked->range[i].winner]);
        snprintf(wanted, sizeof wanted, "$predicted_%d using 1:2 with lines lw 2 lc rgb '%s'",
                 asked->range[i].winner, colour);
        assert_non_null(strstr(script, wanted));
        snprintf(wanted, sizeof wanted, "fc rgb '%s'", colour);
        assert_non_null(strstr(script, wanted));
    }
}

/* What does not apply at any point has neither a curve nor a line of the legend. */
TEST(no_two_curves_look_alike_and_the_legend_has_only_curves) {
    asked_t *asked = ask_here();
    enum { COUNT = 10, NOT_APPLICABLE = 4 };
    pto_predictions_t *own = &asked->predictions;
    pto_predictions_t many = *own;
    const pto_strategy_t *strategy[COUNT];
    pto_prediction_t *prediction = calloc(3 * COUNT, sizeof *prediction);
    assert_non_null(prediction);
    for (int i = 0; i < COUNT; i++) {
        strategy[i] = pto_strategy_at(i);
        for (int64_t point = 0; point < 3; point++) {
            prediction[point * COUNT + i] = own->prediction[point * own->strategy_count];
            prediction[point * COUNT + i].price.seconds *= 1 + i;
            prediction[point * COUNT + i].applicable = i != NOT_APPLICABLE;
        }
    }
    many.strategy_count = COUNT;
    many.strategy = strategy;
    many.prediction = prediction;
    const asked_t crowd = {.predictions = many};
    char *script = script_of(&crowd, NULL, 0), title[64];
    for (int i = 0; i < pto_strategy_count(); i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(pto_strategy_colour(pto_strategy_at(i)),
                                    pto_strategy_colour(pto_strategy_at(k)));
    for (int i = 0; i < COUNT; i++) {
        snprintf(title, sizeof title, "title '%s'", strategy[i]->name);
        assert_int_equal(occurrences(script, title), i != NOT_APPLICABLE);
    }
    assert_non_null(strstr(script, "set key at screen")); /* beside the panels, not on the curves */
    free(prediction);
}

/* No logarithm shows 0 bytes. */
TEST(zero_is_left_out) {
    const asked_t *asked = ask_here();
    char *script = script_of(asked, NULL, 0);
    assert_int_equal(occurrences(script, "\n0 "), 0);
    assert_int_equal(occurrences(script, "\n16 "), 3);
    assert_non_null(strstr(script, "set xrange [10.6666667:98304]"));
    assert_non_null(strstr(script, "'16 B' 16"));
    assert_non_null(strstr(script, "'64 KiB' 65536"));
}

TEST(measurements_are_points_once_where_they_coincide) {
    const asked_t *asked = ask_here();
    static const pto_plot_point_t point[] = {
        {0, 16, 1e-5}, {0, 16, 1.0001e-5}, {0, 16, 2e-5}, {2, 16, 1e-5}, {2, 0, 1e-5}};
    char *script = script_of(asked, point, sizeof point / sizeof *point);
    assert_int_equal(occurrences(script, "$measured_0 << EOD"), 1);
    assert_int_equal(occurrences(script, "$measured_1"), 0);
    assert_int_equal(occurrences(script, "\n15.396 1e-05\n"), 1); /* 16 / 1.08^0.5: left of the size */
    assert_int_equal(occurrences(script, "\n15.396 "), 2);
    assert_int_equal(occurrences(script, "\n16.6277 1e-05\n"), 1);
    assert_non_null(strstr(script, "'points: '.'measured.csv'"));
}

TEST(only_drawings_have_a_terminal) {
    const asked_t *asked = ask_here();
    pto_predict_plot_t drawn = {.predictions = &asked->predictions};
    pto_plot_t plot = pto_predict_plot(&drawn);
    static const char *const bad[] = {"a.pdf", "svg", "a.svg.gz", ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_error_t err = {0};
        assert_int_equal(pto_plot_draw(&plot, bad[i], &err), PTO_ERR_TYPE);
        assert_non_null(strstr(err.message, ".svg or .png"));
    }
}

TEST(a_file_that_cannot_be_written_is_named) {
    const asked_t *asked = ask_here();
    pto_predict_plot_t drawn = {.predictions = &asked->predictions};
    pto_plot_t plot = pto_predict_plot(&drawn);
    pto_error_t err = {0};
    assert_int_equal(pto_plot_draw(&plot, "/no/such/folder/a.svg", &err), PTO_ERR_IO);
    assert_string_equal(err.file, "/no/such/folder/a.svg");
    assert_non_null(strstr(err.message, "No such file"));
}

TEST(without_gnuplot_the_package_is_named_and_no_file_is_left) {
    const asked_t *asked = ask_here();
    pto_predict_plot_t drawn = {.predictions = &asked->predictions};
    pto_plot_t plot = pto_predict_plot(&drawn);
    pto_error_t err = {0};
    const char *before = getenv("PATH");
    char *kept = strdup(before ? before : "");
    assert_int_equal(make_folder(NULL), 0);
    const char *path = in_folder("a.svg");
    setenv("PATH", "/no/such/folder", 1);
    assert_int_equal(pto_plot_draw(&plot, path, &err), PTO_ERR_IO);
    setenv("PATH", kept, 1);
    free(kept);
    assert_non_null(strstr(err.message, "gnuplot-nox"));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* gnuplot itself ends with 0 there. */
TEST(a_drawing_that_the_disk_does_not_hold_is_an_error) {
    const asked_t *asked = ask_here();
    pto_plot_point_t none;
    pto_predict_plot_t drawn = {.predictions = &asked->predictions,
                                .range = asked->range,
                                .range_count = asked->range_count,
                                .point = &none};
    pto_plot_t plot = pto_predict_plot(&drawn);
    static const char *const ending[] = {"svg", "png"};
    if (system("command -v gnuplot >/dev/null") != 0)
        skip();
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        pto_error_t err = {0};
        char name[8];
        assert_int_equal(make_folder(NULL), 0);
        snprintf(name, sizeof name, "a.%s", ending[i]);
        const char *path = in_folder(name);
        assert_int_equal(symlink("/dev/full", path), 0);
        assert_int_equal(pto_plot_draw(&plot, path, &err), PTO_ERR_IO);
        assert_non_null(strstr(err.message, "No space left"));
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(folder), 0);
    }
}

/* --- measurements --------------------------------------------------------------------------------------- */

static pto_status_t read_points(const asked_t *asked, const char *text, pto_plot_point_t **point,
                                size_t *count, pto_error_t *err) {
    write_text(in_folder("measured.csv"), text);
    return pto_plot_points_read(in_folder("measured.csv"), &asked->predictions, point, count, err);
}

TEST_WITH(only_measurements_of_the_same_question_are_taken, make_folder, remove_folder) {
    const asked_t *asked = ask_here();
    pto_plot_point_t *point = NULL;
    size_t count = 0;
    assert_int_equal(read_points(asked, measured_text, &point, &count, NULL), PTO_OK);
    assert_int_equal(count, 3);
    assert_true(point[0].strategy == 0 && point[0].at == 16 && point[0].seconds == 1e-5);
    assert_true(point[1].strategy == 0 && point[1].at == 16 && point[1].seconds == 3e-5);
    assert_true(point[2].strategy == 2 && point[2].at == 65536 && point[2].seconds == 2e-4);
    free(point);
}

TEST_WITH(split_rows_that_a_file_warns_of_are_left_out, make_folder, remove_folder) {
    const asked_t *asked = ask_here();
    char text[sizeof measured_text + 64];
    snprintf(text, sizeof text, "# caveat_library_split=no such collective\n%s", measured_text);
    pto_plot_point_t *point = NULL;
    size_t count = 0;
    assert_int_equal(read_points(asked, text, &point, &count, NULL), PTO_OK);
    assert_int_equal(count, 2);
    free(point);
}

TEST_WITH(a_file_without_such_measurements_is_an_error, make_folder, remove_folder) {
    asked_t *asked = ask_here();
    pto_plot_point_t *point = NULL;
    size_t count = 0;
    pto_error_t err = {0};
    asked->scenario.layout.nodes = 3;
    assert_int_equal(read_points(asked, measured_text, &point, &count, &err), PTO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "3 nodes x 1 GPUs"));
    assert_null(point);
}
