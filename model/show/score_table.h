/* Printing the result of `portolan score` as a table, csv or JSON. */
#ifndef PTO_SCORE_TABLE_H
#define PTO_SCORE_TABLE_H

#include "command_line/options.h"
#include "portolan/score.h"

/* What to print: the options of the command. */
typedef struct {
    pto_format_t format;
    bool by_nodes;             /* also a group of rows for each number of nodes */
    bool cells;                /* single cells instead of groups */
    bool baselines;            /* also the rows of simple pickers */
    bool leave_one_out;        /* for the header: a node count is predicted by a fit to the others */
    pto_bandwidth_t bandwidth; /* in the table of cells */
    bool all;                  /* every column, even if the terminal is too narrow */
    bool model_error;          /* print model_error alone, as in a machine file */
    bool in_sample;            /* for the header: the machine's terms were fitted to these cells */
} score_print_t;

/* How well a picker chose in a group of cells. */
typedef struct {
    pto_score_filter_t filter; /* the group */
    pto_picker_t picker;
    const pto_strategy_t *strategy; /* of PTO_PICKER_ALWAYS; else NULL */
    pto_score_summary_t summary;
} score_row_t;

/* "alltoall library, 2 nodes", or "all". Returns `text`. */
const char *score_filter_text(const pto_score_filter_t *filter, char *text, size_t text_size);
/* "cpu" or "gpu": where a buffer is. */
const char *score_space_name(bool host);

/* The table of groups of cells: a heading, and a row for each picker in each group. The model's row begins a
 * group, so the group's name is printed above it. `first`: this is the first row of the whole table. */
void score_print_heading(const score_print_t *how);
void score_print_row(const score_print_t *how, const score_row_t *row, bool first);
/* The table of --cells: a row for each strategy of each cell. */
void score_print_cells(const pto_score_t *score, const score_print_t *how);

/* Print a score, after pto_score_predict, to standard output. Errors: PTO_ERR_MEMORY. */
pto_status_t score_print(const pto_score_t *score, const pto_collectives_t *collectives,
                         const pto_machine_t *machine, const score_print_t *how, pto_error_t *err);

#endif
