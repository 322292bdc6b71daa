/* Tables of a scenario over two sweeps (sweeps.h): the cheapest strategy in each cell and, for --compare, a
 * machine before and after a change side by side (`predict`); the picks along each row (`pick`). */
#include "sweeps_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "command_line/terminal.h"
#include "portolan/api.h"
#include "portolan/units.h"
#include "table.h"

enum { LABEL_LEAST = 9, CELL_WIDTH = 11, CELL_MAX = 32 };

/* Returns the width of the first column. */
static int label_width(const pto_sweeps_t *sweeps) {
    int width = LABEL_LEAST;
    for (int row = 0; row < sweeps->row.count; row++)
        width = pto_wider(width, sweeps->row.value[row].label);
    return width;
}

/* The swept quantities, as bits of pto_sweep_kind_t. */
static unsigned varying(const pto_sweeps_t *sweeps) {
    const pto_predictions_t *any = pto_sweeps_any(sweeps);
    bool swept = sweeps->column.kind == PTO_AXIS_NONE && any->point_count > 1;
    unsigned varies = swept ? 1u << any->sweep : 0;
    if (sweeps->row.kind == PTO_AXIS_NODES)
        varies |= 1u << PTO_SWEEP_NODES;
    if (sweeps->row.kind == PTO_AXIS_MESSAGES)
        varies |= 1u << PTO_SWEEP_MESSAGES;
    return varies;
}

static void print_axis(const char *title, const pto_axis_t *axis) {
    if (axis->kind == PTO_AXIS_WHAT_IF)
        pto_print_head(stdout, title, "%s, %s to %s", axis->heading, axis->value[0].label,
                       axis->value[axis->count - 1].label);
}

/* The scenario, the machine, its changes, and the quantities that do not vary. */
static void print_header(const char *command, const pto_sweeps_t *sweeps) {
    const pto_predictions_t *any = pto_sweeps_any(sweeps);
    const pto_sweeps_run_t *last = pto_sweeps_run(sweeps, sweeps->row.count - 1, 0);
    pto_print_title(command, any);
    if (pto_machine_model(any->machine))
        printf("# model      %s\n", pto_machine_model(any->machine));
    for (int i = 0; i < last->options->what_if_count; i++)
        if ((sweeps->row.kind != PTO_AXIS_WHAT_IF || i != sweeps->row.what_if) &&
            (sweeps->column.kind != PTO_AXIS_WHAT_IF || i != sweeps->column.what_if) &&
            !(last->options->machine && pto_print_change(stdout, last->options->machine, i)))
            printf("# what if    %s\n", last->options->what_if[i]);
    print_axis("rows", &sweeps->row);
    print_axis("columns", &sweeps->column);
    pto_print_question(any, varying(sweeps));
}

/* Letters stand for the strategies, in the order in which they first occur. */
typedef struct {
    char *letter; /* by strategy; 0: has not occurred */
    int count;    /* of letters */
    bool unsure;  /* a cell has the mark for an unsure pick */
} legend_t;

static char letter_at(int i) { return (char)(i < 26 ? 'A' + i : 'a' + i - 26); }

static char letter_of(legend_t *legend, int strategy) {
    if (!legend->letter[strategy])
        legend->letter[strategy] = letter_at(legend->count++);
    return legend->letter[strategy];
}

static const char *cost_text(const pto_predictions_t *predictions, double value,
                             char text[PTO_SECONDS_TEXT_MAX]) {
    return predictions->by == PTO_BY_ENERGY ? pto_joules_text(value, text) : pto_seconds_text(value, text);
}

/* Sets the cheapest strategy and its cost. False if none applies, or if `predictions` is NULL. */
static bool least_cost(const pto_predictions_t *predictions, int64_t point, int *winner, pto_cost_t *cost) {
    *winner = predictions ? pto_pick_at(predictions, point) : -1;
    return *winner >= 0 &&
           pto_prediction_cost(pto_prediction_at(predictions, point, *winner), predictions->by, cost);
}

