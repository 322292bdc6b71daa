/* Robust linear regression of times, by GSL. Errors are relative, so that 4 B and 64 MiB have equal weight:
 * each row is divided by its fitted time from the previous round (by the timing grain if that is longer). The
 * first round uses plain least squares over the measured times, which limits the influence of slow outliers.
 * A coefficient that would be negative is held at 0 and the others are fitted again.
 *
 * A sample far from the others of its row (the same size, processes and messages) is an outlier and is
 * dropped. A whole row far from the line is not an outlier: there the model is wrong. A regression that
 * dropped such rows would ignore the largest messages if 15 of 18 sizes cost the same. So between rows
 * Huber's weights are used, which limit a row's influence but never drop it. If rows have too few samples to
 * detect outliers, Tukey's bisquare, which drops samples, does both (GSL's gsl_multifit_robust).
 *
 * The intervals are Student's. If several samples share a row, the lack of fit is tested against their own
 * scatter (the F test of Draper and Smith, Applied Regression Analysis, section 1.5). If a model fails, its
 * intervals are widened by the ratio. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_sort.h>

#include "regress.h"

/* Maximum number of rounds of dividing by fitted times. They need not converge: errors only shift weights. */
enum { ROUNDS_MAX = 8 };
static const double round_tolerance = 1e-3;

/* Columns that are multiples of each other have a singular value below this part of the largest. */
static const double rank_tolerance = 1e-12;

/* Minimum number of samples in a row to detect its outliers. */
enum { ROW_SAMPLES_MIN = 5 };

/* An outlier is this many robust standard deviations (1.4826 times the median absolute deviation) from its
 * row's median, as normal noise is once in five hundred million samples, and at least a tenth of the
 * median. */
static const double outlier_deviations = 6;
static const double mad_to_deviation = 1.4826;
static const double outlier_least = 0.1;

static const double confidence = 0.95;
static const double lack_of_fit_level = 0.01;

/* seconds[i] = sum over j of coefficient[j] * column[i * columns + j]. Both arrays share one allocation. */
typedef struct {
    size_t count;
    int columns;
    double *column;
    double *seconds;
} design_t;

/* GSL's view of a regression, with the columns that are not held at 0. */
typedef struct {
    const design_t *design;
    bool plain;
    bool cleaned; /* outliers were dropped; otherwise the weights must handle them */
    int active_count;
    int active[FIT_COLUMN_MAX];
    double scale[FIT_COLUMN_MAX]; /* columns are divided by their maximum */
    gsl_matrix *x;
    gsl_vector *y;
    gsl_vector *c;
    gsl_matrix *covariance;
    double *fitted;
    double *weight; /* of a robust regression */
    bool has_interval;
    double interval_factor; /* multiplies the standard error */
    double sigma; /* scatter of the relative errors that the covariance is based on; 0: not robust */
} solver_t;

