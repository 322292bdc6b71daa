/* Robust regression: times as linear combinations of columns with coefficients of 0 or more. */
#ifndef PTO_FIT_REGRESS_H
#define PTO_FIT_REGRESS_H

#include <math.h>

#include "points.h"

enum { FIT_COLUMN_MAX = 4 };

typedef struct {
    size_t count; /* of rows, outliers among them */
    double value[FIT_COLUMN_MAX];
    double low[FIT_COLUMN_MAX];
    double high[FIT_COLUMN_MAX];
    bool has_interval;         /* false: there are no more points than coefficients */
    bool held[FIT_COLUMN_MAX]; /* held at 0 because it would be negative */
    double residual;           /* median of |fitted - measured| / pto_error_scale(measured) */
} fit_regression_t;

/* A row of a regression: seconds = sum over j of coefficient[j] * column[j]; coefficients are at least 0. */
typedef struct {
    double seconds; /* the point's, unless the fill changes them */
    double column[FIT_COLUMN_MAX];
} fit_row_t;

/* Fills a point's row, which is zeroed; false leaves the point out. */
typedef bool (*fit_fill_t)(const fit_point_t *point, const void *context, fit_row_t *row);

typedef struct {
    int columns;
    fit_fill_t fill;
    const void *context;
} fit_model_t;

/* Fits the coefficients of a model. `plain`: ordinary least squares; otherwise robust regression on relative
 * errors, which leaves outliers out. Equal rows must be adjacent. Errors: PTO_ERR_MEMORY; PTO_ERR_NOT_FOUND
 * if the columns are linearly dependent. */
pto_status_t fit_regress(const fit_points_t *points, const fit_model_t *model, bool plain,
                         fit_regression_t *result, pto_error_t *err);

/* Fit alpha and beta to points. Same errors as fit_regress. */
pto_status_t fit_postal(const fit_points_t *points, bool plain, fit_regression_t *result, pto_error_t *err);

/* Median; sorts the values. 0 if there are none. */
double fit_median(double *value, size_t count);

/* Returns the quantile of split conformal prediction: of n values that of rank ceil(share (n + 1)). 0 if
 * there are too few values to tell. Sorts them. */
double fit_conformal(double *value, size_t count, double share);

/* Returns the median time of the points. Leaves their sorted times in `scratch`, which has room for them. */
double fit_median_of(const fit_points_t *points, double *scratch);

/* Returns the median time of the points of `bytes`, of this many processes (0: any); 0 if there are none.
 * `scratch` has room for all points. */
double fit_median_at(const fit_points_t *points, int32_t procs, int64_t bytes, double *scratch);

#endif
