/* A prediction as a gnuplot script: two panels over one another with the same horizontal axis, prices above
 * and the picked strategies below. */
#include "predict_plot.h"

#include <math.h>
#include <stdio.h>

#include "portolan/units.h"

/* How far the next strategy's points stand aside, and times that no eye could tell apart, as factors. */
#define ASIDE 1.08
#define ALIKE 1.02

enum { WIDTH_PX = 800, HEIGHT_PX = 560, TITLE_MAX = 512, TICS_MAX = 9 };

/* Told apart by the colour-blind too (Okabe and Ito 2008). */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#999999"};
enum { COLOUR_COUNT = (int)(sizeof colours / sizeof *colours) };

static const char *colour_of(int strategy) { return colours[strategy % COLOUR_COUNT]; }

/* --- data -------------------------------------------------------------------------------------------------
 */

/* A price in a row; the lower end of an interval may reach 0, which no logarithm shows. */
static void write_price(FILE *script, int64_t at, const pto_prediction_t *prediction) {
    const pto_price_t *price = &prediction->price;
    if (at < 1)
        return;
    if (!prediction->applicable || !(price->seconds > 0)) {
        fprintf(script, "%lld NaN NaN NaN\n", (long long)at);
        return;
    }
    double low_s = price->has_interval ? price->low_s : price->seconds;
    double high_s = price->has_interval ? price->high_s : price->seconds;
    if (low_s < price->seconds / 100)
        low_s = price->seconds / 100;
    fprintf(script, "%lld %.6g %.6g %.6g\n", (long long)at, price->seconds, low_s, high_s);
}

static void write_prices(FILE *script, const pto_predictions_t *predictions) {
    for (int i = 0; i < predictions->strategy_count; i++) {
        fprintf(script, "$predicted_%d << EOD\n", i);
        for (int64_t point = 0; point < predictions->point_count; point++)
            write_price(script, predictions->point[point], pto_prediction_at(predictions, point, i));
        fputs("EOD\n", script);
    }
}

static bool is_shown(const pto_predict_plot_t *drawn, size_t i, int strategy) {
    const pto_plot_point_t *point = &drawn->point[i];
    return point->strategy == strategy && point->at >= 1 && point->seconds > 0;
}

static bool is_measured(const pto_predict_plot_t *drawn, int strategy) {
    for (size_t i = 0; i < drawn->point_count; i++)
        if (is_shown(drawn, i, strategy))
            return true;
    return false;
}

/* Whether a point before lies in the same thin slice: hundreds of runs would else make a drawing of
 * megabytes. */
static bool is_covered(const pto_predict_plot_t *drawn, size_t i, int strategy) {
    const pto_plot_point_t *point = &drawn->point[i];
    long slice = lround(log(point->seconds) / log(ALIKE));
    for (size_t k = 0; k < i; k++)
        if (is_shown(drawn, k, strategy) && drawn->point[k].at == point->at &&
            lround(log(drawn->point[k].seconds) / log(ALIKE)) == slice)
            return true;
    return false;
}

/* Strategies' points stand side by side around their size, else the last drawn would hide the others. */
static void write_points(FILE *script, const pto_predict_plot_t *drawn, int strategy) {
    if (!is_measured(drawn, strategy))
        return;
    double aside = pow(ASIDE, strategy - (drawn->predictions->strategy_count - 1) / 2.0);
    fprintf(script, "$measured_%d << EOD\n", strategy);
    for (size_t i = 0; i < drawn->point_count; i++)
        if (is_shown(drawn, i, strategy) && !is_covered(drawn, i, strategy))
            fprintf(script, "%.6g %.6g\n", (double)drawn->point[i].at * aside, drawn->point[i].seconds);
    fputs("EOD\n", script);
}

/* --- the upper panel --------------------------------------------------------------------------------------
 */

static bool has_interval(const pto_predictions_t *predictions, int strategy) {
    for (int64_t point = 0; point < predictions->point_count; point++)
        if (pto_prediction_at(predictions, point, strategy)->price.has_interval)
            return true;
    return false;
}

/* A line needs two points. */
static const char *style_of(const pto_predictions_t *predictions) {
    return predictions->point_count > 1 ? "lines lw 2" : "points pt 2 ps 1.5";
}

static void write_strategies(FILE *script, const pto_predict_plot_t *drawn) {
    const pto_predictions_t *predictions = drawn->predictions;
    const char *comma = "plot ";
    for (int i = 0; i < predictions->strategy_count; i++, comma = ", \\\n  ") {
        if (has_interval(predictions, i)) {
            fprintf(script,
                    "%s$predicted_%d using 1:3:4 with filledcurves fs transparent solid 0.2 noborder "
                    "lc rgb '%s' notitle",
                    comma, i, colour_of(i));
            comma = ", \\\n  ";
        }
        fprintf(script, "%s$predicted_%d using 1:2 with %s lc rgb '%s' title ", comma, i,
                style_of(predictions), colour_of(i));
        pto_plot_quote(script, predictions->strategy[i]->name);
        if (is_measured(drawn, i))
            fprintf(script, ", \\\n  $measured_%d using 1:2 with points pt 7 ps 0.35 lc rgb '%s' notitle", i,
                    colour_of(i));
    }
    fputc('\n', script);
}

