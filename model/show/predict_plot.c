/* `predict --plot`: a prediction as a gnuplot script. The upper panel has the price of each strategy as a
 * line, and measurements as points; the lower panel is a band of rectangles, coloured by the cheapest
 * strategy. */
#include "predict_plot.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "command_line/terminal.h"
#include "portolan/units.h"
#include "table.h"

/* The measurements of two strategies at the same size are shifted apart by SHIFT (a factor, as the axis is
 * logarithmic), so that none hides another. Those of all strategies stay within ALL_SHIFTS. */
#define SHIFT 1.08
#define ALL_SHIFTS 1.3

/* Of a strategy's measurements at one size whose times differ by less than this ratio, one is drawn. */
#define EQUAL_RATIO 1.02

/* Both panels have the same width; the legend is to their right. The widths of characters are estimates of
 * the widest among the fonts of gnuplot's terminals. */
enum {
    LEAST_WIDTH_PX = 1016,
    LEAST_HEIGHT_PX = 600,
    LEAST_PANELS_PX = 480,
    PANEL_LEFT_PX = 104,
    PANEL_RIGHT_PX = 810,
    BAND_BOTTOM_PX = 64,
    BAND_HEIGHT_PX = 112,
    LEGEND_ROW_PX = 18,
    CHARACTER_PX = 7,
    KEY_CHARACTER_PX = 9,
    KEY_SAMPLE_PX = 56,
    USUAL_LINES = 8, /* more if more strategies are picked, or if the scenario names its strategies */
    TITLE_MAX = 512,
    LABEL_MAX = 256,
    TICS_MAX = 9
};

