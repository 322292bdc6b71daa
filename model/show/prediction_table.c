/* The table of `portolan predict`: a row for each point of the sweep, a column for each strategy. If the
 * terminal is too narrow for all strategies, those that come nearest to the cheapest one are shown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command_line/terminal.h"
#include "table.h"

enum {
    POINT_WIDTH = 9,     /* "512 KiB", and the heading's "# " */
    COST_WIDTH = 8,      /* "12.3 us" */
    RATE_WIDTH = 9,      /* "12.3 GB/s" */
    INTERVAL_WIDTH = 15, /* "12.3..14.5 us" */
    WIDE_GAP = 2,
};

typedef struct {
    const pto_predictions_t *predictions;
    const pto_options_t *options;
    bool *is_shown; /* by strategy; NULL: all */
    bool details;   /* show the algorithm and the chunks of the cheapest */
    int gap;        /* blanks between columns: 2, or 1 if columns named by the user fit only that way */
} columns_t;

static bool has_bandwidths(const columns_t *columns) {
    return pto_bandwidth_replaces_times(columns->options->bandwidth);
}

/* Sets the time or energy of a strategy at a point. False: it has none. */
static bool cost_at(const columns_t *columns, int64_t point, int strategy, pto_cost_t *cost) {
    return pto_prediction_cost(pto_prediction_at(columns->predictions, point, strategy),
                               columns->predictions->by, cost);
}

static bool is_shown(const columns_t *columns, int strategy) {
    return pto_has_column(columns->predictions, strategy) &&
           (!columns->is_shown || columns->is_shown[strategy]);
}

static int column_width(const columns_t *columns, int strategy) {
    int cost = has_bandwidths(columns) ? RATE_WIDTH : COST_WIDTH;
    return pto_wider(columns->options->ci ? INTERVAL_WIDTH : cost,
                     columns->predictions->strategy[strategy]->name);
}

/* The text of the last column: "dup_devptr (linear, 8 chunks) ?", without the parentheses unless `details`;
 * "" if no strategy applies. */
static const char *choice_text(const columns_t *columns, int64_t point, char text[PTO_ROUTE_TEXT_MAX]) {
    const pto_predictions_t *predictions = columns->predictions;
    int winner = pto_pick_at(predictions, point);
    return winner < 0
               ? ""
               : pto_route_text(predictions->strategy[winner], pto_prediction_at(predictions, point, winner),
                                columns->details, pto_marks_text(pto_pick_marks(predictions, point)), text);
}

/* The width of a line without the strategies' columns. */
static int width_without_costs(const columns_t *columns) {
    const pto_predictions_t *predictions = columns->predictions;
    char text[PTO_ROUTE_TEXT_MAX];
    int longest = (int)strlen("Cheapest");
    for (int64_t point = 0; point < predictions->point_count; point++)
        longest = pto_wider(longest, choice_text(columns, point, text));
    return POINT_WIDTH + pto_bandwidth_columns_width(columns->options->bandwidth) + WIDE_GAP + longest;
}

/* Returns the least ratio of a strategy's cost to the cheapest one's, over all points. */
static double least_ratio(const columns_t *columns, int strategy) {
    double least = INFINITY;
    for (int64_t point = 0; point < columns->predictions->point_count; point++) {
        pto_cost_t cost, best;
        int winner = pto_pick_at(columns->predictions, point);
        if (winner >= 0 && cost_at(columns, point, strategy, &cost) && cost_at(columns, point, winner, &best))
            least = fmin(least, cost.value > best.value ? cost.value / best.value : 1); /* both may be 0 */
    }
    return least;
}

/* Shows the strategies of the least ratio: as many as fit, but at least one. Each strategy is shown if its
 * column fits together with those of all strategies of a lower ratio (of equal ones, the first). `ratio` has
 * room for all strategies. */
