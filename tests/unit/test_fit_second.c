/* A second opinion on lines and their pieces: random samples, fitted again by other code from the
 * documentation of the method (model/fit/regress.c and segments.c), with GSL's regressions as they are. */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_randist.h>

#include "../../model/fit/regress.h"
#include "../../model/fit/segments.h"
#include "test.h"

enum { POINTS_MAX = 600, COLUMNS = 2 };

typedef struct {
    size_t count;
    fit_point_t point[POINTS_MAX];
} made_t;

static void put(made_t *made, int64_t bytes, double seconds) {
    assert_true(made->count < POINTS_MAX);
    made->point[made->count++] = (fit_point_t){seconds, bytes, 1, 1};
}

static fit_points_t points_of(made_t *made) { return (fit_points_t){made->count, made->point}; }

static int by_value(const void *a, const void *b) {
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static double middle_of(const double *value, size_t count) {
    double sorted[POINTS_MAX] = {0};
    memcpy(sorted, value, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* --- a line --------------------------------------------------------------------------------------------- */

/* Samples as bytes and seconds; `row` numbers those of one size. */
typedef struct {
    size_t count, rows;
    double bytes[POINTS_MAX], seconds[POINTS_MAX], fitted[POINTS_MAX], weight[POINTS_MAX];
    size_t row[POINTS_MAX];
} data_t;

typedef struct {
    double value[COLUMNS], half[COLUMNS];
} line_t;

static double grain(double seconds) { return seconds > 5e-8 ? seconds : 5e-8; }

/* All samples, or without those that are more than 6 deviations and a tenth from the median of 5 or more. */
static void take(const made_t *made, bool cleans, data_t *data) {
    *data = (data_t){0};
    for (size_t first = 0, past; first < made->count; first = past, data->rows++) {
        double time[POINTS_MAX] = {0}, away[POINTS_MAX] = {0};
        for (past = first; past < made->count && made->point[past].bytes == made->point[first].bytes; past++)
            time[past - first] = made->point[past].seconds;
        double middle = middle_of(time, past - first);
        for (size_t i = 0; i < past - first; i++)
            away[i] = fabs(time[i] - middle);
        double most = fmax(6 * 1.4826 * middle_of(away, past - first), 0.1 * grain(middle));
        for (size_t i = 0; i < past - first; i++)
            if (!cleans || past - first < 5 || away[i] <= most) {
                data->bytes[data->count] = (double)made->point[first].bytes;
                data->row[data->count] = data->rows;
                data->seconds[data->count++] = time[i];
            }
    }
}

/* One regression on errors relative to `fitted`, and what it makes of the times. Returns the largest change.
 */
static double regress_once(data_t *data, const gsl_multifit_robust_type *type, line_t *line, double *sigma) {
    gsl_matrix *x = gsl_matrix_alloc(data->count, COLUMNS), *covariance = gsl_matrix_alloc(COLUMNS, COLUMNS);
    gsl_vector *y = gsl_vector_alloc(data->count), *c = gsl_vector_alloc(COLUMNS);
    const double unit[COLUMNS] = {1, 4096}; /* so that both coefficients are of one order */
    double scale = 1, change = 0, unused;
    for (size_t i = 0; i < data->count; i++) {
        gsl_matrix_set(x, i, 0, unit[0] / grain(data->fitted[i]));
        gsl_matrix_set(x, i, 1, data->bytes[i] / unit[1] / grain(data->fitted[i]));
        gsl_vector_set(y, i, data->seconds[i] / grain(data->fitted[i]));
        data->weight[i] = 1;
    }
    if (type) {
        gsl_multifit_robust_workspace *space = gsl_multifit_robust_alloc(type, data->count, COLUMNS);
        gsl_multifit_robust(x, y, c, covariance, space);
        gsl_multifit_robust_stats made = gsl_multifit_robust_statistics(space);
        scale = made.sigma_rob / made.sigma;
        *sigma = made.sigma_rob;
        for (size_t i = 0; i < data->count; i++)
            data->weight[i] = gsl_vector_get(made.weights, i);
        gsl_multifit_robust_free(space);
    } else {
        gsl_multifit_linear_workspace *space = gsl_multifit_linear_alloc(data->count, COLUMNS);
        gsl_multifit_linear(x, y, c, covariance, &unused, space);
        gsl_multifit_linear_free(space);
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        line->value[k] = gsl_vector_get(c, k) / unit[k];
        line->half[k] = scale * sqrt(gsl_matrix_get(covariance, k, k)) / unit[k];
    }
    for (size_t i = 0; i < data->count; i++) {
        double fitted = fmax(line->value[0] + line->value[1] * data->bytes[i], 1e-3 * data->seconds[i]);
        change = fmax(change, fabs(fitted / data->fitted[i] - 1));
        data->fitted[i] = fitted;
    }
    gsl_matrix_free(x);
    gsl_matrix_free(covariance);
    gsl_vector_free(y);
    gsl_vector_free(c);
    return change;
}

/* Student's factor; where the means of rows are farther from the line than their samples tell, that of the
 * rows. */
static double factor_of(const data_t *data, double sigma) {
    double between = 0, within = 0, all = 0, sum[POINTS_MAX] = {0}, weight[POINTS_MAX] = {0};
    for (size_t i = 0; i < data->count; i++) {
        double error = (data->seconds[i] - data->fitted[i]) / grain(data->fitted[i]);
        sum[data->row[i]] += data->weight[i] * error;
        weight[data->row[i]] += data->weight[i];
        within += data->weight[i] * error * error;
        all += data->weight[i];
    }
    for (size_t row = 0; row < data->rows; row++) {
        between += sum[row] * sum[row] / weight[row];
        within -= sum[row] * sum[row] / weight[row];
    }
    double rows = (double)data->rows, means = between / (rows - COLUMNS), samples = within / (all - rows);
    if (means / samples <= gsl_cdf_fdist_Qinv(0.01, rows - COLUMNS, all - rows))
        return gsl_cdf_tdist_Pinv(0.975, (double)data->count - COLUMNS);
    return fmax(1, sqrt(means) / sigma) * gsl_cdf_tdist_Pinv(0.975, rows - COLUMNS);
}

static line_t line_of(const made_t *made, bool cleans) {
    static data_t data;
    line_t line = {{0}, {0}};
    double sigma = 0;
    take(made, cleans, &data);
    memcpy(data.fitted, data.seconds, sizeof data.fitted);
    regress_once(&data, NULL, &line, &sigma);
    for (int round = 0; round < 8; round++)
        if (regress_once(&data, cleans ? gsl_multifit_robust_huber : gsl_multifit_robust_bisquare, &line,
                         &sigma) < 1e-3)
            break;
    double factor = factor_of(&data, sigma);
    for (int k = 0; k < COLUMNS; k++)
        line.half[k] *= factor;
    return line;
}

/* `each` samples of each size about a line that bends by `bend` at the largest; one in `rare` is slow. */
static void make_noisy(gsl_rng *random, int each, double bend, unsigned rare, made_t *made) {
    double alpha_s = 1e-6 * (1 + 9 * gsl_rng_uniform(random)), noise = 0.005 + 0.03 * gsl_rng_uniform(random);
    double s_per_byte = 1e-10 * (1 + 9 * gsl_rng_uniform(random));
    made->count = 0;
    for (int64_t bytes = 64; bytes <= 1 << 20; bytes *= 2)
        for (int i = 0; i < each; i++) {
            double seconds = (alpha_s + s_per_byte * (double)bytes) * exp(gsl_ran_gaussian(random, noise));
            seconds *= 1 + bend * log2((double)bytes / 64) / 14;
            put(made, bytes, gsl_rng_uniform_int(random, rare) == 0 ? 5 * seconds : seconds);
        }
}

static void check_line(made_t *made, bool cleans) {
    fit_points_t points = points_of(made);
    fit_regression_t got;
    line_t wanted = line_of(made, cleans);
    double miss[POINTS_MAX] = {0};
    size_t kept = 0;
    assert_int_equal(fit_postal(&points, false, &got, NULL), PTO_OK);
    assert_true(got.has_interval && got.count == made->count);
    assert_true(wanted.value[0] > 0 && wanted.value[1] > 0);
    for (int k = 0; k < COLUMNS; k++) {
        assert_near_for(got.value[k], wanted.value[k], 1e-6, k ? "bytes" : "start");
        assert_near_for(got.high[k], wanted.value[k] + wanted.half[k], 1e-6, "high");
        assert_near_for(got.low[k], fmax(wanted.value[k] - wanted.half[k], 0), 1e-5, "low");
    }
    static data_t data;
    take(made, cleans, &data);
    for (; kept < data.count; kept++) {
        double fitted = wanted.value[0] + wanted.value[1] * data.bytes[kept];
        miss[kept] = fabs(fitted - data.seconds[kept]) / grain(data.seconds[kept]);
    }
    assert_near_for(got.residual, middle_of(miss, kept), 1e-5, "residual");
}

TEST(noisy_lines_are_those_of_a_second_fit) {
    static made_t made;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(random, 5);
    for (int i = 0; i < 12; i++) {
        /* Five of a size show outliers by themselves, fewer do not. */
        int each = i % 4 == 0 ? 3 : i % 4 == 1 ? 5 : i % 4 == 2 ? 12 : 4;
        make_noisy(random, each, 0, i < 6 ? 25 : 1 << 20, &made);
        check_line(&made, each >= 5);
        make_noisy(random, each, 0.5, 1 << 20, &made); /* which no line fits */
        check_line(&made, each >= 5);
    }
    gsl_rng_free(random);
}

/* Rows are full if most samples are in rows of five and more: of 2 times 5 and n times 1, for n below 10. */
TEST(half_of_the_samples_in_full_rows_are_not_most) {
    static made_t made;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    for (int singles = 8; singles <= 11; singles++) {
        int64_t bytes = 1 << 10;
        made.count = 0;
        for (int row = 0; row < 2 + singles; row++, bytes += bytes / 2)
            for (int i = 0; i < (row < 2 ? 5 : 1); i++)
                put(&made, bytes,
                    (2e-6 + 1e-9 * (double)bytes) * exp(gsl_ran_gaussian(random, 0.02)) * (i == 3 ? 3 : 1));
        fit_points_t points = points_of(&made);
        fit_regression_t got;
        line_t wanted = line_of(&made, singles < 10);
        assert_int_equal(fit_postal(&points, false, &got, NULL), PTO_OK);
        assert_near_for(got.value[0], wanted.value[0], 1e-6, "start");
        assert_near_for(got.value[1], wanted.value[1], 1e-6, "bytes");
    }
    gsl_rng_free(random);
}

/* --- pieces --------------------------------------------------------------------------------------------- */

/* The medians of sizes, with 16 quantiles of each. */
typedef struct {
    double bytes, count, median, time[16];
    int times;
} size_at_t;

static size_at_t size_of(const fit_point_t *point, size_t count) {
    double sorted[POINTS_MAX] = {0};
    size_at_t made = {
        .bytes = (double)point->bytes, .count = (double)count, .times = count < 16 ? (int)count : 16};
    for (size_t i = 0; i < count; i++)
        sorted[i] = point[i].seconds;
    qsort(sorted, count, sizeof *sorted, by_value);
    made.median = middle_of(sorted, count);
    for (int i = 0; i < made.times; i++) {
        double at = (i + 0.5) / made.times * (double)(count - 1);
        size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
        made.time[i] = sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
    }
    return made;
}

/* Weighted least squares; neither coefficient is negative. */
static void weighted(const size_at_t *size, int count, const double *w, double *alpha_s, double *s_per_byte) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) {
        n += w[i];
        x += w[i] * size[i].bytes;
        y += w[i] * size[i].median;
    }
    x /= n;
    y /= n;
    for (int i = 0; i < count; i++) {
        xx += w[i] * (size[i].bytes - x) * (size[i].bytes - x);
        xy += w[i] * (size[i].bytes - x) * (size[i].median - y);
    }
    *s_per_byte = xy / xx;
    *alpha_s = y - *s_per_byte * x;
    if (*alpha_s < 0) {
        double up = 0, down = 0;
        for (int i = 0; i < count; i++) {
            up += w[i] * size[i].bytes * size[i].median;
            down += w[i] * size[i].bytes * size[i].bytes;
        }
        *alpha_s = 0;
        *s_per_byte = up / down;
    } else if (*s_per_byte < 0) {
        *alpha_s = y;
        *s_per_byte = 0;
    }
}

/* Capped squared relative errors of a piece about its line, by bisquare weights in five rounds. */
static double cost_of(const size_at_t *size, int count) {
    double w[POINTS_MAX], alpha_s, s_per_byte, cost = 0;
    for (int i = 0; i < count; i++)
        w[i] = size[i].count / (size[i].median * size[i].median);
    weighted(size, count, w, &alpha_s, &s_per_byte);
    for (int round = 0; round < 5 && count > 2; round++) {
        for (int i = 0; i < count; i++) {
            double fitted = fmax(alpha_s + s_per_byte * size[i].bytes, size[i].median / 1000);
            double error = fabs(size[i].median / fitted - 1) / 0.6,
                   keeps = error < 1 ? pow(1 - error * error, 2) : 0;
            w[i] = size[i].count * fmax(keeps, 1e-6) / (fitted * fitted);
        }
        weighted(size, count, w, &alpha_s, &s_per_byte);
    }
    for (int i = 0; i < count; i++) {
        double sum = 0;
        for (int k = 0; k < size[i].times; k++)
            sum += pow(fmin(fabs(size[i].time[k] / (alpha_s + s_per_byte * size[i].bytes) - 1), 0.3), 2);
        cost += size[i].count * (sum / size[i].times + 1e-8);
    }
    return cost;
}

/* The best of all ways to divide the sizes into pieces of two and more, by Schwarz's criterion. */
typedef struct {
    const size_at_t *size;
    int count;
    double samples;
    double least;
    int most, breaks, best[8];
} search_t;

static void divide(search_t *search, int first, int pieces, double cost, int *at) {
    if (pieces >= search->most)
        return;
    for (int past = first + 2; past <= search->count; past++) {
        double with = cost + cost_of(search->size + first, past - first);
        at[pieces] = past;
        if (past < search->count) {
            divide(search, past, pieces + 1, with, at);
            continue;
        }
        double n = search->samples, criterion = n * log(with / n) + (3 * pieces + 2) * log(n);
        if (criterion < search->least) {
            search->least = criterion;
            search->breaks = pieces;
            memcpy(search->best, at, sizeof search->best);
        }
    }
}

static void check_pieces(made_t *made, int most) {
    static size_at_t size[POINTS_MAX];
    int sizes = 0, at[8] = {0};
    for (size_t first = 0, past; first < made->count; first = past, sizes++) {
        for (past = first; past < made->count && made->point[past].bytes == made->point[first].bytes;)
            past++;
        size[sizes] = size_of(made->point + first, past - first);
        sizes -= size[sizes].median <= 5e-8; /* below the grain */
    }
    search_t search = {size, sizes, 0, HUGE_VAL, most, 0, {0}};
    for (int i = 0; i < sizes; i++)
        search.samples += size[i].count;
    divide(&search, 0, 0, 0, at);
    fit_points_t points = points_of(made);
    fit_breaks_t got;
    assert_int_equal(fit_find_breaks(&points, most, &got, NULL), PTO_OK);
    assert_int_equal(got.count, search.breaks);
    for (int b = 0; b < got.count; b++)
        assert_true((double)got.below_bytes[b] == size[search.best[b]].bytes);
}

/* Three pieces at random places, with noise of which some hides them. */
TEST(the_best_pieces_are_those_of_all_divisions) {
    static made_t made;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    int found[4] = {0};
    gsl_rng_set(random, 3);
    for (int i = 0; i < 60; i++) {
        unsigned one = (unsigned)gsl_rng_uniform_int(random, 11),
                 two = (unsigned)gsl_rng_uniform_int(random, 11);
        double noise = 0.2 * pow(gsl_rng_uniform(random), 3), alpha_s[3], s_per_byte[3];
        for (int p = 0; p < 3; p++) {
            alpha_s[p] = (i % 5 == 0 ? 2e-8 : 1e-6) * (1 + 3 * gsl_rng_uniform(random));
            s_per_byte[p] = 1e-10 * (1 + 9 * gsl_rng_uniform(random));
        }
        made.count = 0;
        for (unsigned s = 0; s < 11; s++)
            for (unsigned k = 0; k < 1 + s % 3 * 10; k++) {
                int p = (s >= one) + (s >= two);
                double bytes = (double)(64 << s), slow = gsl_rng_uniform_int(random, 30) == 0 ? 2 : 1;
                put(&made, 64 << s,
                    slow * (alpha_s[p] + s_per_byte[p] * bytes) * exp(gsl_ran_gaussian(random, noise)));
            }
        for (int most = 1; most <= 4; most++)
            check_pieces(&made, most);
        fit_points_t points = points_of(&made);
        fit_breaks_t got;
        assert_int_equal(fit_find_breaks(&points, 4, &got, NULL), PTO_OK);
        found[got.count]++;
    }
    assert_true(found[0] > 5 && found[1] > 5 && found[2] > 5); /* else little was tried */
    gsl_rng_free(random);
}
