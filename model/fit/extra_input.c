/* Fits the cost of reductions of more than two inputs. A single pass over k inputs of s bytes reads each
 * input once and writes the result once. In contrast, k - 1 passes over two inputs read and write the
 * intermediate result each time. The model is
 *
 *     T(k, s) = c (alpha + beta s) + gamma (k - 2) s,
 *
 * where alpha and beta are the fitted values for two inputs, and gamma is the time per byte of each
 * additional input. c is the cost of the kernel for many inputs, called with two, relative to the kernel for
 * two: it should be near 1 and is reported if it is not. Prices use c = 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "parts.h"
#include "select.h"

enum { COLUMN_TWO, COLUMN_EXTRA, COLUMN_COUNT };

/* One row for each point of the piece, which is the context. */
static bool fill_inputs(const fit_point_t *point, const void *context, fit_row_t *row) {
    const pto_cost_row_t *piece = context;
    double bytes = (double)point->bytes;
    row->column[COLUMN_TWO] = piece->postal.alpha_s.value + piece->postal.beta_s_per_byte.value * bytes;
    row->column[COLUMN_EXTRA] = (double)(point->messages - 2) * bytes;
    return point->messages >= 2 && point->bytes >= piece->from_bytes && point->bytes < piece->below_bytes;
}

static void keep(fit_work_t *work, const char *name, const fit_regression_t *result, pto_cost_row_t *piece) {
    bool doubtful = fabs(result->value[COLUMN_TWO] - 1) > fit_doubtful_residual;
    pto_fit_entry_t *entry = fit_keep_param(
        work, PTO_FIT_RATE, name, fit_param(result, COLUMN_EXTRA), result, &piece->extra_input_s_per_byte,
        "of an additional input; two inputs take %.2f times reduce's cost%s", result->value[COLUMN_TWO],
        doubtful ? ", which prices do not contain" : "");
    if (entry == NULL)
        return;
    entry->from_bytes = piece->from_bytes;
    entry->below_bytes = piece->below_bytes;
}

static void fit_piece(fit_work_t *work, const char *key, const fit_points_t *points, pto_cost_row_t *piece) {
    char name[PTO_FIT_NAME_MAX];
    fit_regression_t result;
    fit_name_range(key, 0, piece, name);
    if (!fit_line(work, name, points, &(fit_model_t){COLUMN_COUNT, fill_inputs, piece},
                  "useless samples: half of them are far from any line", &result))
        return;
    /* The launch may hide the cost of bytes. The price is then k - 1 times that of two inputs. */
    if (result.value[COLUMN_EXTRA] <= 0)
        fit_note(work, name, 0, "additional inputs cost nothing measurable");
    else
        keep(work, name, &result, piece);
}

void fit_extra_input(fit_work_t *work, pto_space_t space) {
    pto_cost_table_t *cost = &work->fit->machine->reduce[space];
    char key[PTO_FIT_NAME_MAX];
    snprintf(key, sizeof key, "reduce.%s.extra_input_s_per_byte", pto_space_name(space));
    fit_points_t points = fit_select_in(work, PTO_BENCHMARK_REDUCE_MANY, space);
    if (points.count > 0 && cost->count == 0)
        fit_give_up(work, key, "without samples of `reduce` there is no cost of two inputs");
    for (int k = 0; points.count > 0 && k < cost->count; k++)
        fit_piece(work, key, &points, &cost->row[k]);
}
