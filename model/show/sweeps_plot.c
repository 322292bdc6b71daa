/* Two sweeps as a gnuplot script. The upper panel has the time of the cheapest strategy as a line for each
 * row of the table; the lower panel is the table as a map, in which colours are the cheapest strategies. */
#include "drawings.h"

/* The legends are to the right of both panels. */
enum {
    WIDTH_PX = 1016,
    PANEL_LEFT_PX = 104,
    PANEL_RIGHT_PX = 810,
    LINES_PX = 300,
    MAP_BOTTOM_PX = 64,
    MAP_ROW_PX = 26,
    MAP_LEAST_PX = 104,
    BETWEEN_PX = 30,
    TITLE_PX = 64,
    CHARACTER_PX = 7,
};

static int map_px(const pto_sweeps_t *sweeps) {
    int rows = sweeps->row.count * MAP_ROW_PX;
    return rows > MAP_LEAST_PX ? rows : MAP_LEAST_PX;
}

static int height_px(const pto_sweeps_t *sweeps) {
    return MAP_BOTTOM_PX + map_px(sweeps) + BETWEEN_PX + LINES_PX + TITLE_PX;
}

/* Returns the pick of a cell; -1 if there is none. */
static int pick_at(const pto_sweeps_t *sweeps, int row, int64_t column) {
    int64_t point;
    const pto_predictions_t *predictions = pto_sweeps_at(sweeps, row, column, &point);
    return predictions ? pto_pick_at(predictions, point) : -1;
}

static bool is_picked(const pto_sweeps_t *sweeps, int strategy) {
    for (int row = 0; row < sweeps->row.count; row++)
        for (int64_t column = 0; column < pto_sweeps_columns(sweeps); column++)
            if (pick_at(sweeps, row, column) == strategy)
                return true;
    return false;
}

static void write_data(FILE *script, const pto_sweeps_t *sweeps) {
    for (int row = 0; row < sweeps->row.count; row++) {
        fprintf(script, "$row_%d << EOD\n", row);
        for (int64_t column = 0; column < pto_sweeps_columns(sweeps); column++) {
            int64_t point;
            const pto_predictions_t *predictions = pto_sweeps_at(sweeps, row, column, &point);
            int winner = pick_at(sweeps, row, column);
            pto_cost_t cost;
            if (winner >= 0 &&
                pto_prediction_cost(pto_prediction_at(predictions, point, winner), PTO_BY_TIME, &cost))
                fprintf(script, "%lld %.6g\n", (long long)column, cost.value);
            else
                fprintf(script, "%lld NaN\n", (long long)column);
        }
        fputs("EOD\n", script);
    }
}

static void write_margins(FILE *script, const pto_sweeps_t *sweeps, int bottom_px, int panel_height_px) {
    double height = height_px(sweeps);
    fprintf(script,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\nset bmargin at screen %.4f\n"
            "set tmargin at screen %.4f\nset key at screen %.4f, %.4f left top Left reverse samplen 2\n",
            (double)PANEL_LEFT_PX / WIDTH_PX, (double)PANEL_RIGHT_PX / WIDTH_PX, bottom_px / height,
            (bottom_px + panel_height_px) / height, (PANEL_RIGHT_PX + 8.0) / WIDTH_PX,
            (bottom_px + panel_height_px) / height);
}

/* Writes the tics of the columns: as many as fit with labels. */
static void write_columns(FILE *script, const pto_sweeps_t *sweeps, bool labelled) {
    enum { LABEL_CHARACTERS = 10 };
    char text[PTO_AXIS_LABEL_MAX];
    int64_t columns = pto_sweeps_columns(sweeps);
    int64_t labels_max = (PANEL_RIGHT_PX - PANEL_LEFT_PX) / (LABEL_CHARACTERS * CHARACTER_PX);
    int64_t stride = (columns + labels_max - 1) / labels_max;
    fprintf(script, "set xrange [-0.5:%lld.5]\nset xtics (", (long long)columns - 1);
    for (int64_t column = 0; column < columns; column += stride) {
        fputs(column > 0 ? ", " : "", script);
        pto_plot_quote(script, labelled ? pto_sweeps_column_text(sweeps, column, text) : "");
        fprintf(script, " %lld", (long long)column);
    }
    fputs(")\n", script);
}