double fit_median(double *value, size_t count) {
    if (count == 0)
        return 0;
    gsl_sort(value, 1, count);
    return count % 2 == 1 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

double fit_conformal(double *value, size_t count, double share) {
    double rank = ceil(share * (double)(count + 1));
    if (value == NULL || rank > (double)count)
        return 0;
    gsl_sort(value, 1, count);
    return value[(size_t)rank - 1];
}

double fit_median_of(const fit_points_t *points, double *scratch) {
    for (size_t i = 0; i < points->count; i++)
        scratch[i] = points->point[i].seconds;
    return fit_median(scratch, points->count);
}

double fit_median_at(const fit_points_t *points, int32_t procs, int64_t bytes, double *scratch) {
    size_t count = 0;
    for (size_t i = 0; i < points->count; i++) {
        const fit_point_t *point = &points->point[i];
        if (point->bytes == bytes && (procs == 0 || point->procs == procs))
            scratch[count++] = point->seconds;
    }
    return fit_median(scratch, count);
}

static void solver_fini(solver_t *solver) {
    gsl_matrix_free(solver->x);
    gsl_vector_free(solver->y);
    gsl_vector_free(solver->c);
    gsl_matrix_free(solver->covariance);
    free(solver->fitted);
    free(solver->weight);
}

static pto_status_t solver_init(solver_t *solver, const design_t *design, pto_error_t *err) {
    size_t columns = (size_t)solver->active_count;
    solver->design = design;
    solver->x = gsl_matrix_alloc(design->count, columns);
    solver->y = gsl_vector_alloc(design->count);
    solver->c = gsl_vector_alloc(columns);
    solver->covariance = gsl_matrix_alloc(columns, columns);
    solver->fitted = malloc(design->count * sizeof *solver->fitted);
    solver->weight = malloc(design->count * sizeof *solver->weight);
    if (solver->x == NULL || solver->y == NULL || solver->c == NULL || solver->covariance == NULL ||
        solver->fitted == NULL || solver->weight == NULL)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a regression");
    for (int k = 0; k < solver->active_count; k++) {
        double largest = DBL_MIN;
        for (size_t i = 0; i < design->count; i++)
            largest = fmax(largest, design->column[i * (size_t)design->columns + (size_t)solver->active[k]]);
        solver->scale[k] = largest;
    }
    return PTO_OK;
}

static double column_at(const solver_t *solver, size_t i, int k) {
    return solver->design->column[i * (size_t)solver->design->columns + (size_t)solver->active[k]] /
           solver->scale[k];
}

/* Fill the rows, divided by the scale of their errors or unscaled. */
static void scale_rows(solver_t *solver) {
    for (size_t i = 0; i < solver->design->count; i++) {
        double divisor = solver->plain ? 1 : pto_error_scale(solver->fitted[i]);
        for (int k = 0; k < solver->active_count; k++)
            gsl_matrix_set(solver->x, i, (size_t)k, column_at(solver, i, k) / divisor);
        gsl_vector_set(solver->y, i, solver->design->seconds[i] / divisor);
    }
}

/* Compute fitted times from the current coefficients. They stay positive, as rows are divided by them.
 * Returns the largest relative change. */
static double refresh_fitted(solver_t *solver) {
    double change = 0;
    for (size_t i = 0; i < solver->design->count; i++) {
        double fitted = 0;
        for (int k = 0; k < solver->active_count; k++)
            fitted += column_at(solver, i, k) * gsl_vector_get(solver->c, (size_t)k);
        if (!solver->plain)
            fitted = fmax(fitted, solver->design->seconds[i] * 1e-3);
        change = fmax(change, fabs(fitted / solver->fitted[i] - 1));
        solver->fitted[i] = fitted;
    }
    return change;
}

static int solve_linear(solver_t *solver) {
    double chi_square;
    gsl_multifit_linear_workspace *space =
        gsl_multifit_linear_alloc(solver->design->count, (size_t)solver->active_count);
    if (space == NULL)
        return GSL_ENOMEM;
    int status = gsl_multifit_linear(solver->x, solver->y, solver->c, solver->covariance, &chi_square, space);
    if (status == GSL_SUCCESS && gsl_multifit_linear_rank(rank_tolerance, space) < solver->x->size2)
        status = GSL_ESING;
    gsl_multifit_linear_free(space);
    return status;
}

static int solve_robust(solver_t *solver) {
    gsl_multifit_robust_workspace *space =
        gsl_multifit_robust_alloc(solver->cleaned ? gsl_multifit_robust_huber : gsl_multifit_robust_bisquare,
                                  solver->design->count, (size_t)solver->active_count);
    if (space == NULL)
        return GSL_ENOMEM;
    int status = gsl_multifit_robust(solver->x, solver->y, solver->c, solver->covariance, space);
    /* If the weights oscillate between a few samples, the coefficients are good enough. */
    if (status == GSL_EMAXITER)
        status = GSL_SUCCESS;
    gsl_multifit_robust_stats statistics = gsl_multifit_robust_statistics(space);
    /* GSL's covariance mixes in the scatter of plain least squares (DuMouchel and O'Brien 1989), which a
     * single outlier of a hundred times can inflate beyond use. The robust scatter alone matches the
     * weights. */
    if (statistics.sigma > 0 && statistics.sigma_rob > 0) {
        gsl_matrix_scale(solver->covariance, pow(statistics.sigma_rob / statistics.sigma, 2));
        solver->sigma = statistics.sigma_rob;
    }
    /* GSL divides 0 by 0 if most samples are on the line to the last digit, whose scatter is none. */
    if (isnan(statistics.sigma_rob))
        gsl_matrix_set_zero(solver->covariance);
    for (size_t i = 0; i < solver->design->count; i++)
        solver->weight[i] = gsl_vector_get(statistics.weights, i);
    gsl_multifit_robust_free(space);
    return status;
}

static int solve(solver_t *solver) {
    size_t count = solver->design->count;
    memcpy(solver->fitted, solver->design->seconds, count * sizeof *solver->fitted);
    scale_rows(solver);
    int status = solve_linear(solver);
    bool robust = !solver->plain && count > (size_t)solver->active_count + 1;
    refresh_fitted(solver);
    for (int round = 0; status == GSL_SUCCESS && robust && round < ROUNDS_MAX; round++) {
        scale_rows(solver);
        status = solve_robust(solver);
        if (refresh_fitted(solver) < round_tolerance)
            break;
    }
    return status;
}

static bool same_row(const design_t *design, size_t a, size_t b) {
    size_t columns = (size_t)design->columns;
    return memcmp(design->column + a * columns, design->column + b * columns,
                  columns * sizeof *design->column) == 0;
}

/* Weighted sums of squares: of row means about the model, and of samples about their row's mean. */
typedef struct {
    double between;
    double within;
    double weight;
    size_t rows;
} scatter_t;

static scatter_t scatter_of(const solver_t *solver) {
    scatter_t scatter = {0};
    size_t count = solver->design->count;
    for (size_t first = 0, past; first < count; first = past) {
        double sum = 0, weight = 0, square = 0;
        for (past = first; past < count && same_row(solver->design, first, past); past++) {
            double error = (solver->design->seconds[past] - solver->fitted[past]) /
                           pto_error_scale(solver->fitted[past]);
            sum += solver->weight[past] * error;
            square += solver->weight[past] * error * error;
            weight += solver->weight[past];
        }
        if (weight > 0) {
            scatter.between += sum * sum / weight;
            scatter.within += square - sum * sum / weight;
            scatter.weight += weight;
            scatter.rows++;
        }
    }
    return scatter;
}

/* Student's factor, widened if the model fails the lack-of-fit test. */
static void set_interval_factor(solver_t *solver) {
    double freedom = (double)solver->design->count - solver->active_count;
    solver->has_interval = freedom > 0;
    if (!solver->has_interval)
        return;
    solver->interval_factor = gsl_cdf_tdist_Pinv((1 + confidence) / 2, freedom);
    if (solver->sigma <= 0)
        return;
    scatter_t scatter = scatter_of(solver);
    double between_freedom = (double)scatter.rows - solver->active_count;
    double within_freedom = scatter.weight - (double)scatter.rows;
    if (between_freedom < 1 || within_freedom < 1 || scatter.within <= 0)
        return;
    double between = scatter.between / between_freedom;
    double ratio = between / (scatter.within / within_freedom);
    if (ratio > gsl_cdf_fdist_Qinv(lack_of_fit_level, between_freedom, within_freedom)) {
        solver->interval_factor = fmax(1, sqrt(between) / solver->sigma) *
                                  gsl_cdf_tdist_Pinv((1 + confidence) / 2, between_freedom);
    }
}

/* Overwrites the weights, which are not needed any more. */
static double median_residual(const solver_t *solver) {
    size_t count = solver->design->count;
    for (size_t i = 0; i < count; i++) {
        solver->weight[i] = fabs(solver->fitted[i] - solver->design->seconds[i]) /
                            pto_error_scale(solver->design->seconds[i]);
    }
    return fit_median(solver->weight, count);
}

/* Returns the most significantly negative coefficient, as an index into `active`; -1 if there is none. */
static int most_negative(const solver_t *solver) {
    int worst = -1;
    double worst_value = 0;
    for (int k = 0; k < solver->active_count; k++) {
        double error = sqrt(fmax(gsl_matrix_get(solver->covariance, (size_t)k, (size_t)k), DBL_MIN));
        double value = gsl_vector_get(solver->c, (size_t)k) / error;
        if (value < worst_value) {
            worst = k;
            worst_value = value;
        }
    }
    return worst;
}

static void store_coefficient(const solver_t *solver, int k, fit_regression_t *result) {
    int j = solver->active[k];
    double value = gsl_vector_get(solver->c, (size_t)k) / solver->scale[k];
    double half = 0;
    if (solver->has_interval) {
        half = solver->interval_factor * sqrt(gsl_matrix_get(solver->covariance, (size_t)k, (size_t)k)) /
               solver->scale[k];
    }
    result->held[j] = value < 0;
    result->value[j] = fmax(value, 0);
    result->low[j] = fmax(value - half, 0);
    result->high[j] = fmax(value + half, 0);
}

/* Solve on the active columns. Drops a column whose coefficient is negative and tells whether it did. */
static pto_status_t regress_active(solver_t *solver, const design_t *design, fit_regression_t *result,
                                   bool *dropped, pto_error_t *err) {
    pto_status_t status = solver_init(solver, design, err);
    if (status != PTO_OK)
        return status;
    int solved = solve(solver);
    if (solved == GSL_ENOMEM)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a regression");
    if (solved == GSL_ESING)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "the samples cannot tell the parameters apart");
    if (solved != GSL_SUCCESS)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "the regression does not converge");
    set_interval_factor(solver);
    result->has_interval = solver->has_interval;
    int worst = most_negative(solver);
    *dropped = worst >= 0;
    if (*dropped) {
        store_coefficient(solver, worst, result);
        for (int k = worst; k + 1 < solver->active_count; k++)
            solver->active[k] = solver->active[k + 1];
        solver->active_count--;
        return PTO_OK;
    }
    for (int k = 0; k < solver->active_count; k++)
        store_coefficient(solver, k, result);
    result->residual = median_residual(solver);
    return PTO_OK;
}

