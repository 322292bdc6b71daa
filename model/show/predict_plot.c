/* A prediction as a gnuplot script: two panels with the same horizontal axis, prices above and the picked
 * strategies below. */
#include "predict_plot.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "layout_text.h"
#include "portolan/units.h"
#include "table.h"

/* Factors: horizontal distance between strategies' points, and relative difference that is invisible. */
#define ASIDE 1.08
#define ALIKE 1.02

/* The legend is to the right of both panels. In pixels. */
enum {
    WIDTH_PX = 1016, /* the least */
    HEIGHT_PX = 600,
    PANEL_LEFT_PX = 104,
    PANEL_RIGHT_PX = 810,
    BAND_BOTTOM_PX = 64,
    BAND_HEIGHT_PX = 112,
    LEGEND_ROW_PX = 18,
    CHARACTER_PX = 7,
    KEY_CHARACTER_PX = 9, /* the widest of the terminals' fonts */
    KEY_SAMPLE_PX = 56,
    LINES_MAX = 8, /* unless the scenario names its strategies, or more are picked */
    TITLE_MAX = 512,
    LABEL_MAX = 256,
    TICS_MAX = 9
};

static bool is_picked(const pto_predict_plot_t *drawn, int strategy) {
    for (int64_t i = 0; i < drawn->range_count; i++)
        if (drawn->range[i].winner == strategy)
            return true;
    return false;
}

/* --- which strategies are drawn ------------------------------------------------------------------------- */

static bool has_price(const pto_predictions_t *predictions, int64_t point, int strategy) {
    const pto_prediction_t *prediction = pto_prediction_at(predictions, point, strategy);
    return predictions->point[point] >= 1 && prediction->applicable && prediction->price.seconds > 0;
}

static double cheapest_s(const pto_predictions_t *predictions, int64_t point) {
    double least_s = INFINITY;
    for (int i = 0; i < predictions->strategy_count; i++)
        if (has_price(predictions, point, i))
            least_s = fmin(least_s, pto_prediction_at(predictions, point, i)->price.seconds);
    return least_s;
}

/* The smallest factor to the cheapest price at any point; INFINITY: no price within the axes. */
static double distance_of(const pto_predictions_t *predictions, int strategy) {
    double least = INFINITY;
    for (int64_t point = 0; point < predictions->point_count; point++)
        if (has_price(predictions, point, strategy))
            least = fmin(least, pto_prediction_at(predictions, point, strategy)->price.seconds /
                                    cheapest_s(predictions, point));
    return least;
}

static bool is_drawn(const pto_predict_plot_t *drawn, int strategy) {
    return drawn->line[strategy / 64] >> strategy % 64 & 1;
}

static void draw_line(pto_predict_plot_t *drawn, int strategy) {
    drawn->line[strategy / 64] |= UINT64_C(1) << strategy % 64;
    drawn->line_count++;
}