/* Adds a cell: the least cost, the letter of its strategy, and a mark as the last character. */
static void add_cell(pto_text_t *line, const pto_sweeps_t *sweeps, int row, int64_t column,
                     legend_t *legend) {
    char text[PTO_SECONDS_TEXT_MAX], cell[CELL_MAX] = "-";
    const char *mark = " ";
    int64_t point;
    int winner;
    pto_cost_t cost;
    const pto_predictions_t *predictions = pto_sweeps_at(sweeps, row, column, &point);
    if (least_cost(predictions, point, &winner, &cost)) {
        bool unsure = pto_pick_unpriced(predictions, point) != NULL;
        legend->unsure = legend->unsure || unsure;
        cost_text(predictions, cost.value, text);
        snprintf(cell, sizeof cell, "%.16s %c", text, letter_of(legend, winner));
        mark = unsure ? "?" : " ";
    }
    pto_text_add(line, "%*s%s", CELL_WIDTH - 1, cell, mark);
}

/* Adds the heading (row -1), or a row, with the columns [first, end). */
static void add_line(pto_text_t *line, const pto_sweeps_t *sweeps, int row, int64_t first, int64_t end,
                     legend_t *legend) {
    char text[PTO_AXIS_LABEL_MAX];
    int width = label_width(sweeps);
    if (row < 0)
        pto_text_add(line, "# %-*s", width - 2,
                     sweeps->row.kind == PTO_AXIS_WHAT_IF ? "" : sweeps->row.heading);
    else
        pto_text_add(line, "%-*s", width, sweeps->row.value[row].label);
    for (int64_t column = first; column < end; column++)
        if (row < 0)
            pto_text_add(line, "%*s   ", CELL_WIDTH - 3, pto_sweeps_column_text(sweeps, column, text));
        else
            add_cell(line, sweeps, row, column, legend);
}

/* Prints the columns [first, end) of all rows. */
static void print_block(const pto_sweeps_t *sweeps, int64_t first, int64_t end, legend_t *legend) {
    for (int row = -1; row < sweeps->row.count; row++) {
        pto_text_t line = {0};
        add_line(&line, sweeps, row, first, end, legend);
        while (line.length > 0 && line.text[line.length - 1] == ' ')
            line.length--;
        if (!line.out_of_memory)
            printf("%.*s\n", (int)line.length, line.text);
        free(line.text);
    }
}

static void print_legend(const pto_sweeps_t *sweeps, const legend_t *legend) {
    const pto_predictions_t *any = pto_sweeps_any(sweeps);
    for (int i = 0; i < legend->count; i++)
        for (int s = 0; s < any->strategy_count; s++)
            if (legend->letter[s] == letter_at(i))
                printf("# %c  %s\n", legend->letter[s], any->strategy[s]->name);
    pto_print_marks((pto_marks_t){.unsure = legend->unsure});
}

/* Prints why runs have no prediction, one note for each. */
static void print_reasons(FILE *stream, const pto_sweeps_t *sweeps) {
    int columns = pto_sweeps_runs(sweeps) / sweeps->row.count;
    for (int i = 0; i < pto_sweeps_runs(sweeps); i++)
        if (*sweeps->run[i].reason)
            pto_print_note(stream, "%s%s%s: %s", sweeps->row.value[i / columns].label,
                           sweeps->column.count > 0 ? ", " : "",
                           sweeps->column.count > 0 ? sweeps->column.value[i % columns].label : "",
                           sweeps->run[i].reason);
}

/* Returns whether a what-if changes the layout from run to run. */
static bool layouts_differ(const pto_sweeps_t *sweeps) {
    const pto_predictions_t *any = pto_sweeps_any(sweeps);
    const pto_layout_t *shown = &any->scenario->layout;
    bool with_nodes = !(varying(sweeps) & 1u << PTO_SWEEP_NODES);
    for (int i = 0; i < pto_sweeps_runs(sweeps); i++) {
        const pto_layout_t *layout = &sweeps->run[i].options->scenario.layout;
        if (sweeps->run[i].predictions.strategy_count > 0 &&
            ((with_nodes && layout->nodes != shown->nodes) || layout->gpus_per_node != shown->gpus_per_node ||
             layout->procs_per_gpu != shown->procs_per_gpu))
            return true;
    }
    return false;
}

