/* Fits the cost of reductions. A core's rate falls when the data no longer fit in a cache, so the cost has
 * pieces by size, found as for messages. Operations and types are pooled, since a machine has one cost for
 * all; the fit reports the spread. */
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
static double whole_residual(const fit_work_t *work, pto_space_t space, const fit_points_t *points) {
    for (size_t i = 0; i < points->count; i++) {
        double seconds = points->point[i].seconds;
        work->scratch[i] =
            fabs(fitted_seconds(work, space, points->point[i].bytes) - seconds) / pto_error_scale(seconds);
    }
    return fit_median(work->scratch, points->count);
}

/* Median ratio measured / fitted of the samples of one operation and type above the grain. */
static void add_to_spread(fit_work_t *work, pto_space_t space, const char *pair, spread_t *spread) {
    const fit_points_t points = fit_select(work, filter_of(space, pair));
    double *ratio = work->scratch;
    size_t count = 0;
    for (size_t i = 0; i < points.count; i++) {
        double fitted = fitted_seconds(work, space, points.point[i].bytes);
        if (fmax(points.point[i].seconds, fitted) > pto_timing_grain_s)
            ratio[count++] = points.point[i].seconds / fitted;
    }
    if (count == 0)
        return;
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
}

/* Report the spread of operations and types, and whether one represents all. */
static void report_spread(fit_work_t *work, pto_space_t space, bool usual_only) {
    spread_t spread = {0};
    for (int i = 0; i < OPERATION_COUNT * TYPE_COUNT; i++) {
        char pair[PAIR_TEXT_MAX];
        snprintf(pair, sizeof pair, "%s-%s", operations[i / TYPE_COUNT], types[i % TYPE_COUNT]);
        add_to_spread(work, space, pair, &spread);
    }
    if (spread.count < 2)
        return;
    char name[PTO_FIT_NAME_MAX];
    snprintf(name, sizeof name, "reduce.%s by operation", pto_space_name(space));
    fit_note(work, name, 0, "%s; %d operations and types took %.2f (%s) to %.2f (%s) times the fitted cost",
             usual_only ? "fitted to sum-float alone" : "pooled", spread.count, spread.least,
             spread.least_pair, spread.most, spread.most_pair);
}

/* Fits all samples or, if that describes them badly, those of the usual pair. Returns whether those alone. */
static bool fit_pooled_or_usual(fit_work_t *work, pto_space_t space, const fit_points_t *pooled,
                                const fit_points_t *usual) {
    pto_cost_table_t *cost = &work->fit->machine->reduce[space];
    int entry_count = work->fit->entry_count;
    fit_cost(work, pooled, cost);
    if (usual->count == 0 || usual->count == pooled->count ||
        (cost->count > 0 && whole_residual(work, space, pooled) <= fit_doubtful_residual))
        return false;
    pto_cost_fini(cost);
    work->fit->entry_count = entry_count;
    fit_cost(work, usual, cost);
    return true;
}

void fit_reduce(fit_work_t *work, pto_space_t space) {
    const fit_points_t pooled = fit_select_in(work, PTO_BENCHMARK_REDUCE, space);
    const fit_points_t usual = fit_select(work, filter_of(space, usual_pair));
    if (pooled.count == 0)
        return;
    bool usual_only = fit_pooled_or_usual(work, space, &pooled, &usual);
    if (work->fit->machine->reduce[space].count > 0)
        report_spread(work, space, usual_only);
}
