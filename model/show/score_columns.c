/* The rows of `portolan score`'s tables, with the columns that fit the terminal: summaries of groups of
 * cells, and single cells (--cells). A cell is a collective on one layout with one size; its candidates are
 * the strategies that were measured there. score_table.c prints what is around the rows. */
#include "score_table.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "command_line/terminal.h"
#include "table.h"

const char *score_filter_text(const pto_score_filter_t *filter, char *text, size_t text_size) {
    pto_line_t line = {.text = text, .size = text_size};
    if (filter->collective == PTO_COLLECTIVE_COUNT)
        pto_line_add(&line, "all");
    else
        pto_line_add(&line, "%s %s", pto_collective_name(filter->collective),
                     pto_implementation_name(filter->implementation));
    if (filter->nodes > 0)
        pto_line_add(&line, ", %lld node%s", (long long)filter->nodes, filter->nodes > 1 ? "s" : "");
    return text;
}

/* Columns of the table of groups (pto_score_summary_t). A narrow terminal lacks those of the highest rank.
 * */
typedef enum {
    COLUMN_CELLS,
    COLUMN_RIGHT,
    COLUMN_CLEAR,
    COLUMN_CLEAR_RIGHT,
    COLUMN_NEAR_TIES,
    COLUMN_MEAN,
    COLUMN_95,
    COLUMN_MAX,
    COLUMN_MEDIAN,
    COLUMN_90,
    COLUMN_HELD,
    COLUMN_COUNT
} column_t;

static const struct {
    const char *above; /* the line above the heading */
    const char *heading;
    int width; /* with the blank before it */
    int rank;
} columns[] = {
    [COLUMN_CELLS] = {"", "Cells", 6, 0},
    [COLUMN_RIGHT] = {"", "Right", 7, 1},
    [COLUMN_CLEAR] = {"", "Clear", 6, 8},
    [COLUMN_CLEAR_RIGHT] = {"clear:", "Right", 7, 7},
    [COLUMN_NEAR_TIES] = {"", "Ties", 7, 10},
    [COLUMN_MEAN] = {"regret:", "mean", 8, 2},
    [COLUMN_95] = {"", "95th", 7, 9},
    [COLUMN_MAX] = {"", "max", 7, 4},
    [COLUMN_MEDIAN] = {"error:", "median", 8, 3},
    [COLUMN_90] = {"", "90th", 8, 6},
    [COLUMN_HELD] = {"", "Held", 7, 5},
};
_Static_assert(sizeof columns / sizeof *columns == COLUMN_COUNT, "every column has a heading");

enum { PICKER_WIDTH = 23 }; /* "  always staged_leaders" */

/* Whether a column fits together with all columns of a lower rank. */
static bool is_column_shown(const score_print_t *how, column_t column) {
    int used = PICKER_WIDTH;
    for (int other = 0; other < COLUMN_COUNT; other++)
        if (columns[other].rank <= columns[column].rank)
            used += columns[other].width;
    return how->all || used <= pto_terminal_width(stdout);
}

/* A fraction as "66.7%", with `sign` if positive; from 1000% on as a shorter factor, "96.9x" for 9590% more.
 * */
static const char *more_text(double share, const char *sign, char text[16]) {
    if (share >= 10)
        snprintf(text, 16, share < 99 ? "%.1fx" : share < 99999 ? "%.0fx" : "%.0ex", 1 + share);
    else
        snprintf(text, 16, "%s%.1f%%", share < 0 ? "" : sign, 100 * share);
    return text;
}

static const char *column_text(const score_row_t *row, column_t column, char text[16]) {
    const pto_score_summary_t *summary = &row->summary;
    const bool of_model = row->picker == PTO_PICKER_MODEL, any = summary->cells > 0;
    const struct {
        double share;
        bool is_known;
    } shares[COLUMN_COUNT] = {
        [COLUMN_RIGHT] = {summary->right / (double)summary->cells, any},
        [COLUMN_CLEAR_RIGHT] = {summary->clear_right / (double)summary->clear_cells,
                                summary->clear_cells > 0},
        [COLUMN_NEAR_TIES] = {(double)summary->near_ties / (double)summary->cells, of_model && any},
        [COLUMN_MEAN] = {summary->regret_mean, any},
        [COLUMN_95] = {summary->regret_95, any},
        [COLUMN_MAX] = {summary->regret_max, any},
        [COLUMN_MEDIAN] = {summary->error_median, summary->pairs > 0},
        [COLUMN_90] = {summary->error_90, summary->pairs > 0},
        [COLUMN_HELD] = {(double)summary->held / (double)summary->intervals,
                         of_model && summary->intervals > 0},
    };
    if (column != COLUMN_CELLS && column != COLUMN_CLEAR)
        return shares[column].is_known ? more_text(shares[column].share, "", text) : "-";
    snprintf(text, 16, "%lld", (long long)(column == COLUMN_CELLS ? summary->cells : summary->clear_cells));
    return text;
}