static bool is_picked(const pto_predict_plot_t *plot, int strategy) {
    for (int64_t i = 0; i < plot->range_count; i++)
        if (plot->range[i].winner == strategy)
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

/* Returns the least ratio, over all points, of a strategy's price to the cheapest; INFINITY if it has no
 * price that the axes show. */
static double distance_of(const pto_predictions_t *predictions, int strategy) {
    double least = INFINITY;
    for (int64_t point = 0; point < predictions->point_count; point++)
        if (has_price(predictions, point, strategy))
            least = fmin(least, pto_prediction_at(predictions, point, strategy)->price.seconds /
                                    cheapest_s(predictions, point));
    return least;
}

static bool is_drawn(const pto_predict_plot_t *plot, int strategy) {
    return plot->line[strategy / 64] >> strategy % 64 & 1;
}

static void select_line(pto_predict_plot_t *plot, int strategy) {
    assert(strategy / 64 < (int)(sizeof plot->line / sizeof *plot->line));
    plot->line[strategy / 64] |= UINT64_C(1) << strategy % 64;
    plot->line_count++;
}

/* Returns the strategy with the least distance_of among those not yet selected; -1 if there is none. */
static int nearest_undrawn(const pto_predict_plot_t *plot) {
    int nearest = -1;
    double least = INFINITY;
    for (int i = 0; i < plot->predictions->strategy_count; i++) {
        double distance = is_drawn(plot, i) ? INFINITY : distance_of(plot->predictions, i);
        if (distance < least) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}

/* Selects each strategy that is picked somewhere, then those nearest to the cheapest: up to USUAL_LINES or,
 * if the scenario names its strategies, all. */
static void choose_lines(pto_predict_plot_t *plot) {
    const pto_predictions_t *predictions = plot->predictions;
    bool all = predictions->scenario->strategy_count > 0;
    memset(plot->line, 0, sizeof plot->line);
    plot->line_count = plot->left_out = 0;
    for (int i = 0; i < predictions->strategy_count; i++)
        if (is_picked(plot, i) && isfinite(distance_of(predictions, i)))
            select_line(plot, i);
    while (all || plot->line_count < USUAL_LINES) {
        const int next = nearest_undrawn(plot);
        if (next < 0)
            break;
        select_line(plot, next);
    }
    for (int i = 0; i < predictions->strategy_count; i++)
        plot->left_out += !is_drawn(plot, i) && isfinite(distance_of(predictions, i));
}

static const char *colour_of(const pto_predict_plot_t *plot, int strategy) {
    return pto_strategy_colour(plot->predictions->strategy[strategy]);
}

/* --- data ---------------------------------------------------------------------------------------------- */

/* Writes a price and its interval as a row of data, at the swept value `x`. The lower end of an interval can
 * be 0, which a logarithmic axis cannot show: then it is a hundredth of the price. */
static void write_price(FILE *script, int64_t x, const pto_prediction_t *prediction) {
    const pto_price_t *price = &prediction->price;
    if (x < 1)
        return;
    if (!prediction->applicable || !(price->seconds > 0)) {
        fprintf(script, "%lld NaN NaN NaN\n", (long long)x);
        return;
    }
    double low_s = price->has_interval ? price->low_s : price->seconds;
    double high_s = price->has_interval ? price->high_s : price->seconds;
    if (low_s < price->seconds / 100)
        low_s = price->seconds / 100;
    fprintf(script, "%lld %.6g %.6g %.6g\n", (long long)x, price->seconds, low_s, high_s);
}

static void write_prices(FILE *script, const pto_predict_plot_t *plot) {
    const pto_predictions_t *predictions = plot->predictions;
    for (int i = 0; i < predictions->strategy_count; i++) {
        if (!is_drawn(plot, i))
            continue;
        fprintf(script, "$predicted_%d << EOD\n", i);
        for (int64_t point = 0; point < predictions->point_count; point++)
            write_price(script, predictions->point[point], pto_prediction_at(predictions, point, i));
        fputs("EOD\n", script);
    }
}

/* Whether the i-th measurement is one of this strategy that the axes can show. */
static bool is_shown(const pto_predict_plot_t *plot, size_t i, int strategy) {
    const pto_plot_point_t *point = &plot->point[i];
    return point->strategy == strategy && point->at >= 1 && point->seconds > 0;
}

static bool is_measured(const pto_predict_plot_t *plot, int strategy) {
    for (size_t i = 0; i < plot->point_count; i++)
        if (is_shown(plot, i, strategy))
            return true;
    return false;
}

/* Returns whether an earlier measurement of the strategy at the same size is nearly equal, so that it hides
 * this one. Drawing hundreds of runs on top of each other would make a file of megabytes. */
static bool is_covered(const pto_predict_plot_t *plot, size_t i, int strategy) {
    const pto_plot_point_t *point = &plot->point[i];
    long slice = lround(log(point->seconds) / log(EQUAL_RATIO));
    for (size_t k = 0; k < i; k++)
        if (is_shown(plot, k, strategy) && plot->point[k].at == point->at &&
            lround(log(plot->point[k].seconds) / log(EQUAL_RATIO)) == slice)
            return true;
    return false;
}

/* Writes the measurements of a strategy. The strategies that have any share the shift: the middle one is not
 * shifted, and each other one by a factor from its neighbor. */
static void write_points(FILE *script, const pto_predict_plot_t *plot, int strategy) {
    if (!is_drawn(plot, strategy) || !is_measured(plot, strategy))
        return;
    int before = 0, count = 0;
    for (int i = 0; i < plot->predictions->strategy_count; i++)
        if (is_drawn(plot, i) && is_measured(plot, i)) {
            before += i < strategy;
            count++;
        }
    double shift = pow(fmin(SHIFT, pow(ALL_SHIFTS, 1.0 / count)), before - (count - 1) / 2.0);
    fprintf(script, "$measured_%d << EOD\n", strategy);
    for (size_t i = 0; i < plot->point_count; i++)
        if (is_shown(plot, i, strategy) && !is_covered(plot, i, strategy))
            fprintf(script, "%.6g %.6g\n", (double)plot->point[i].at * shift, plot->point[i].seconds);
    fputs("EOD\n", script);
}

/* --- the upper panel ----------------------------------------------------------------------------------- */

/* Whether a strategy's price has an interval at any point. */
static bool has_interval(const pto_predictions_t *predictions, int strategy) {
    for (int64_t point = 0; point < predictions->point_count; point++)
        if (pto_prediction_at(predictions, point, strategy)->price.has_interval)
            return true;
    return false;
}

/* Writes the style of a strategy's prices: a line, or a cross if there is one point only. */
static void write_style(FILE *script, const pto_predict_plot_t *plot, int strategy) {
    fprintf(script, "%s lc rgb '%s'",
            plot->predictions->point_count > 1 ? "lines lw 2" : "points pt 2 ps 1.5",
            colour_of(plot, strategy));
}

static void write_strategy(FILE *script, const pto_predict_plot_t *plot, int strategy) {
    const pto_predictions_t *predictions = plot->predictions;
    const char *colour = colour_of(plot, strategy);
    if (has_interval(predictions, strategy))
        fprintf(script,
                ", \\\n  $predicted_%d using 1:3:4 with filledcurves fs transparent solid 0.2 noborder lc "
                "rgb '%s' notitle",
                strategy, colour);
    fprintf(script, ", \\\n  $predicted_%d using 1:2 with ", strategy);
    write_style(script, plot, strategy);
    fputs(" title ", script);
    pto_plot_quote(script, predictions->strategy[strategy]->name);
    if (is_measured(plot, strategy))
        fprintf(script, ", \\\n  $measured_%d using 1:2 with points pt 7 ps 0.35 lc rgb '%s' notitle",
                strategy, colour);
}

/* Formats the legend's last line, such as "+ 12 slower"; "" if all strategies are drawn. */
static const char *left_out_text(const pto_predict_plot_t *plot, char text[LABEL_MAX]) {
    *text = '\0';
    if (plot->left_out > 0)
        snprintf(text, LABEL_MAX, "+ %d slower", plot->left_out);
    return text;
}

/* Draws the picked strategies first, so that they are the first lines of the legend. */
static void write_strategies(FILE *script, const pto_predict_plot_t *plot) {
    const pto_predictions_t *predictions = plot->predictions;
    char text[LABEL_MAX];
    fputs("plot NaN notitle", script);
    for (int picked = 1; picked >= 0; picked--)
        for (int i = 0; i < predictions->strategy_count; i++)
            if (is_drawn(plot, i) && is_picked(plot, i) == picked)
                write_strategy(script, plot, i);
    if (*left_out_text(plot, text)) {
        fputs(", \\\n  NaN with lines lc rgb 'white' title ", script);
        pto_plot_quote(script, text);
    }
    fputc('\n', script);
}

/* Writes one more line of the title; nothing if `text` is NULL. */
static void write_title_line(FILE *script, const char *label, const char *text) {
    if (!text)
        return;
    fputs(".\"\\n\".", script);
    pto_plot_quote(script, label);
    fputc('.', script);
    pto_plot_quote(script, text);
}

/* Writes the machine and the layout, which a scenario's name need not mention, as a line of the title. */
static void write_layout(FILE *script, const pto_predictions_t *predictions) {
    const pto_layout_t *layout = &predictions->scenario->layout;
    char text[TITLE_MAX];
    snprintf(text, sizeof text, "%s, %s", pto_machine_name(predictions->machine),
             predictions->sweep == PTO_SWEEP_NODES ? PTO_NODE_TEXT(layout) : PTO_NODES_TEXT(layout));
    write_title_line(script, "machine ", text);
}

/* Writes each change by --what-if as a line of the title. A note such as "copies.*=/2 (8 parameters: ...)" is
 * cut at its colon: the title has no room for names of parameters. */
static void write_changes(FILE *script, const pto_machine_t *machine) {
    const char *note = pto_machine_what_if(machine);
    int length;
    for (const char *next; (next = pto_next_note(note, &length)); note = next) {
        const char *colon = strstr(note, ": ");
        bool is_cut = colon && colon < note + length;
        char text[TITLE_MAX];
        snprintf(text, sizeof text, "%.*s%s", is_cut ? (int)(colon - note) : length, note, is_cut ? ")" : "");
        write_title_line(script, "what if ", text);
    }
}

/* Returns the number of lines that write_title writes. */
static int title_lines(const pto_predict_plot_t *plot) {
    const pto_machine_t *machine = plot->predictions->machine;
    int count = 2 + (pto_machine_model(machine) != NULL) + (plot->measured != NULL), length;
    for (const char *note = pto_machine_what_if(machine); (note = pto_next_note(note, &length));)
        count++;
    return count;
}

static void write_title(FILE *script, const pto_predict_plot_t *plot) {
    const pto_scenario_t *scenario = plot->predictions->scenario;
    const pto_machine_t *machine = plot->predictions->machine;
    fputs("set title ", script);
    pto_plot_quote(script, scenario->name ? scenario->name : pto_collective_name(scenario->collective));
    write_layout(script, plot->predictions);
    write_title_line(script, "model ", pto_machine_model(machine));
    write_changes(script, machine);
    write_title_line(script, "points: ", plot->measured);
    fputc('\n', script);
}

/* Writes tics on the horizontal axis, at up to TICS_MAX of the swept values. Only the lower panel labels
 * them.
 */
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

/* Sets the ends of the horizontal axis: wider than the swept values, so that a single point or range is
 * visible, and above 0, which a logarithmic axis cannot show. */
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

/* Formats the label of a range, "nccl + 2": its winner, and how many strategies tie with it. */
static void format_tied_count(const pto_predict_plot_t *plot, const pto_range_t *range,
                              char text[LABEL_MAX]) {
    pto_line_t line = {.text = text, .size = LABEL_MAX};
    pto_line_add(&line, "%s", plot->predictions->strategy[range->winner]->name);
    if (range->tied > 0)
        pto_line_add(&line, " + %d", range->tied);
}

/* Formats the longer label "nccl = gas_split": the winner and the strategies that tie with it, by name. */
static void format_tied_names(const pto_predict_plot_t *plot, const pto_range_t *range,
                              char text[LABEL_MAX]) {
    const pto_predictions_t *predictions = plot->predictions;
    pto_line_t line = {.text = text, .size = LABEL_MAX};
    pto_line_add(&line, "%s", predictions->strategy[range->winner]->name);
    for (int i = 0; i < predictions->strategy_count; i++)
        if (pto_range_is_tied(predictions, range, i))
            pto_line_add(&line, " = %s", predictions->strategy[i]->name);
}

/* Returns whether another strategy may well be the cheapest in this range: its picks are drawn paler. */
static bool is_doubtful(const pto_range_t *range) { return range->near_tie || range->overlap; }

/* Writes a range's label into its rectangle: horizontally if it fits, otherwise vertically, otherwise not at
 * all. `from` and `to` are the rectangle's ends on the horizontal axis. */
static void write_label(FILE *script, const pto_predict_plot_t *plot, const pto_range_t *range, double from,
                        double to) {
    double first, last;
    char text[LABEL_MAX];
    find_limits(plot->predictions, &first, &last);
    from = from < first ? first : from;
    double room_px = (PANEL_RIGHT_PX - PANEL_LEFT_PX) * log(to / from) / log(last / first);
    format_tied_names(plot, range, text);
    if (CHARACTER_PX * (double)strlen(text) > room_px)
        format_tied_count(plot, range, text);
    bool is_horizontal = CHARACTER_PX * (double)strlen(text) < room_px;
    if (!is_horizontal &&
        (room_px < 2 * CHARACTER_PX || CHARACTER_PX * (double)strlen(text) > BAND_HEIGHT_PX))
        return;
    fputs("set label ", script);
    pto_plot_quote(script, text);
    fprintf(script, " at first %.9g, graph 0.5 center%s font ',10' front tc rgb '%s'\n", sqrt(from * to),
            is_horizontal ? "" : " rotate by 90",
            is_doubtful(range) ? "black" : pto_strategy_ink(plot->predictions->strategy[range->winner]));
}

/* Writes a rectangle for each range of picks, from the point at which its strategy becomes the cheapest to
 * that at which the next one does. A range that ends at 1 contains only 0, which the axis does not show. */
static void write_ranges(FILE *script, const pto_predict_plot_t *plot) {
    double first, last;
    find_limits(plot->predictions, &first, &last);
    for (int64_t i = 0; i < plot->range_count; i++) {
        const pto_range_t *range = &plot->range[i];
        if (range->winner < 0 || range->below <= 1)
            continue;
        double from = range->from > 0 ? (double)range->from : 1.0;
        double to = range->below == INT64_MAX ? last : (double)range->below;
        fprintf(script,
                "set object %d rectangle from first %.9g, graph 0 to first %.9g, graph 1 fc rgb '%s' fs "
                "solid %s noborder\n",
                (int)i + 1, from, to, colour_of(plot, range->winner), is_doubtful(range) ? "0.35" : "1.0");
        write_label(script, plot, range, from, to);
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

static bool has_doubtful_pick(const pto_predict_plot_t *plot) {
    for (int64_t i = 0; i < plot->range_count; i++)
        if (is_doubtful(&plot->range[i]))
            return true;
    return false;
}

/* Returns the distance from the upper edge to the upper panel: the title, and half a row on either side. */
static int title_px(const pto_predict_plot_t *plot) {
    return LEGEND_ROW_PX * (title_lines(plot) + 1) + LEGEND_ROW_PX / 2;
}

/* Returns a height that leaves room below the title for the panels, and beside them for the legend, whose
 * last row may tell how many strategies are left out. */
static int height_of(const pto_predict_plot_t *plot) {
    int legend_px = LEGEND_ROW_PX * (plot->line_count + 1);
    int needed_px = title_px(plot) + (legend_px > LEAST_PANELS_PX ? legend_px : LEAST_PANELS_PX);
    return needed_px > LEAST_HEIGHT_PX ? needed_px : LEAST_HEIGHT_PX;
}

static int width_of(const pto_predict_plot_t *plot) {
    char text[LABEL_MAX];
    int longest = (int)strlen(left_out_text(plot, text));
    for (int i = 0; i < plot->predictions->strategy_count; i++)
        if (is_drawn(plot, i))
            longest = pto_wider(longest, plot->predictions->strategy[i]->name);
    int needed_px = PANEL_RIGHT_PX + KEY_SAMPLE_PX + KEY_CHARACTER_PX * longest;
    return needed_px > LEAST_WIDTH_PX ? needed_px : LEAST_WIDTH_PX;
}

/* Writes the margins of a panel, which gnuplot expects as fractions of the drawing's width and height. */
static void write_margins(FILE *script, const pto_predict_plot_t *plot, int bottom_px, int top_px) {
    double width = width_of(plot), height = height_of(plot);
    fprintf(script,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
            "set bmargin at screen %.4f\nset tmargin at screen %.4f\n",
            PANEL_LEFT_PX / width, PANEL_RIGHT_PX / width, bottom_px / height, top_px / height);
}

static void write_band(FILE *script, const pto_predict_plot_t *plot) {
    write_margins(script, plot, BAND_BOTTOM_PX, BAND_BOTTOM_PX + BAND_HEIGHT_PX);
    write_ranges(script, plot);
    write_tics(script, plot->predictions, true);
    fprintf(script,
            "unset title\nunset key\nunset logscale y\nset yrange [0:1]\nunset ytics\nunset grid\n"
            "set ylabel 'pick'\nset xlabel '%s%s'\nplot NaN notitle\n",
            axis_of(plot->predictions),
            has_doubtful_pick(plot) ? " (a pale pick is a near-tie or unsure)" : "");
}

static void write_script(FILE *script, const void *context) {
    const pto_predict_plot_t *plot = context;
    const pto_predictions_t *predictions = plot->predictions;
    int top_px = height_of(plot) - title_px(plot);
    write_prices(script, plot);
    for (int i = 0; i < predictions->strategy_count; i++)
        write_points(script, plot, i);
    fputs("set multiplot\nset logscale y 10\nset format y '%.0s %cs'\nset ylabel 'time'\n", script);
    fprintf(script, "set key at screen %.4f, %.4f left top Left reverse samplen 3 maxcols 1\n",
            (PANEL_RIGHT_PX + 8.0) / width_of(plot), top_px / (double)height_of(plot));
    write_margins(script, plot, BAND_BOTTOM_PX + BAND_HEIGHT_PX + LEGEND_ROW_PX, top_px);
    write_title(script, plot);
    write_axes(script, predictions);
    write_strategies(script, plot);
    write_band(script, plot);
    fputs("unset multiplot\n", script);
}

pto_plot_t pto_predict_plot(pto_predict_plot_t *plot) {
    choose_lines(plot);
    return (pto_plot_t){width_of(plot), height_of(plot), write_script, plot};
}
