/* Fits the cost of reductions. A core's rate falls when the data no longer fit in a cache, so the cost has
 * pieces by size, found as for messages. Operations and types are pooled, since a machine has one cost for
 * all of them; the fit reports their spread. */
#include <math.h>
#include <stdio.h>

#include "parts.h"
#include "select.h"

static const char *const operations[] = {"sum", "prod", "min", "max"};
static const char *const types[] = {"int32", "int64", "float", "double", "half", "bfloat16"};

enum {
    OPERATION_COUNT = sizeof operations / sizeof *operations,
    TYPE_COUNT = sizeof types / sizeof *types,
    PAIR_TEXT_MAX = 16,
};

/* The most common pair; only this is used if the pool is too heterogeneous. */
static const char *const usual_pair = "sum-float";

/* Ratio measured / fitted of one operation and type. */
typedef struct {
    int count;
    double least;
    double most;
    char least_pair[PAIR_TEXT_MAX];
    char most_pair[PAIR_TEXT_MAX];
} spread_t;

static fit_filter_t filter_of(pto_space_t space, const char *pair) {
    return (fit_filter_t){PTO_BENCHMARK_REDUCE, fit_where_of_space[space], PTO_AT_COUNT, 0,
                          pto_sample_pair_hash(pair)};
}

static double fitted_seconds(const fit_work_t *work, pto_space_t space, int64_t bytes) {
    const pto_postal_t *postal = pto_machine_reduce(work->fit->machine, space, bytes);
    return postal->alpha_s.value + postal->beta_s_per_byte.value * (double)bytes;
}

/* Median of the residuals over all pieces. */
static pto_status_t whole_residual(fit_work_t *work, pto_space_t space, const fit_points_t *points,
                                   double *residual) {
    double *scratch = fit_alloc(work, points->count, sizeof *scratch);
    if (scratch == NULL)
        return PTO_ERR_MEMORY;
    for (size_t i = 0; i < points->count; i++) {
        double seconds = points->point[i].seconds;
        scratch[i] =
            fabs(fitted_seconds(work, space, points->point[i].bytes) - seconds) / pto_error_scale(seconds);
    }
    *residual = fit_median(scratch, points->count);
    return PTO_OK;
}

/* Median ratio measured / fitted of the samples of one operation and type above the grain. */
static pto_status_t add_to_spread(fit_work_t *work, pto_space_t space, const char *pair, spread_t *spread) {
    fit_points_t points;
    fit_filter_t filter = filter_of(space, pair);
    pto_status_t status = fit_select(work, &filter, &points);
    double *ratio = status == PTO_OK ? fit_alloc(work, points.count, sizeof *ratio) : NULL;
    size_t count = 0;
    if (ratio == NULL)
        return PTO_ERR_MEMORY;
    for (size_t i = 0; i < points.count; i++) {
        double fitted = fitted_seconds(work, space, points.point[i].bytes);
        if (fmax(points.point[i].seconds, fitted) > pto_timing_grain_s)
            ratio[count++] = points.point[i].seconds / fitted;
    }
    if (count == 0)
        return PTO_OK;
    double middle = fit_median(ratio, count);
    if (spread->count == 0 || middle < spread->least) {
        spread->least = middle;
        snprintf(spread->least_pair, sizeof spread->least_pair, "%s", pair);
    }
    if (spread->count == 0 || middle > spread->most) {
        spread->most = middle;
        snprintf(spread->most_pair, sizeof spread->most_pair, "%s", pair);
    }
    spread->count++;
    return PTO_OK;
}

/* Report the spread of operations and types, and whether one represents all. */
static pto_status_t report_spread(fit_work_t *work, pto_space_t space, bool usual_only) {
    spread_t spread = {0};
    for (int i = 0; i < OPERATION_COUNT * TYPE_COUNT; i++) {
        char pair[PAIR_TEXT_MAX];
        snprintf(pair, sizeof pair, "%s-%s", operations[i / TYPE_COUNT], types[i % TYPE_COUNT]);
        pto_status_t status = add_to_spread(work, space, pair, &spread);
        if (status != PTO_OK)
            return status;
    }
    if (spread.count < 2)
        return PTO_OK;
    char name[PTO_FIT_NAME_MAX];
    snprintf(name, sizeof name, "reduce.%s by operation", pto_space_name(space));
    return fit_note(work, name, 0,
                    "%s; %d operations and types took %.2f (%s) to %.2f (%s) times the fitted cost",
                    usual_only ? "fitted to sum-float alone" : "pooled", spread.count, spread.least,
                    spread.least_pair, spread.most, spread.most_pair);
}

/* Returns whether the pooled fit describes its samples. */
static pto_status_t judge_pooled(fit_work_t *work, pto_space_t space, const fit_points_t *points,
                                 pto_status_t fitted, bool *good) {
    double residual = HUGE_VAL;
    pto_status_t status = PTO_OK;
    if (fitted == PTO_OK && work->fit->machine->reduce[space].count > 0)
        status = whole_residual(work, space, points, &residual);
    *good = residual <= fit_doubtful_residual;
    return status;
}

/* Fits all samples or, if that describes them badly, those of the usual pair, if there are any. */
static pto_status_t fit_pooled_or_usual(fit_work_t *work, pto_space_t space, const fit_points_t *pooled,
                                        const fit_points_t *usual, bool *usual_only) {
    int entry_count = work->fit->entry_count;
    pto_status_t status = fit_cost(work, pooled, &work->fit->machine->reduce[space]);
    *usual_only = false;
    if ((status != PTO_OK && status != PTO_ERR_NOT_FOUND) || usual->count == 0 ||
        usual->count == pooled->count)
        return status;
    bool good;
    pto_status_t judged = judge_pooled(work, space, pooled, status, &good);
    if (judged != PTO_OK || good)
        return judged;
    pto_cost_fini(&work->fit->machine->reduce[space]);
    work->fit->entry_count = entry_count;
    *usual_only = true;
    return fit_cost(work, usual, &work->fit->machine->reduce[space]);
}

pto_status_t fit_reduce(fit_work_t *work, pto_space_t space) {
    fit_points_t pooled, usual;
    fit_filter_t one = filter_of(space, usual_pair);
    bool usual_only = false;
    pto_status_t status = fit_select_in(work, PTO_BENCHMARK_REDUCE, space, &pooled);
    if (status == PTO_OK)
        status = fit_select(work, &one, &usual);
    if (status != PTO_OK || pooled.count == 0)
        return status;
    status = fit_pooled_or_usual(work, space, &pooled, &usual, &usual_only);
    return status == PTO_OK && work->fit->machine->reduce[space].count > 0
               ? report_spread(work, space, usual_only)
               : status;
}