void score_print_heading(const score_print_t *how) {
    bool all = true;
    for (int column = 0; column < COLUMN_COUNT; column++)
        all = all && is_column_shown(how, (column_t)column);
    if (!all)
        pto_print_note(stdout, "more columns by --all or a wider terminal");
    printf("#%*s", PICKER_WIDTH - 1, "");
    for (int column = 0; column <= COLUMN_MEDIAN; column++)
        if (is_column_shown(how, (column_t)column))
            printf("%*s", columns[column].width, columns[column].above);
    printf("\n# %-*s", PICKER_WIDTH - 2, "Picked by");
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (is_column_shown(how, (column_t)column))
            printf("%*s", columns[column].width, columns[column].heading);
    putchar('\n');
}

/* The model's row is the first of its group, after the group's name. */
void score_print_row(const score_print_t *how, const score_row_t *row, bool first) {
    char name[64], picker[48], text[16];
    if (row->picker == PTO_PICKER_MODEL)
        printf("%s%s\n", first ? "" : "\n", score_filter_text(&row->filter, name, sizeof name));
    snprintf(picker, sizeof picker, "  %s%s%s", pto_picker_name(row->picker), row->strategy ? " " : "",
             row->strategy ? row->strategy->name : "");
    printf("%-*s", PICKER_WIDTH, picker);
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (is_column_shown(how, (column_t)column))
            printf("%*s", columns[column].width, column_text(row, (column_t)column, text));
    putchar('\n');
}

const char *score_space_name(bool host) { return pto_space_name(host ? PTO_SPACE_CPU : PTO_SPACE_GPU); }

enum { CELL_NAME_MAX = PTO_HALO_TEXT_MAX + 32 };
/* Returns the decision: "alltoall library", "pair on_socket gpu,cpu". */
static const char *cell_name(const pto_score_cell_t *cell, char text[CELL_NAME_MAX]) {
    const pto_score_filter_t filter = {cell->collective, cell->implementation, 0};
    if (cell->collective == PTO_COLLECTIVE_HALO) {
        char grid[PTO_HALO_TEXT_MAX];
        snprintf(text, CELL_NAME_MAX, "halo %s %s", pto_implementation_name(cell->implementation),
                 pto_halo_text(&cell->halo, grid));
        return text;
    }
    if (cell->collective != PTO_COLLECTIVE_PAIR)
        return score_filter_text(&filter, text, CELL_NAME_MAX);
    snprintf(text, CELL_NAME_MAX, "pair %s %s,%s%s", pto_level_name(cell->distance),
             score_space_name(cell->ends.from_host), score_space_name(cell->ends.to_host),
             cell->ends.both_ways ? " both ways" : "");
    return text;
}

/* "bruck, 8 chunks", or a dash. */
static const char *algorithm_text(const pto_score_cell_t *cell, int index, char text[64]) {
    const pto_score_candidate_t *candidate = &cell->candidate[index];
    const pto_prediction_t *prediction = &cell->prediction[index];
    char choice[PTO_CHOICE_TEXT_MAX];
    snprintf(text, 64, "-");
    if (prediction->applicable)
        snprintf(text, 64, "%s%s", prediction->algorithm->name,
                 pto_choice_text(candidate->strategy, candidate->chunks, prediction->staged_members, choice));
    return text;
}

/* "best", "picked", or "picked, 31.0%" with the pick's regret: how much longer it takes than the best. "~"
 * marks a near-tie. */
static const char *pick_text(const pto_score_cell_t *cell, int index, char text[64]) {
    bool best = index == cell->best, picked = index == cell->picked;
    char regret[16] = "";
    bool lost = picked && !best;
    snprintf(text, 64, "%s%s%s%s%s%s%s", best || picked ? "  " : "", best ? "best" : "",
             best && picked ? ", " : "", picked ? "picked" : "", lost ? ", " : "",
             lost ? more_text(cell->regret, "", regret) : "", picked && cell->near_tie ? " ~" : "");
    return text;
}

static pto_layout_t layout_of(const pto_score_cell_t *cell) {
    return (pto_layout_t){.in_host = cell->in_host,
                          .nodes = cell->nodes,
                          .gpus_per_node = cell->gpus_per_node,
                          .procs_per_gpu = cell->procs_per_gpu,
                          .owners_per_gpu = cell->owners_per_gpu};
}

/* The widths of columns of the table of cells, in characters. */
typedef struct {
    int strategy, algorithm; /* algorithm 0: no such column */
    int time;                /* a time, or a bandwidth in its place */
    pto_bandwidth_t bandwidth;
} cell_widths_t;

enum { CELL_BYTES_WIDTH = 9, CELL_TIME_WIDTH = 9 };