static void show_best(columns_t *columns, double *ratio, int width) {
    const int count = columns->predictions->strategy_count, rest = width_without_costs(columns);
    for (int i = 0; i < count; i++)
        ratio[i] = pto_has_column(columns->predictions, i) ? least_ratio(columns, i) : INFINITY;
    for (int i = 0; i < count; i++) {
        int used = rest + WIDE_GAP + column_width(columns, i), lower = 0;
        for (int j = 0; j < count; j++)
            if (ratio[j] < ratio[i] || (j < i && ratio[j] <= ratio[i])) {
                used += WIDE_GAP + column_width(columns, j);
                lower++;
            }
        columns->is_shown[i] = isfinite(ratio[i]) && (used <= width || lower == 0);
    }
}

/* Returns the blanks between the columns named by the user: WIDE_GAP, else 1; 0 if they do not fit with 1. */
static int find_gap(const columns_t *columns, int width) {
    int used = width_without_costs(columns), gaps = 1;
    for (int i = 0; i < columns->predictions->strategy_count; i++)
        if (is_shown(columns, i)) {
            used += WIDE_GAP + column_width(columns, i);
            gaps++;
        }
    if (used <= width)
        return WIDE_GAP;
    return used - gaps * (WIDE_GAP - 1) <= width ? 1 : 0;
}

/* Makes the columns that the user named fit: by narrow gaps, then without details; else lines are too wide.
 * */
static void choose_gap(columns_t *columns, int width) {
    columns->gap = find_gap(columns, width);
    if (columns->gap > 0)
        return;
    columns->details = false;
    columns->gap = find_gap(columns, width);
    if (columns->gap > 0)
        return;
    columns->details = true;
    columns->gap = WIDE_GAP;
}

static void choose_columns(columns_t *columns, int width) {
    size_t count = (size_t)columns->predictions->strategy_count;
    columns->gap = WIDE_GAP;
    if (columns->options->all)
        return;
    if (columns->predictions->scenario->strategy_count > 0) { /* the user has named them */
        choose_gap(columns, width);
        return;
    }
    double *ratio = calloc(count, sizeof *ratio);
    if (ratio)
        columns->is_shown = calloc(count, sizeof *columns->is_shown);
    if (columns->is_shown)
        show_best(columns, ratio, width);
    free(ratio);
}

static void print_left_out(const columns_t *columns) {
    const pto_predictions_t *predictions = columns->predictions;
    pto_text_t list = {0};
    for (int i = 0; i < predictions->strategy_count; i++)
        if (pto_has_column(predictions, i) && !is_shown(columns, i))
            pto_list_add(&list, PTO_MORE_COLUMNS, predictions->strategy[i]->name);
    pto_print_list(&list);
}

int pto_check_bandwidth(const pto_syntax_t *syntax, const pto_options_t *options) {
    pto_collective_t collective = options->scenario.collective;
    if (options->bandwidth == PTO_BANDWIDTH_NONE)
        return -1;
    if (options->format != PTO_FORMAT_TABLE)
        return pto_usage_error(syntax, "--bandwidth is for tables; csv and json have bytes and times");
    if (pto_collective_is_by_pair(collective))
        return pto_usage_error(syntax, "--bandwidth: the bytes of an alltoallv differ between pairs");
    if (pto_collective_data(collective) == PTO_DATA_GRID)
        return pto_usage_error(syntax, "--bandwidth: a halo's bytes differ between neighbors");
    if (options->by != PTO_BY_TIME)
        return pto_usage_error(syntax, "--bandwidth and --energy exclude each other");
    return -1;
}

/* What the collective moves at a point, from which bandwidths are computed. */
static pto_moved_t moved_at(const columns_t *columns, int64_t point) {
    const pto_predictions_t *predictions = columns->predictions;
    pto_request_t request =
        pto_scenario_request(predictions->scenario, point, predictions->strategy[0], NULL);
    return (pto_moved_t){request.collective, pto_layout_owner_count(&request.layout), request.bytes,
                         request.messages};
}

static const char *cost_text(const columns_t *columns, int64_t point, double value,
                             char text[PTO_SECONDS_TEXT_MAX]) {
    const pto_moved_t moved = moved_at(columns, point);
    return columns->predictions->by == PTO_BY_ENERGY
               ? pto_joules_text(value, text)
               : pto_bandwidth_or_time(columns->options->bandwidth, &moved, value, text);
}

