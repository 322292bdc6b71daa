/* Robust regression: times as non-negative combinations of columns. */
#ifndef PORTOLAN_FIT_REGRESS_H
#define PORTOLAN_FIT_REGRESS_H

#include <math.h>

#include "points.h"

enum { FIT_COLUMN_MAX = 4 };

/* Timing grain: about the duration of two clock readings, and of the call and the loop around what is
 * timed. */
static const double fit_grain_s = 5e-8;

/* The scale of a relative error: the time itself, but at least the grain. Below it, a mean over a loop tells
 * more about the loop than about its body. */
static inline double fit_error_scale(double seconds) { return fmax(seconds, fit_grain_s); }

/* times[i] = sum over j of coefficient[j] * column[i * columns + j]; coefficients are at least 0. */
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
    bool has_interval;         /* false: there are no more points than coefficients */
    bool held[FIT_COLUMN_MAX]; /* held at 0 because it would be negative */
    double residual;           /* median of |fitted - measured| / fit_error_scale(measured) */
} fit_regression_t;

/* Allocate `count` rows; both arrays share one allocation. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_design_init(size_t count, int columns, fit_design_t *design, pto_error_t *err);
void fit_design_fini(fit_design_t *design);

/* `plain`: ordinary least squares; otherwise robust regression on relative errors, which removes outliers
 * from the design. Equal rows must be adjacent. Errors: PTO_ERR_MEMORY; PTO_ERR_NOT_FOUND if the columns
 * cannot be told apart. */
pto_status_t fit_regress(fit_design_t *design, bool plain, fit_regression_t *result, pto_error_t *err);

/* Fit alpha and beta to points. Same errors as fit_regress. */
pto_status_t fit_postal(const fit_points_t *points, bool plain, fit_regression_t *result, pto_error_t *err);

/* Median; reorders the values. 0 if there are none. */
double fit_median(double *value, size_t count);

#endif