static cell_widths_t find_cell_widths(const pto_score_t *score, const score_print_t *how) {
    /* "99.9 GB/s" is wider than a time. */
    cell_widths_t widths = {pto_wider(0, "Strategy"), pto_wider(0, "Algorithm"),
                            CELL_TIME_WIDTH + 2 * pto_bandwidth_replaces_times(how->bandwidth),
                            how->bandwidth};
    int pick = pto_wider(0, "  Regret");
    for (int64_t i = 0; i < score->cell_count; i++) {
        const pto_score_cell_t *cell = &score->cell[i];
        for (int c = 0; c < cell->candidate_count; c++) {
            char text[64];
            widths.strategy = pto_wider(widths.strategy, cell->candidate[c].strategy->name);
            widths.algorithm = pto_wider(widths.algorithm, algorithm_text(cell, c, text));
            pick = pto_wider(pick, pick_text(cell, c, text));
        }
    }
    int used = CELL_BYTES_WIDTH + 2 + widths.strategy + widths.algorithm + 2 * widths.time + CELL_TIME_WIDTH +
               pto_bandwidth_columns_width(how->bandwidth) + pick;
    if (used > pto_terminal_width(stdout) && !how->all)
        widths.algorithm = 0;
    return widths;
}

static void print_table_candidate(const pto_score_cell_t *cell, int index, const cell_widths_t *widths) {
    const pto_score_candidate_t *candidate = &cell->candidate[index];
    const pto_prediction_t *prediction = &cell->prediction[index];
    const pto_layout_t layout = layout_of(cell);
    const pto_moved_t moved = {cell->collective, pto_layout_owner_count(&layout), cell->bytes, 1};
    char text[64], error[16], cost[PTO_SECONDS_TEXT_MAX], bandwidths[PTO_BANDWIDTH_COLUMNS_MAX];
    printf(" %-*s", widths->strategy, candidate->strategy->name);
    if (widths->algorithm > 0)
        printf(" %-*s", widths->algorithm, algorithm_text(cell, index, text));
    printf("%*s%s", widths->time,
           pto_bandwidth_or_time(widths->bandwidth, &moved, candidate->measured_s, cost),
           pto_bandwidth_columns(widths->bandwidth, &moved, candidate->measured_s, bandwidths));
    if (prediction->applicable)
        printf("%*s%*s", widths->time,
               pto_bandwidth_or_time(widths->bandwidth, &moved, prediction->price.seconds, cost),
               CELL_TIME_WIDTH, more_text(prediction->price.seconds / candidate->measured_s - 1, "+", error));
    else
        printf("%*s%*s", widths->time, "-", CELL_TIME_WIDTH, "-");
    puts(pick_text(cell, index, text));
}

static bool is_same_group(const pto_score_cell_t *a, const pto_score_cell_t *b) {
    char left[CELL_NAME_MAX], right[CELL_NAME_MAX];
    return a->nodes == b->nodes && a->gpus_per_node == b->gpus_per_node &&
           a->procs_per_gpu == b->procs_per_gpu && a->in_host == b->in_host &&
           strcmp(cell_name(a, left), cell_name(b, right)) == 0;
}

static void print_group_name(const pto_score_cell_t *cell, bool first) {
    const pto_layout_t layout = layout_of(cell);
    char name[CELL_NAME_MAX];
    fputs(first ? "" : "\n", stdout);
    pto_print_text(stdout, "%s, %s", cell_name(cell, name), PTO_NODES_TEXT(&layout));
}

static void print_cells_heading(const cell_widths_t *widths) {
    if (widths->algorithm == 0)
        pto_print_note(stdout, "algorithms by --all or a wider terminal");
    char bandwidths[PTO_BANDWIDTH_COLUMNS_MAX];
    pto_print_bandwidth_head(widths->bandwidth, "measured");
    printf("# %-*s %-*s", CELL_BYTES_WIDTH - 2, "Bytes", widths->strategy, "Strategy");
    if (widths->algorithm > 0)
        printf(" %-*s", widths->algorithm, "Algorithm");
    printf("%*s%s%*s%*s  Regret\n", widths->time, "Measured",
           pto_bandwidth_heading(widths->bandwidth, bandwidths), widths->time, "Predict.", CELL_TIME_WIDTH,
           "Error");
}

void score_print_cells(const pto_score_t *score, const score_print_t *how) {
    const cell_widths_t widths = find_cell_widths(score, how);
    print_cells_heading(&widths);
    for (int64_t i = 0; i < score->cell_count; i++) {
        const pto_score_cell_t *cell = &score->cell[i];
        if (i == 0 || !is_same_group(cell - 1, cell))
            print_group_name(cell, i == 0);
        for (int c = 0; c < cell->candidate_count; c++) {
            printf("%-*s", CELL_BYTES_WIDTH, c == 0 ? PTO_SIZE_TEXT(cell->bytes) : "");
            print_table_candidate(cell, c, &widths);
        }
    }
}
