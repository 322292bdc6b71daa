/* Fits a node's message rate: many processes that send small messages at once can take longer than one
 * process, because the node sends only so many messages per second. With T(p, s), the median time in which p
 * processes of a node send a message of s bytes each, every size measured with the largest p yields the
 * node's time per message,
 *
 *     gamma = (T(p, s) - p s / R_N) / p,
 *
 * and the fit keeps the median over sizes. gamma is an upper bound if the rate is not quite reached, so only
 * sizes with T(p, s) clearly above T(1, s) count. */
#include <math.h>
#include <stdio.h>

#include "parts.h"
#include "select.h"

/* "Clearly above": T(p, s) / T(1, s) is more than this. */
static const double slower_ratio = 1.2;

enum { SIZES_MIN = 3, PROCS_MIN = 8 };

/* Finds gamma for each size below the last protocol; returns how many. `gamma` has room for all points. */
static size_t find_gammas(const fit_work_t *work, pto_space_t space, const fit_points_t *points,
                          double *gamma) {
    const pto_cost_table_t *cost = &work->fit->machine->messages[space][PTO_LEVEL_OFF_NODE];
    int64_t below = cost->count > 1 ? cost->row[cost->count - 1].from_bytes : INT64_MAX;
    double s_per_byte = work->fit->machine->injection_s_per_byte[space].value;
    int32_t procs = fit_max_procs(points);
    size_t count = 0;
    int64_t bytes = -1; /* the last size: points are sorted */
    for (size_t i = 0; i < points->count && procs >= PROCS_MIN; i++) {
        const fit_point_t *point = &points->point[i];
        if (point->procs != procs || point->bytes == bytes || point->bytes >= below)
            continue;
        bytes = point->bytes;
        double alone_s = fit_median_at(points, 1, bytes, work->scratch);
        double together_s = fit_median_at(points, procs, bytes, work->scratch);
        double per_message_s = together_s / procs - (double)bytes * s_per_byte;
        if (alone_s > 0 && together_s > slower_ratio * alone_s && per_message_s > 0)
            gamma[count++] = per_message_s;
    }
    return count;
}

/* Returns the median, with the order statistics that enclose it with about 95 % confidence: 1.96 standard
 * deviations, sqrt(n) / 2, of the binomial distribution from the middle. */
static pto_param_t median_with_interval(double *value, size_t count) {
    double middle = fit_median(value, count); /* sorts */
    double half_width = 0.98 * sqrt((double)count);
    size_t low = (double)count / 2 > half_width ? (size_t)((double)count / 2 - half_width) : 0;
    return (pto_param_t){.value = fit_round(middle),
                         .low = fit_round(value[low]),
                         .high = fit_round(value[count - 1 - low]),
                         .has_interval = true,
                         .line = 1};
}

static void keep_rate(fit_work_t *work, pto_space_t space, double *gamma, size_t count) {
    pto_param_t *param = &work->fit->machine->injection_s_per_message[space];
    fit_keep_param(work, PTO_FIT_TIME, fit_key(work, param), median_with_interval(gamma, count),
                   &(fit_regression_t){.count = count}, param, "median over %zu sizes", count);
}

void fit_message_rate(fit_work_t *work, pto_space_t space) {
    if (!pto_param_known(&work->fit->machine->injection_s_per_byte[space]))
        return;
    fit_points_t points = fit_select(
        work, (fit_filter_t){PTO_BENCHMARK_INJECTION, fit_where_of_space[space], PTO_AT_OFF_NODE, 0, 0});
    double *gamma = fit_alloc(work, points.count, sizeof *gamma);
    size_t count = gamma ? find_gammas(work, space, &points, gamma) : 0;
    if (count >= SIZES_MIN)
        keep_rate(work, space, gamma, count);
}
