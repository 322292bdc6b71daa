/* Printing a scenario over two sweeps: tables, csv and JSON. */
#ifndef PTO_SWEEPS_TABLE_H
#define PTO_SWEEPS_TABLE_H

#include "caveats.h"
#include "sweeps.h"

/* Prints a row for each value of the first axis, a column for each of the second, in blocks as wide as the
 * terminal: the least cost and a letter for its strategy. With --compare, both machines side by side instead.
 */
void pto_print_sweeps(const pto_sweeps_t *sweeps);

/* Prints a line for each row: which strategy is the cheapest up to which value, also between the sweep's
 * points. Errors: those of pto_crossings. */
pto_status_t pto_print_sweeps_picks(const pto_sweeps_t *sweeps, pto_error_t *err);

/* Prints all runs that have a prediction by `print`: as CSV after `heading`, or as a JSON list. Prints to
 * standard error why the others have none. */
typedef pto_status_t pto_print_run_t(pto_sweeps_run_t *run, pto_error_t *err);
pto_status_t pto_print_sweeps_runs(pto_sweeps_t *sweeps, void (*heading)(void), pto_print_run_t *print,
                                   pto_error_t *err);

/* As pto_crossings, which finds by bisection where the pick changes. If that is too much work or interrupted,
 * sets the points of the sweep at which it changes. The caller frees `*crossing`. */
pto_status_t pto_crossings_or_points(const pto_predictions_t *predictions, pto_crossing_t **crossing,
                                     int64_t *count, pto_error_t *err);

/* Prints two predictions of the same sweep side by side, the first as "As it is", and what the second one
 * saves. Adds the marks of their picks to `marks`. If one was interrupted, the table ends with it. */
void pto_print_side_by_side(const pto_predictions_t *before, const pto_predictions_t *after,
                            const char *after_title, pto_marks_t *marks);

#endif