static void write_title(FILE *script, const pto_sweeps_t *sweeps) {
    const pto_predictions_t *any = pto_sweeps_any(sweeps);
    const pto_scenario_t *scenario = any->scenario;
    const pto_options_t *last = pto_sweeps_run(sweeps, sweeps->row.count - 1, 0)->options;
    fputs("set title ", script);
    pto_plot_quote(script, scenario->name ? scenario->name : pto_collective_name(scenario->collective));
    fputs(".\"\\nmachine \".", script);
    pto_plot_quote(script, pto_machine_name(any->machine));
    for (int i = 0; i < last->what_if_count && sweeps->row.kind == PTO_AXIS_COMPARE; i++) {
        fputs(i > 0 ? ".', '." : ".', what if '.", script);
        pto_plot_quote(script, last->what_if[i]);
    }
    fputc('\n', script);
}

static void write_lines(FILE *script, const pto_sweeps_t *sweeps) {
    write_margins(script, sweeps, MAP_BOTTOM_PX + map_px(sweeps) + BETWEEN_PX, LINES_PX);
    write_title(script, sweeps);
    write_columns(script, sweeps, false);
    fputs("set logscale y 10\nset format y '%.0s %cs'\nset ylabel 'time of the cheapest'\nset grid\n",
          script);
    fputs("set key title ", script);
    pto_plot_quote(script, sweeps->row.heading);
    fputs("\nplot NaN notitle", script);
    for (int row = 0; row < sweeps->row.count; row++) {
        fprintf(script,
                ", \\\n  $row_%d using 1:2 with linespoints pt 7 ps 0.4 lw 2 dt %d lc rgb '%s' title ", row,
                row / PTO_PLOT_COLOURS + 1, pto_plot_colour(row));
        pto_plot_quote(script, sweeps->row.value[row].label);
    }
    fputc('\n', script);
}

static void write_row_names(FILE *script, const pto_sweeps_t *sweeps) {
    fputs("set ytics (", script);
    for (int row = 0; row < sweeps->row.count; row++) {
        fputs(row > 0 ? ", " : "", script);
        pto_plot_quote(script, sweeps->row.value[row].label);
        fprintf(script, " %d", row);
    }
    fputs(")\n", script);
}

static const char *columns_name(const pto_sweeps_t *sweeps) {
    if (sweeps->column.kind == PTO_AXIS_WHAT_IF)
        return sweeps->column.heading;
    return pto_sweep_kind_name(pto_sweeps_any(sweeps)->sweep);
}

static void write_map(FILE *script, const pto_sweeps_t *sweeps) {
    const pto_predictions_t *any = pto_sweeps_any(sweeps);
    int object = 0;
    write_margins(script, sweeps, MAP_BOTTOM_PX, map_px(sweeps));
    fputs("unset title\nset key notitle\nunset logscale y\nunset grid\nset format y\nset ylabel ", script);
    pto_plot_quote(script, sweeps->row.heading);
    fprintf(script, "\nset yrange [-0.5:%d.5]\nset xlabel ", sweeps->row.count - 1);
    pto_plot_quote(script, columns_name(sweeps));
    fputc('\n', script);
    write_columns(script, sweeps, true);
    write_row_names(script, sweeps);
    for (int row = 0; row < sweeps->row.count; row++)
        for (int64_t column = 0; column < pto_sweeps_columns(sweeps); column++) {
            int winner = pick_at(sweeps, row, column);
            if (winner >= 0)
                fprintf(
                    script,
                    "set object %d rectangle center %lld, %d size 1, 0.92 fc rgb '%s' fs solid noborder\n",
                    ++object, (long long)column, row, pto_strategy_colour(any->strategy[winner]));
        }
    fputs("plot NaN notitle", script);
    for (int i = 0; i < any->strategy_count; i++)
        if (is_picked(sweeps, i)) {
            fprintf(script, ", \\\n  NaN with points pt 5 ps 1.5 lc rgb '%s' title ",
                    pto_strategy_colour(any->strategy[i]));
            pto_plot_quote(script, any->strategy[i]->name);
        }
    fputc('\n', script);
}

static void write_script(FILE *script, const void *context) {
    const pto_sweeps_t *sweeps = context;
    write_data(script, sweeps);
    fputs("set multiplot\n", script);
    write_lines(script, sweeps);
    write_map(script, sweeps);
    fputs("unset multiplot\n", script);
}

pto_plot_t pto_sweeps_plot(const pto_sweeps_t *sweeps) {
    return (pto_plot_t){WIDTH_PX, height_px(sweeps), write_script, sweeps};
}
