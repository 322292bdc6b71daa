/* Robust regression: times as non-negative combinations of columns. */
#ifndef PORTOLAN_FIT_REGRESS_H
#define PORTOLAN_FIT_REGRESS_H

#include <math.h>

#include "points.h"

enum { FIT_COLUMN_MAX = 4 };

/* Two readings of a clock take about this long, and so do the call and the loop around what is timed. */
static const double fit_grain_s = 5e-8;

/* What an error in a time is relative to: the time itself, but never less than the grain, below which a mean
 * over a loop says more about the loop than about its body. */
static inline double fit_error_scale(double seconds) { return fmax(seconds, fit_grain_s); }

/* times[i] = sum over j of coefficient[j] * column[i * columns + j], all coefficients 0 or more. */
typedef struct {
    size_t count;
    int columns;
    double *column;
    double *seconds;
} fit_design_t;

typedef struct {
    double value[FIT_COLUMN_MAX];
    double low[FIT_COLUMN_MAX];
    double high[FIT_COLUMN_MAX];
    bool has_interval;         /* else there were no more points than coefficients */
    bool held[FIT_COLUMN_MAX]; /* at 0: the data wanted it negative */
    double residual;           /* median of |fitted - measured| / fit_error_scale(measured) */
} fit_regression_t;

/* Room for `count` rows; both arrays in one allocation. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_design_init(size_t count, int columns, fit_design_t *design, pto_error_t *err);
void fit_design_fini(fit_design_t *design);

/* `plain`: least squares as they are; else robust regression on relative errors, which leaves hiccups out of
 * the design. Equal rows must stand together.
 * Errors: PTO_ERR_MEMORY; PTO_ERR_NOT_FOUND where the columns cannot be told apart. */
pto_status_t fit_regress(fit_design_t *design, bool plain, fit_regression_t *result, pto_error_t *err);

/* alpha and beta of points. The same errors. */
pto_status_t fit_postal(const fit_points_t *points, bool plain, fit_regression_t *result, pto_error_t *err);

/* Median; reorders. 0 of nothing. */
double fit_median(double *value, size_t count);

#endif