static size_t row_samples(const design_t *design, size_t first) {
    size_t past = first;
    while (past < design->count && same_row(design, first, past))
        past++;
    return past - first;
}

/* Returns whether most samples are in rows with enough of them. */
static bool has_full_rows(const design_t *design) {
    size_t inside = 0;
    for (size_t first = 0; first < design->count; first += row_samples(design, first)) {
        size_t samples = row_samples(design, first);
        inside += samples >= ROW_SAMPLES_MIN ? samples : 0;
    }
    return 2 * inside > design->count;
}

/* Returns how far a sample may be from its row's median. */
static double allowed_distance(const double *seconds, size_t count, double *scratch, double *middle) {
    memcpy(scratch, seconds, count * sizeof *scratch);
    *middle = fit_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(seconds[i] - *middle);
    return fmax(outlier_deviations * mad_to_deviation * fit_median(scratch, count),
                outlier_least * pto_error_scale(*middle));
}

/* Move the samples that are not outliers to the front of a design, in their order. */
static pto_status_t drop_outliers(design_t *design, pto_error_t *err) {
    double *scratch = malloc(design->count * sizeof *scratch);
    if (scratch == NULL)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a regression");
    size_t columns = (size_t)design->columns;
    size_t kept = 0;
    for (size_t first = 0, samples; first < design->count; first += samples) {
        double middle;
        samples = row_samples(design, first);
        double allowed = allowed_distance(design->seconds + first, samples, scratch, &middle);
        for (size_t i = first; i < first + samples; i++) {
            if (samples < ROW_SAMPLES_MIN || fabs(design->seconds[i] - middle) <= allowed) {
                memmove(design->column + kept * columns, design->column + i * columns,
                        columns * sizeof *design->column);
                design->seconds[kept++] = design->seconds[i];
            }
        }
    }
    design->count = kept;
    free(scratch);
    return PTO_OK;
}

