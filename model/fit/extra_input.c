/* Reductions of more than two inputs. A single pass over k inputs of s bytes reads each input once and
 * writes the result once. In contrast, k - 1 passes over two inputs read and write the intermediate result
 * each time. The model is
 *
 *     T(k, s) = c (alpha + beta s) + gamma (k - 2) s,
 *
 * where alpha and beta are the fitted values for two inputs, and gamma is the time per byte of each
 * additional input. c compares the kernel for many inputs, called with two, to the kernel for two: it should
 * be near 1 and is reported if it is not. Prices use c = 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "parts.h"
#include "select.h"

enum { COLUMN_TWO, COLUMN_EXTRA, COLUMN_COUNT };

static bool in_piece(const fit_point_t *point, const pto_cost_row_t *piece) {
    return point->messages >= 2 && point->bytes >= piece->from_bytes && point->bytes < piece->below_bytes;
}

/* One row for each point of the piece, in the order of the points, so that equal rows stay adjacent. */
static pto_status_t fill_design(const fit_work_t *work, const fit_points_t *points,
                                const pto_cost_row_t *piece, fit_design_t *design) {
    pto_status_t status = fit_design_init(points->count, COLUMN_COUNT, design, work->err);
    if (status != PTO_OK) {
        return status;
    }
    design->count = 0;
    for (size_t i = 0; i < points->count; i++) {
        const fit_point_t *point = &points->point[i];
        if (!in_piece(point, piece)) {
            continue;
        }
        double bytes = (double)point->bytes;
        double *row = &design->column[design->count * COLUMN_COUNT];
        row[COLUMN_TWO] = piece->postal.alpha_s.value + piece->postal.beta_s_per_byte.value * bytes;
        row[COLUMN_EXTRA] = (double)(point->messages - 2) * bytes;
        design->seconds[design->count++] = point->seconds;
    }
    return PTO_OK;
}

static void name_piece(pto_space_t space, const pto_cost_row_t *piece, char *name, size_t name_size) {
    int end = snprintf(name, name_size, "reduce.%s.extra_input_s_per_byte", pto_space_name(space));
    if (piece->below_bytes != INT64_MAX) {
        snprintf(name + end, name_size - (size_t)end, " below %lld", (long long)piece->below_bytes);
    } else if (piece->from_bytes > 0) {
        snprintf(name + end, name_size - (size_t)end, " from %lld", (long long)piece->from_bytes);
    }
}

/* If the launch hides the cost of bytes, gamma may come out as zero. Then the price stays k - 1 times that
 * of two inputs, in which bytes also matter little. */
static pto_status_t note_absent(fit_work_t *work, const char *name) {
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_ABSENT, "%s", name);
    if (entry == NULL) {
        return PTO_ERR_MEMORY;
    }
    snprintf(entry->note, sizeof entry->note, "additional inputs cost nothing measurable");
    return PTO_OK;
}

static pto_status_t keep(fit_work_t *work, const char *name, const fit_regression_t *result, size_t count,
                         pto_cost_row_t *piece) {
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_RATE, "%s", name);
    if (entry == NULL) {
        return PTO_ERR_MEMORY;
    }
    piece->extra_input_s_per_byte = fit_param(result, COLUMN_EXTRA);
    entry->beta_s_per_byte = piece->extra_input_s_per_byte;
    entry->from_bytes = piece->from_bytes;
    entry->below_bytes = piece->below_bytes;
    entry->sample_count = (int64_t)count;
    entry->residual = fit_round(result->residual);
    bool doubtful = fabs(result->value[COLUMN_TWO] - 1) > fit_doubtful_residual;
    snprintf(entry->note, sizeof entry->note,
             "of an additional input; two inputs take %.2f times reduce's cost%s", result->value[COLUMN_TWO],
             doubtful ? ", which prices do not contain" : "");
    return PTO_OK;
}

static pto_status_t fit_piece(fit_work_t *work, pto_space_t space, const fit_points_t *points,
                              pto_cost_row_t *piece) {
    char name[PTO_FIT_NAME_MAX];
    fit_design_t design;
    fit_regression_t result;
    name_piece(space, piece, name, sizeof name);
    pto_status_t status = fill_design(work, points, piece, &design);
    if (status != PTO_OK || design.count == 0) {
        fit_design_fini(&design);
        return status;
    }
    size_t count = design.count;
    status = fit_regress(&design, work->options->minima, &result, work->err);
    fit_design_fini(&design);
    if (status == PTO_ERR_NOT_FOUND) {
        return fit_give_up(work, name, "its samples allow no regression");
    }
    if (status != PTO_OK) {
        return status;
    }
    if (result.residual > fit_useless_residual && !work->options->minima) {
        return fit_give_up(work, name, "useless samples: half of them are far from any line");
    }
    if (result.held[COLUMN_EXTRA] || fit_round(result.value[COLUMN_EXTRA]) <= 0) {
        return note_absent(work, name);
    }
    return keep(work, name, &result, count, piece);
}

pto_status_t fit_extra_input(fit_work_t *work, pto_space_t space) {
    pto_cost_table_t *cost = &work->fit->machine->reduce[space];
    fit_points_t points;
    pto_status_t status =
        fit_select(work,
                   &(fit_filter_t){PTO_BENCHMARK_REDUCE_MANY,
                                   space == PTO_SPACE_GPU ? PTO_IN_GPU : PTO_IN_CPU, PTO_AT_COUNT, 0, 0},
                   &points);
    if (status != PTO_OK) {
        return status;
    }
    if (points.count > 0 && cost->count == 0) {
        char name[PTO_FIT_NAME_MAX];
        snprintf(name, sizeof name, "reduce.%s.extra_input_s_per_byte", pto_space_name(space));
        status = fit_give_up(work, name, "without samples of `reduce` there is no cost of two inputs");
    }
    for (int k = 0; status == PTO_OK && points.count > 0 && k < cost->count; k++) {
        status = fit_piece(work, space, &points, &cost->row[k]);
    }
    free(points.point);
    return status;
}