/* Nothing where there is no text. */
static void write_title_line(FILE *script, const char *label, const char *text) {
    if (!text)
        return;
    fputs(".\"\\n\".", script);
    pto_plot_quote(script, label);
    fputc('.', script);
    pto_plot_quote(script, text);
}

/* As it is in force: a scenario's name may speak of another one. */
static void write_layout(FILE *script, const pto_predictions_t *predictions) {
    const pto_layout_t *layout = &predictions->scenario->layout;
    char nodes[32] = "", text[TITLE_MAX];
    if (predictions->sweep != PTO_SWEEP_NODES)
        snprintf(nodes, sizeof nodes, "%lld nodes of ", (long long)layout->nodes);
    snprintf(text, sizeof text, "%s, %s%lld GPUs, %lld processes a GPU", predictions->machine->name, nodes,
             (long long)layout->gpus_per_node, (long long)layout->cores_per_gpu);
    write_title_line(script, "machine ", text);
}

static void write_title(FILE *script, const pto_predict_plot_t *drawn) {
    const pto_scenario_t *scenario = drawn->predictions->scenario;
    const pto_machine_t *machine = drawn->predictions->machine;
    fputs("set title ", script);
    pto_plot_quote(script, scenario->name ? scenario->name : pto_collective_name(scenario->collective));
    write_layout(script, drawn->predictions);
    write_title_line(script, "model ", machine->model);
    write_title_line(script, "what if ", machine->what_if);
    write_title_line(script, "points: ", drawn->measured);
    fputc('\n', script);
}

/* Some of the swept values; the upper panel has no text at them, since the lower one's stands below. */
static void write_tics(FILE *script, const pto_predictions_t *predictions, bool labelled) {
    int64_t stride = (predictions->point_count + TICS_MAX - 1) / TICS_MAX;
    const char *comma = "set xtics (";
    for (int64_t point = 0; point < predictions->point_count; point += stride) {
        char text[PTO_BYTES_TEXT_MAX] = "";
        if (predictions->point[point] < 1)
            continue;
        if (labelled && predictions->sweep == PTO_SWEEP_BYTES)
            pto_bytes_format(predictions->point[point], text, sizeof text);
        else if (labelled)
            snprintf(text, sizeof text, "%lld", (long long)predictions->point[point]);
        fprintf(script, "%s'%s' %lld", comma, text, (long long)predictions->point[point]);
        comma = ", ";
    }
    fputs(*comma == ',' ? ")\n" : "unset xtics\n", script);
}

/* Room at both ends, so that a single point or range is seen as well. */
static void write_axes(FILE *script, const pto_predictions_t *predictions) {
    int64_t count = predictions->point_count;
    double first = (double)predictions->point[0], last = (double)predictions->point[count - 1];
    if (first < 1)
        first = count > 1 ? (double)predictions->point[1] : 1;
    if (last < first)
        last = first;
    fprintf(script, "set logscale x 2\nset xrange [%.9g:%.9g]\nset grid\nset lmargin 11\nset rmargin 3\n",
            first / 1.5, last * 1.5);
    write_tics(script, predictions, false);
}

/* --- the lower panel --------------------------------------------------------------------------------------
 */

/* From the point where a strategy begins to be picked to where the next one is; toss-ups are paler. */
static void write_band(FILE *script, const pto_predict_plot_t *drawn) {
    double last = (double)drawn->predictions->point[drawn->predictions->point_count - 1] * 1.5;
    for (int64_t i = 0; i < drawn->range_count; i++) {
        const pto_range_t *range = &drawn->range[i];
        if (range->winner < 0 || range->below < 2)
            continue;
        fprintf(script,
                "set object %d rectangle from first %.9g, graph 0 to first %.9g, graph 1 "
                "fc rgb '%s' fs solid %s noborder\n",
                (int)i + 1, range->from > 0 ? (double)range->from : 1.0,
                range->below == INT64_MAX ? last : (double)range->below, colour_of(range->winner),
                range->toss_up ? "0.35" : "1.0");
    }
    write_tics(script, drawn->predictions, true);
    fprintf(script,
            "unset title\nunset key\nunset logscale y\nset yrange [0:1]\nunset ytics\nunset grid\n"
            "set ylabel 'pick'\nset xlabel '%s (a pale pick is a toss-up)'\nset tmargin 0\nset bmargin 3.5\n"
            "set size 1,0.2\nset origin 0,0\nplot NaN notitle\n",
            pto_sweep_kind_name(drawn->predictions->sweep));
}

static void write_script(FILE *script, const void *context) {
    const pto_predict_plot_t *drawn = context;
    const pto_predictions_t *predictions = drawn->predictions;
    write_prices(script, predictions);
    for (int i = 0; i < predictions->strategy_count; i++)
        write_points(script, drawn, i);
    fputs("set multiplot\nset size 1,0.8\nset origin 0,0.2\nset bmargin 1\n"
          "set logscale y 10\nset format y '%.0s %cs'\nset ylabel 'time'\nset key left top\n",
          script);
    write_title(script, drawn);
    write_axes(script, predictions);
    write_strategies(script, drawn);
    write_band(script, drawn);
    fputs("unset multiplot\n", script);
}

pto_plot_t pto_predict_plot(const pto_predict_plot_t *predict_plot) {
    return (pto_plot_t){WIDTH_PX, HEIGHT_PX, write_script, predict_plot};
}