/* Fit on fewer and fewer columns until no coefficient is negative. */
static pto_status_t regress_columns(const design_t *design, bool plain, bool cleaned,
                                    fit_regression_t *result, pto_error_t *err) {
    int active_count = design->columns;
    int active[FIT_COLUMN_MAX] = {0, 1, 2, 3};
    pto_status_t status = PTO_OK;
    bool dropped = true;
    while (status == PTO_OK && dropped && active_count > 0) {
        solver_t solver = {.plain = plain, .cleaned = cleaned, .active_count = active_count};
        memcpy(solver.active, active, sizeof active);
        status = regress_active(&solver, design, result, &dropped, err);
        active_count = solver.active_count;
        memcpy(active, solver.active, sizeof active);
        solver_fini(&solver);
    }
    return status;
}

static pto_status_t regress(design_t *design, bool plain, fit_regression_t *result, pto_error_t *err) {
    if (design->count < (size_t)design->columns)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "%zu samples for %d parameters", design->count,
                             design->columns);
    bool cleaned = !plain && has_full_rows(design);
    pto_status_t status = cleaned ? drop_outliers(design, err) : PTO_OK;
    if (status == PTO_OK) {
        gsl_error_handler_t *handler = gsl_set_error_handler_off();
        status = regress_columns(design, plain, cleaned, result, err);
        gsl_set_error_handler(handler);
    }
    return status;
}

pto_status_t fit_regress(const fit_points_t *points, const fit_model_t *model, bool plain,
                         fit_regression_t *result, pto_error_t *err) {
    size_t width = (size_t)model->columns;
    design_t design = {.columns = model->columns,
                       .seconds = calloc(points->count * (width + 1) + 1, sizeof *design.seconds)};
    *result = (fit_regression_t){0};
    if (!design.seconds)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a regression");
    design.column = design.seconds + points->count;
    for (size_t i = 0; i < points->count; i++) {
        fit_row_t row = {.seconds = points->point[i].seconds};
        if (!model->fill(&points->point[i], model->context, &row))
            continue;
        memcpy(design.column + design.count * width, row.column, width * sizeof *row.column);
        design.seconds[design.count++] = row.seconds;
    }
    result->count = design.count;
    pto_status_t status = regress(&design, plain, result, err);
    free(design.seconds);
    return status;
}

static bool fill_postal(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)context;
    row->column[0] = 1;
    row->column[1] = (double)point->bytes;
    return true;
}

pto_status_t fit_postal(const fit_points_t *points, bool plain, fit_regression_t *result, pto_error_t *err) {
    return fit_regress(points, &(fit_model_t){2, fill_postal, NULL}, plain, result, err);
}
