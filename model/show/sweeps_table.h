/* Printing a scenario over two sweeps: tables, csv and JSON. */
#ifndef PTO_SWEEPS_TABLE_H
#define PTO_SWEEPS_TABLE_H

#include "caveats.h"
#include "sweeps.h"

/* A row for each value of the first axis, a column for each of the second, in blocks as wide as the terminal:
 * the least cost and a letter for its strategy. With --compare, both machines side by side instead. */
void pto_print_sweeps(const pto_sweeps_t *sweeps);

/* A line for each row: which strategy is the cheapest up to which value, between the sweep's points too.
 * Errors: those of pto_crossings. */
pto_status_t pto_print_sweeps_picks(const pto_sweeps_t *sweeps, pto_error_t *err);

/* Print all runs that have a prediction to standard output: in csv after `heading`, or as a list in json. Why
 * the others have none is printed to standard error. */
typedef pto_status_t pto_print_run_t(pto_sweeps_run_t *run, pto_error_t *err);
pto_status_t pto_print_sweeps_runs(pto_sweeps_t *sweeps, void (*heading)(void), pto_print_run_t *print,
                                   pto_error_t *err);

/* pto_crossings or, if bisection is too much work or interrupted, the points of the sweep at which the pick
 * changes. The caller frees `*crossing`. */
pto_status_t pto_crossings_or_points(const pto_predictions_t *predictions, pto_crossing_t **crossing,
                                     int64_t *count, pto_error_t *err);

/* Print two predictions of the same sweep side by side, the first "As it is", and what the second one saves,
 * and add the marks of their picks. The table ends with the shorter one, which was interrupted. */
void pto_print_side_by_side(const pto_predictions_t *before, const pto_predictions_t *after,
                            const char *after_title, pto_marks_t *marks);

#endif