/* Prints why runs have no prediction, and the caveats of the others. */
static void print_notes(const pto_sweeps_t *sweeps) {
    pto_caveats_t caveats = {.count = 0};
    if (layouts_differ(sweeps))
        pto_print_note(stdout, "layout: the one above is that of %s; --what-if changes it",
                       sweeps->row.kind == PTO_AXIS_COMPARE ? "the machine as it is" : "the first row");
    print_reasons(stdout, sweeps);
    pto_print_energy_note(pto_sweeps_any(sweeps));
    for (int i = 0; i < pto_sweeps_runs(sweeps); i++)
        pto_caveats_add_all(&caveats, &sweeps->run[i].predictions);
    pto_print_caveats(&caveats);
}

/* Prints the table in blocks of columns, each as wide as the terminal. */
static void print_blocks(const pto_sweeps_t *sweeps) {
    legend_t legend = {.letter = calloc((size_t)pto_sweeps_any(sweeps)->strategy_count, 1)};
    const int64_t columns = pto_sweeps_columns(sweeps);
    int64_t per_block = (pto_terminal_width(stdout) - label_width(sweeps)) / CELL_WIDTH;
    if (!legend.letter)
        return;
    if (per_block < 1)
        per_block = 1;
    for (int64_t first = 0; first < columns; first += per_block) {
        fputs(first > 0 ? "#\n" : "", stdout);
        print_block(sweeps, first, first + per_block < columns ? first + per_block : columns, &legend);
    }
    print_legend(sweeps, &legend);
    free(legend.letter);
}

/* The name of the winner with its marks: "dup_devptr ?". */
static const char *marked_pick(const pto_predictions_t *predictions, int64_t point, int winner,
                               char text[PTO_ROUTE_TEXT_MAX]) {
    return pto_route_text(predictions->strategy[winner], pto_prediction_at(predictions, point, winner), false,
                          pto_marks_text(pto_pick_marks(predictions, point)), text);
}

/* Prints "12.3 us  dup_devptr ?", and sets the cost. Returns false if no strategy applies. `width` is that of
 * the name. */
static bool print_least(const pto_predictions_t *predictions, int64_t point, int width, double *value) {
    char text[PTO_SECONDS_TEXT_MAX] = "-", pick[PTO_ROUTE_TEXT_MAX] = "";
    int winner;
    pto_cost_t cost;
    bool applies = least_cost(predictions, point, &winner, &cost);
    if (applies)
        cost_text(predictions, cost.value, text);
    if (applies)
        marked_pick(predictions, point, winner, pick);
    printf("  %8s  %-*s", text, width, pick);
    *value = applies ? cost.value : 0;
    return applies;
}

enum { LEAST_WIDTH = 10 }; /* what print_least prints before the name, without its first two blanks */

/* The width of the longest name below a title. The title spans the columns of costs and names. */
static int name_width(const pto_predictions_t *predictions, const char *title) {
    int width = strlen(title) > LEAST_WIDTH ? (int)strlen(title) - LEAST_WIDTH : 0;
    char text[PTO_ROUTE_TEXT_MAX];
    for (int64_t point = 0; point < predictions->point_count; point++) {
        int winner = pto_pick_at(predictions, point);
        if (winner >= 0)
            width = pto_wider(width, marked_pick(predictions, point, winner, text));
    }
    return width;
}

void pto_print_side_by_side(const pto_predictions_t *before, const pto_predictions_t *after,
                            const char *after_title, pto_marks_t *marks) {
    int left = name_width(before, "As it is"), right = name_width(after, after_title);
    double before_cost, after_cost;
    printf("# %-*s  %-*s  %-*s   Saves\n", LABEL_LEAST - 2, pto_sweep_heading(before->sweep),
           left + LEAST_WIDTH, "As it is", right + LEAST_WIDTH, after_title);
    for (int64_t point = 0; point < before->point_count && point < after->point_count; point++) {
        printf("%-*s", LABEL_LEAST, PTO_POINT_TEXT(before, before->point[point]));
        pto_marks_add(marks, pto_pick_marks(before, point));
        pto_marks_add(marks, pto_pick_marks(after, point));
        const bool has_before = print_least(before, point, left, &before_cost);
        const bool has_after = print_least(after, point, right, &after_cost);
        if (has_before && has_after && before_cost > 0)
            printf("  %5.1f%%", 100 * (1 - after_cost / before_cost));
        putchar('\n');
    }
}