/* The strategy not yet drawn that comes nearest to the cheapest; -1: none is left. */
static int nearest_left(const pto_predict_plot_t *drawn) {
    int nearest = -1;
    double least = INFINITY;
    for (int i = 0; i < drawn->predictions->strategy_count; i++) {
        double distance = is_drawn(drawn, i) ? INFINITY : distance_of(drawn->predictions, i);
        if (distance < least) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}

/* The picks, then those that come nearest to them. */
static void choose_lines(pto_predict_plot_t *drawn) {
    const pto_predictions_t *predictions = drawn->predictions;
    bool all = predictions->scenario->strategy_count > 0;
    memset(drawn->line, 0, sizeof drawn->line);
    drawn->line_count = drawn->left_out = 0;
    for (int i = 0; i < predictions->strategy_count; i++)
        if (is_picked(drawn, i) && isfinite(distance_of(predictions, i)))
            draw_line(drawn, i);
    for (int next; (all || drawn->line_count < LINES_MAX) && (next = nearest_left(drawn)) >= 0;)
        draw_line(drawn, next);
    for (int i = 0; i < predictions->strategy_count; i++)
        drawn->left_out += !is_drawn(drawn, i) && isfinite(distance_of(predictions, i));
}

static const char *colour_of(const pto_predict_plot_t *drawn, int strategy) {
    return pto_strategy_colour(drawn->predictions->strategy[strategy]);
}

/* --- data ---------------------------------------------------------------------------------------------- */

/* A price as a row. The lower end of an interval can be 0, which a logarithmic axis cannot show. */
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

static void write_prices(FILE *script, const pto_predict_plot_t *drawn) {
    const pto_predictions_t *predictions = drawn->predictions;
    for (int i = 0; i < predictions->strategy_count; i++) {
        if (!is_drawn(drawn, i))
            continue;
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

/* Whether an earlier point is in the same thin slice: otherwise hundreds of runs would make a drawing of
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

/* Strategies' points are drawn side by side around their size, so that none hides another. */
static void write_points(FILE *script, const pto_predict_plot_t *drawn, int strategy) {
    if (!is_drawn(drawn, strategy) || !is_measured(drawn, strategy))
        return;
    double aside = pow(ASIDE, strategy - (drawn->predictions->strategy_count - 1) / 2.0);
    fprintf(script, "$measured_%d << EOD\n", strategy);
    for (size_t i = 0; i < drawn->point_count; i++)
        if (is_shown(drawn, i, strategy) && !is_covered(drawn, i, strategy))
            fprintf(script, "%.6g %.6g\n", (double)drawn->point[i].at * aside, drawn->point[i].seconds);
    fputs("EOD\n", script);
}

/* --- the upper panel ----------------------------------------------------------------------------------- */

static bool has_interval(const pto_predictions_t *predictions, int strategy) {
    for (int64_t point = 0; point < predictions->point_count; point++)
        if (pto_prediction_at(predictions, point, strategy)->price.has_interval)
            return true;
    return false;
}

/* A line needs two points. */
static void write_style(FILE *script, const pto_predict_plot_t *drawn, int strategy) {
    fprintf(script, "%s lc rgb '%s'",
            drawn->predictions->point_count > 1 ? "lines lw 2" : "points pt 2 ps 1.5",
            colour_of(drawn, strategy));
}

static void write_strategy(FILE *script, const pto_predict_plot_t *drawn, int strategy) {
    const pto_predictions_t *predictions = drawn->predictions;
    const char *colour = colour_of(drawn, strategy);
    if (has_interval(predictions, strategy))
        fprintf(script,
                ", \\\n  $predicted_%d using 1:3:4 with filledcurves fs transparent solid 0.2 noborder lc "
                "rgb '%s' notitle",
                strategy, colour);
    fprintf(script, ", \\\n  $predicted_%d using 1:2 with ", strategy);
    write_style(script, drawn, strategy);
    fputs(" title ", script);
    pto_plot_quote(script, predictions->strategy[strategy]->name);
    if (is_measured(drawn, strategy))
        fprintf(script, ", \\\n  $measured_%d using 1:2 with points pt 7 ps 0.35 lc rgb '%s' notitle",
                strategy, colour);
}

/* "+ 12 slower", or nothing if all are drawn. */
static const char *left_out_text(const pto_predict_plot_t *drawn, char text[LABEL_MAX]) {
    *text = '\0';
    if (drawn->left_out > 0)
        snprintf(text, LABEL_MAX, "+ %d slower", drawn->left_out);
    return text;
}

/* The picks are the first lines of the legend. */
static void write_strategies(FILE *script, const pto_predict_plot_t *drawn) {
    const pto_predictions_t *predictions = drawn->predictions;
    char text[LABEL_MAX];
    fputs("plot NaN notitle", script);
    for (int picked = 1; picked >= 0; picked--)
        for (int i = 0; i < predictions->strategy_count; i++)
            if (is_drawn(drawn, i) && is_picked(drawn, i) == picked)
                write_strategy(script, drawn, i);
    if (*left_out_text(drawn, text)) {
        fputs(", \\\n  NaN with lines lc rgb 'white' title ", script);
        pto_plot_quote(script, text);
    }
    fputc('\n', script);
}

/* Prints nothing if there is no text. */
static void write_title_line(FILE *script, const char *label, const char *text) {
    if (!text)
        return;
    fputs(".\"\\n\".", script);
    pto_plot_quote(script, label);
    fputc('.', script);
    pto_plot_quote(script, text);
}

/* The layout in use, which a scenario's name need not mention. */
static void write_layout(FILE *script, const pto_predictions_t *predictions) {
    const pto_layout_t *layout = &predictions->scenario->layout;
    char where[PTO_LAYOUT_TEXT_MAX], text[TITLE_MAX];
    snprintf(text, sizeof text, "%s, %s", pto_machine_name(predictions->machine),
             predictions->sweep == PTO_SWEEP_NODES ? pto_node_text(layout, where)
                                                   : pto_nodes_text(layout, where));
    write_title_line(script, "machine ", text);
}

/* Without the names and values in parentheses, for which a title has no room. */
static void write_changes(FILE *script, const pto_machine_t *machine) {
    const char *notes = pto_machine_what_if(machine);
    char text[TITLE_MAX];
    size_t length = 0;
    for (bool named = false; notes && *notes && length + 1 < sizeof text; notes++) {
        named = (named || (notes[0] == ':' && notes[1] == ' ')) && *notes != ')';
        if (!named)
            text[length++] = *notes;
    }
    text[length] = '\0';
    write_title_line(script, "what if ", notes ? text : NULL);
}

static void write_title(FILE *script, const pto_predict_plot_t *drawn) {
    const pto_scenario_t *scenario = drawn->predictions->scenario;
    const pto_machine_t *machine = drawn->predictions->machine;
    fputs("set title ", script);
    pto_plot_quote(script, scenario->name ? scenario->name : pto_collective_name(scenario->collective));
    write_layout(script, drawn->predictions);
    write_title_line(script, "model ", pto_machine_model(machine));
    write_changes(script, machine);
    write_title_line(script, "points: ", drawn->measured);
    fputc('\n', script);
}

/* Some of the swept values as tics; only the lower panel labels them. */
static void write_tics(FILE *script, const pto_predictions_t *predictions, bool labelled) {
    int64_t stride = (predictions->point_count + TICS_MAX - 1) / TICS_MAX;
    const char *comma = "set xtics (";
    for (int64_t point = 0; point < predictions->point_count; point += stride) {
        char text[PTO_BYTES_TEXT_MAX] = "";
        if (predictions->point[point] < 1)
            continue;
        if (labelled)
            pto_point_short(predictions, predictions->point[point], text);
        fprintf(script, "%s'%s' %lld", comma, text, (long long)predictions->point[point]);
        comma = ", ";
    }
    fputs(*comma == ',' ? ")\n" : "unset xtics\n", script);
}

/* Margins at both ends, so that a single point or range is visible. */
static void find_limits(const pto_predictions_t *predictions, double *from, double *to) {
    int64_t count = predictions->point_count;
    double first = (double)predictions->point[0], last = (double)predictions->point[count - 1];
    if (first < 1)
        first = count > 1 ? (double)predictions->point[1] : 1;
    if (last < first)
        last = first;
    *from = first / 1.5;
    *to = last * 1.5;
}

static void write_axes(FILE *script, const pto_predictions_t *predictions) {
    double from, to;
    find_limits(predictions, &from, &to);
    fprintf(script, "set logscale x 2\nset xrange [%.9g:%.9g]\nset grid\n", from, to);
    write_tics(script, predictions, false);
}

/* --- the lower panel ----------------------------------------------------------------------------------- */

/* The winner and the strategies that tie with it, or only their number. */
static void format_names(const pto_predict_plot_t *drawn, const pto_range_t *range, bool counted, char *text,
                         size_t text_size) {
    const pto_predictions_t *predictions = drawn->predictions;
    int end = snprintf(text, text_size, "%s", predictions->strategy[range->winner]->name);
    if (counted && range->tied > 0)
        snprintf(text + end, text_size - (size_t)end, " + %d", range->tied);
    for (int i = 0; !counted && i < predictions->strategy_count && (size_t)end < text_size; i++)
        if (pto_range_is_tied(predictions, range, i))
            end += snprintf(text + end, text_size - (size_t)end, " = %s", predictions->strategy[i]->name);
}

static bool is_doubtful(const pto_range_t *range) { return range->near_tie || range->overlap; }

/* In the band: horizontal if it fits, otherwise vertical, otherwise no text but the colours. */
static void write_label(FILE *script, const pto_predict_plot_t *drawn, const pto_range_t *range, double from,
                        double to) {
    double first, last;
    char text[LABEL_MAX];
    find_limits(drawn->predictions, &first, &last);
    from = from < first ? first : from;
    double room_px = (PANEL_RIGHT_PX - PANEL_LEFT_PX) * log(to / from) / log(last / first);
    format_names(drawn, range, false, text, sizeof text);
    if (CHARACTER_PX * (double)strlen(text) > room_px)
        format_names(drawn, range, true, text, sizeof text);
    bool level = CHARACTER_PX * (double)strlen(text) < room_px;
    if (!level && (room_px < 2 * CHARACTER_PX || CHARACTER_PX * (double)strlen(text) > BAND_HEIGHT_PX))
        return;
    fputs("set label ", script);
    pto_plot_quote(script, text);
    fprintf(script, " at first %.9g, graph 0.5 center%s font ',10' front tc rgb '%s'\n", sqrt(from * to),
            level ? "" : " rotate by 90",
            is_doubtful(range) ? "black" : pto_strategy_ink(drawn->predictions->strategy[range->winner]));
}

/* From the point at which a strategy becomes the pick to the next pick; doubtful picks are paler. */
static void write_ranges(FILE *script, const pto_predict_plot_t *drawn) {
    double first, last;
    find_limits(drawn->predictions, &first, &last);
    for (int64_t i = 0; i < drawn->range_count; i++) {
        const pto_range_t *range = &drawn->range[i];
        if (range->winner < 0 || range->below < 2)
            continue;
        double from = range->from > 0 ? (double)range->from : 1.0;
        double to = range->below == INT64_MAX ? last : (double)range->below;
        fprintf(script,
                "set object %d rectangle from first %.9g, graph 0 to first %.9g, graph 1 fc rgb '%s' fs "
                "solid %s noborder\n",
                (int)i + 1, from, to, colour_of(drawn, range->winner), is_doubtful(range) ? "0.35" : "1.0");
        write_label(script, drawn, range, from, to);
    }
}

static PTO_NAME_FUNCTION(bytes_axis, pto_data_t, PTO_DATA_COUNT, "bytes",
                         {[PTO_DATA_VECTOR] = "bytes",
                          [PTO_DATA_BLOCKS] = "bytes per destination",
                          [PTO_DATA_MESSAGES] = "bytes per message",
                          [PTO_DATA_PAIR] = "bytes per message",
                          [PTO_DATA_GRID] = "bytes per cell",
                          [PTO_DATA_GATHERED] = "bytes per process",
                          [PTO_DATA_SCATTERED] = "bytes per process"});

static const char *axis_of(const pto_predictions_t *predictions) {
    return predictions->sweep == PTO_SWEEP_BYTES
               ? bytes_axis(pto_collective_data(predictions->scenario->collective))
               : pto_sweep_kind_name(predictions->sweep);
}

static bool has_toss_up(const pto_predict_plot_t *drawn) {
    for (int64_t i = 0; i < drawn->range_count; i++)
        if (is_doubtful(&drawn->range[i]))
            return true;
    return false;
}

static int height_of(const pto_predict_plot_t *drawn) {
    int needed_px = (drawn->line_count + 5) * LEGEND_ROW_PX;
    return needed_px > HEIGHT_PX ? needed_px : HEIGHT_PX;
}

static int width_of(const pto_predict_plot_t *drawn) {
    char text[LABEL_MAX];
    size_t longest = strlen(left_out_text(drawn, text));
    for (int i = 0; i < drawn->predictions->strategy_count; i++)
        if (is_drawn(drawn, i) && strlen(drawn->predictions->strategy[i]->name) > longest)
            longest = strlen(drawn->predictions->strategy[i]->name);
    int needed_px = PANEL_RIGHT_PX + KEY_SAMPLE_PX + KEY_CHARACTER_PX * (int)longest;
    return needed_px > WIDTH_PX ? needed_px : WIDTH_PX;
}

/* A panel's margins, which gnuplot expects as fractions of the whole. */
static void write_margins(FILE *script, const pto_predict_plot_t *drawn, int bottom_px, int top_px) {
    double width = width_of(drawn), height = height_of(drawn);
    fprintf(script,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
            "set bmargin at screen %.4f\nset tmargin at screen %.4f\n",
            PANEL_LEFT_PX / width, PANEL_RIGHT_PX / width, bottom_px / height, top_px / height);
}

static void write_band(FILE *script, const pto_predict_plot_t *drawn) {
    write_margins(script, drawn, BAND_BOTTOM_PX, BAND_BOTTOM_PX + BAND_HEIGHT_PX);
    write_ranges(script, drawn);
    write_tics(script, drawn->predictions, true);
    fprintf(script,
            "unset title\nunset key\nunset logscale y\nset yrange [0:1]\nunset ytics\nunset grid\n"
            "set ylabel 'pick'\nset xlabel '%s%s'\nplot NaN notitle\n",
            axis_of(drawn->predictions), has_toss_up(drawn) ? " (a pale pick is a near-tie or unsure)" : "");
}

static int title_lines(const pto_predict_plot_t *drawn) {
    const pto_machine_t *machine = drawn->predictions->machine;
    return 2 + (pto_machine_model(machine) != NULL) + (pto_machine_what_if(machine) != NULL) +
           (drawn->measured != NULL);
}

static void write_script(FILE *script, const void *context) {
    const pto_predict_plot_t *drawn = context;
    const pto_predictions_t *predictions = drawn->predictions;
    int top_px = height_of(drawn) - LEGEND_ROW_PX * (title_lines(drawn) + 1) - LEGEND_ROW_PX / 2;
    write_prices(script, drawn);
    for (int i = 0; i < predictions->strategy_count; i++)
        write_points(script, drawn, i);
    fputs("set multiplot\nset logscale y 10\nset format y '%.0s %cs'\nset ylabel 'time'\n", script);
    fprintf(script, "set key at screen %.4f, %.4f left top Left reverse samplen 3 maxcols 1\n",
            (PANEL_RIGHT_PX + 8.0) / width_of(drawn), top_px / (double)height_of(drawn));
    write_margins(script, drawn, BAND_BOTTOM_PX + BAND_HEIGHT_PX + LEGEND_ROW_PX, top_px);
    write_title(script, drawn);
    write_axes(script, predictions);
    write_strategies(script, drawn);
    write_band(script, drawn);
    fputs("unset multiplot\n", script);
}

pto_plot_t pto_predict_plot(pto_predict_plot_t *predict_plot) {
    choose_lines(predict_plot);
    return (pto_plot_t){width_of(predict_plot), height_of(predict_plot), write_script, predict_plot};
}
