/* The rows of `portolan score` for people, as wide as the terminal. */
#ifndef PTO_SCORE_COLUMNS_H
#define PTO_SCORE_COLUMNS_H

#include "score_table.h"

typedef struct {
    pto_score_filter_t filter;
    pto_picker_t picker;
    const pto_strategy_t *strategy;
    pto_score_summary_t summary;
} score_row_t;

/* "alltoall library, 2 nodes", or "all". Returns `text`. */
const char *score_filter_text(const pto_score_filter_t *filter, char *text, size_t text_size);

/* A row for each picker of a group of cells, whose name is above the first one. */
void score_print_heading(const score_print_t *how);
void score_print_row(const score_print_t *how, const score_row_t *row, bool first);

/* Instead, a row for each strategy of each cell. */
void score_print_cells(const pto_score_t *score, const score_print_t *how);

#endif