void pto_print_sweeps(const pto_sweeps_t *sweeps) {
    print_header("predict", sweeps);
    const pto_predictions_t *before = &pto_sweeps_run(sweeps, 0, 0)->predictions;
    if (sweeps->row.kind == PTO_AXIS_COMPARE && before->strategy_count > 0 &&
        pto_sweeps_run(sweeps, 1, 0)->predictions.strategy_count > 0) {
        pto_marks_t marks = {.unsure = false};
        pto_print_side_by_side(before, &pto_sweeps_run(sweeps, 1, 0)->predictions, "What if", &marks);
        pto_print_marks(marks);
    } else {
        print_blocks(sweeps);
    }
    print_notes(sweeps);
}

pto_status_t pto_crossings_or_points(const pto_predictions_t *predictions, pto_crossing_t **crossing,
                                     int64_t *count, pto_error_t *err) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_crossings(predictions, crossing, count, &fault);
    if (status != PTO_ERR_TOO_LARGE && status != PTO_ERR_INTERRUPTED) {
        if (status != PTO_OK && err)
            *err = fault;
        return status;
    }
    pto_crossing_t *crossings = calloc((size_t)predictions->point_count, sizeof *crossings);
    if (!crossings)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for crossings");
    *count = 0;
    for (int64_t i = 0; i + 1 < predictions->point_count; i++)
        if (pto_pick_at(predictions, i) != pto_pick_at(predictions, i + 1))
            crossings[(*count)++] = (pto_crossing_t){
                .at = predictions->point[i + 1], .winner = pto_pick_at(predictions, i + 1), .gap = i};
    *crossing = crossings;
    return PTO_OK;
}

/* Whether the pick at a point of the sweep is a near-tie or unsure, by the range of picks that contains it.
 */
static bool is_doubtful(const pto_range_t *range, int64_t count, int64_t point) {
    for (int64_t i = 0; i < count; i++)
        if (point >= range[i].point_first && point < range[i].point_first + range[i].point_count)
            return range[i].near_tie || range[i].overlap;
    return false;
}

/* Adds the picks along the scenario's own sweep: "three_step~ below 2.1 KiB, then dup_devptr". The i-th pick
 * holds between crossings i - 1 and i. If there is no point of the sweep between these, its doubt is unknown.
 */
static pto_status_t add_sweep_picks(pto_text_t *line, const pto_predictions_t *predictions, bool *doubtful,
                                    pto_error_t *err) {
    pto_range_t *range = NULL;
    pto_crossing_t *crossing = NULL;
    int64_t ranges = 0, crossings = 0;
    pto_status_t status = pto_pick(predictions, &range, &ranges, err);
    if (status == PTO_OK)
        status = pto_crossings_or_points(predictions, &crossing, &crossings, err);
    for (int64_t i = 0; status == PTO_OK && i <= crossings; i++) {
        int winner = i > 0 ? crossing[i - 1].winner : pto_pick_at(predictions, 0);
        int64_t point = i > 0 ? crossing[i - 1].gap + 1 : 0; /* the first one after crossing i - 1 */
        bool has_point = i == 0 || i == crossings || crossing[i].gap >= point;
        bool is_marked = has_point && is_doubtful(range, ranges, point);
        *doubtful = *doubtful || is_marked;
        pto_text_add(line, "%s%s%s",
                     i == 0          ? ""
                     : i < crossings ? ", "
                                     : ", then ",
                     winner < 0 ? "-" : predictions->strategy[winner]->name, is_marked ? "~" : "");
        if (i < crossings)
            pto_text_add(line, " below %s", PTO_POINT_SHORT(predictions, crossing[i].at));
    }
    free(range);
    free(crossing);
    return status;
}