/* The interval of a cost, or a dash. The ends swap for bandwidths, which fall as times rise. */
static void interval_text(const columns_t *columns, int64_t point, const pto_cost_t *cost,
                          char text[PTO_INTERVAL_TEXT_MAX]) {
    char low[PTO_SECONDS_TEXT_MAX], high[PTO_SECONDS_TEXT_MAX];
    bool swaps = has_bandwidths(columns);
    snprintf(text, PTO_INTERVAL_TEXT_MAX, "-");
    if (cost->low >= cost->high)
        return;
    pto_interval_text(cost_text(columns, point, swaps ? cost->high : cost->low, low),
                      cost_text(columns, point, swaps ? cost->low : cost->high, high), text);
}

/* Prints the costs of a point, with the least in bold, or their intervals. */
static void print_cells(const columns_t *columns, int64_t point, bool as_intervals) {
    const int winner = as_intervals ? -1 : pto_pick_at(columns->predictions, point);
    for (int i = 0; i < columns->predictions->strategy_count; i++) {
        char text[PTO_INTERVAL_TEXT_MAX] = "-";
        pto_cost_t cost;
        if (!is_shown(columns, i))
            continue;
        const bool is_known = cost_at(columns, point, i, &cost);
        if (is_known && as_intervals)
            interval_text(columns, point, &cost, text);
        else if (is_known)
            cost_text(columns, point, cost.value, text);
        printf("%*s%s%*s%s", columns->gap, "", i == winner ? pto_terminal_bold() : "",
               column_width(columns, i), text, i == winner ? pto_terminal_plain() : "");
    }
}

/* Prints both bandwidths of the cheapest strategy, if they are asked for. */
static void print_bandwidths(const columns_t *columns, int64_t point) {
    const pto_moved_t moved = moved_at(columns, point);
    const int winner = pto_pick_at(columns->predictions, point);
    char text[PTO_BANDWIDTH_COLUMNS_MAX];
    pto_cost_t cost = {.value = 0};
    if (winner >= 0)
        cost_at(columns, point, winner, &cost);
    fputs(pto_bandwidth_columns(columns->options->bandwidth, &moved, cost.value, text), stdout);
}

static void print_heading(const columns_t *columns) {
    const pto_predictions_t *predictions = columns->predictions;
    char text[PTO_BANDWIDTH_COLUMNS_MAX];
    printf("# %-*s", POINT_WIDTH - 2, pto_sweep_heading(predictions->sweep));
    for (int i = 0; i < predictions->strategy_count; i++)
        if (is_shown(columns, i))
            printf("%*s%*s", columns->gap, "", column_width(columns, i), predictions->strategy[i]->name);
    printf("%s%*sCheapest\n", pto_bandwidth_heading(columns->options->bandwidth, text), columns->gap, "");
}

static void print_marks(const pto_predictions_t *predictions) {
    pto_marks_t marks = {.unsure = false};
    for (int64_t point = 0; point < predictions->point_count; point++)
        pto_marks_add(&marks, pto_pick_marks(predictions, point));
    pto_print_marks(marks);
}

void pto_print_table(const char *command, const pto_predictions_t *predictions,
                     const pto_options_t *options) {
    columns_t columns = {.predictions = predictions, .options = options, .details = true};
    char text[PTO_ROUTE_TEXT_MAX];
    choose_columns(&columns, pto_terminal_width(stdout));
    pto_print_header(command, predictions);
    pto_print_bandwidth_head(options->bandwidth, "of the cheapest");
    print_heading(&columns);
    for (int64_t point = 0; point < predictions->point_count; point++) {
        printf("%-*s", POINT_WIDTH, pto_point_text(predictions, predictions->point[point], text));
        print_cells(&columns, point, false);
        print_bandwidths(&columns, point);
        printf("%*s%s\n", columns.gap, "", choice_text(&columns, point, text));
        if (!options->ci)
            continue;
        printf("%-*s", POINT_WIDTH, "#   95%");
        print_cells(&columns, point, true);
        putchar('\n');
    }
    print_marks(predictions);
    if (!columns.details)
        pto_print_note(stdout, "algorithms of the cheapest by --all or a wider terminal");
    print_left_out(&columns);
    pto_print_footer(predictions);
    free(columns.is_shown);
}