/* Adds the picks along a second range of --what-if: "three_step up to /2, then dup_devptr". */
static void add_range_picks(pto_text_t *line, const pto_sweeps_t *sweeps, int row) {
    bool is_first = true;
    for (int64_t column = 0; column < sweeps->column.count; column++) {
        int64_t point; /* 0, as a run has one point */
        const bool last = column + 1 == sweeps->column.count;
        const pto_predictions_t *here = pto_sweeps_at(sweeps, row, column, &point);
        const pto_predictions_t *next = last ? NULL : pto_sweeps_at(sweeps, row, column + 1, &point);
        const int winner = here ? pto_pick_at(here, 0) : -1, next_winner = next ? pto_pick_at(next, 0) : -1;
        if (!last && winner == next_winner)
            continue;
        const char *separator = last ? ", then " : ", ";
        pto_text_add(line, "%s%s", is_first ? "" : separator,
                     winner < 0 ? "-" : here->strategy[winner]->name);
        if (!last)
            pto_text_add(line, " up to %s", sweeps->column.value[column].label);
        is_first = false;
    }
}

static pto_status_t add_row_picks(pto_text_t *line, const pto_sweeps_t *sweeps, int row, bool *doubtful,
                                  pto_error_t *err) {
    const pto_sweeps_run_t *run = pto_sweeps_run(sweeps, row, 0);
    pto_status_t status = PTO_OK;
    if (sweeps->column.count > 0)
        add_range_picks(line, sweeps, row);
    else if (run->predictions.strategy_count > 0)
        status = add_sweep_picks(line, &run->predictions, doubtful, err);
    else
        pto_text_add(line, "-");
    return status;
}

pto_status_t pto_print_sweeps_picks(const pto_sweeps_t *sweeps, pto_error_t *err) {
    bool doubtful = false;
    print_header("pick", sweeps);
    bool one = sweeps->column.count == 0 && pto_sweeps_any(sweeps)->point_count == 1;
    printf("# %-*s  Cheapest%s%s\n", label_width(sweeps) - 2,
           sweeps->row.kind == PTO_AXIS_WHAT_IF ? "" : sweeps->row.heading, one ? "" : " by ",
           one                        ? ""
           : sweeps->column.count > 0 ? sweeps->column.heading
                                      : pto_sweep_kind_name(pto_sweeps_any(sweeps)->sweep));
    for (int row = 0; row < sweeps->row.count; row++) {
        pto_text_t line = {0};
        char *text = NULL;
        pto_status_t status = add_row_picks(&line, sweeps, row, &doubtful, err);
        if (status == PTO_OK)
            status = pto_text_take(&line, "a line", &text, err);
        else
            free(line.text);
        if (status != PTO_OK)
            return status;
        printf("%-*s  ", label_width(sweeps), sweeps->row.value[row].label);
        pto_print_wrapped(stdout, text, label_width(sweeps) + 2, pto_terminal_width(stdout));
        free(text);
    }
    if (doubtful)
        pto_print_note(
            stdout, "~: near-tie or unsure at some point; `portolan pick` of one row has margins and regret");
    print_notes(sweeps);
    return PTO_OK;
}

pto_status_t pto_print_sweeps_runs(pto_sweeps_t *sweeps, void (*heading)(void), pto_print_run_t *print,
                                   pto_error_t *err) {
    const bool json = sweeps->run[0].options->format == PTO_FORMAT_JSON;
    const char *between = "";
    pto_status_t status = PTO_OK;
    if (json)
        printf("{\"portolan\": \"%s\", \"runs\": [\n", pto_version());
    else
        heading();
    for (int i = 0; i < pto_sweeps_runs(sweeps) && status == PTO_OK; i++) {
        if (sweeps->run[i].predictions.strategy_count == 0)
            continue;
        fputs(between, stdout);
        between = json ? ",\n" : "";
        status = print(&sweeps->run[i], err);
    }
    fputs(json ? "]}\n" : "", stdout);
    print_reasons(stderr, sweeps);
    return status;
}
