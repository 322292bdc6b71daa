/* The mathematics below a fit: lines with their intervals, medians, and where a line changes. */
#include "../../model/fit/regress.h"
#include "../../model/fit/segments.h"
#include "test.h"

enum { POINTS_MAX = 8192 };

typedef struct {
    fit_points_t points;
    fit_point_t point[POINTS_MAX];
} made_t;

static made_t made;

static void begin(void) { made.points = (fit_points_t){0, made.point}; }

static void put(int32_t procs, int64_t bytes, double seconds) {
    assert_true(made.points.count < POINTS_MAX);
    made.point[made.points.count++] = (fit_point_t){seconds, bytes, procs, 1};
}

/* Several equal samples, so that one of them is no outlier. */
static void put_line(int64_t bytes, double alpha_s, double beta_s_per_byte) {
    for (int i = 0; i < 5; i++)
        put(1, bytes, alpha_s + beta_s_per_byte * (double)bytes);
}

/* --- medians and slices --------------------------------------------------------------------------------- */

TEST(a_median_is_the_middle_or_between_two) {
    double odd[] = {5, 1, 3}, even[] = {4, 1, 2, 8}, one[] = {7};
    assert_true(fit_median(odd, 3) == 3);
    assert_true(odd[0] == 1 && odd[2] == 5); /* sorted */
    assert_true(fit_median(even, 4) == 3);
    assert_true(fit_median(one, 1) == 7);
    assert_true(fit_median(one, 0) == 0);
}

TEST(a_median_of_one_size_is_that_of_its_processes) {
    double scratch[8];
    begin();
    put(1, 8, 1);
    put(1, 16, 2);
    put(2, 8, 3);
    put(2, 8, 5);
    put(2, 16, 9);
    assert_true(fit_median_at(&made.points, 1, 8, scratch) == 1);
    assert_true(fit_median_at(&made.points, 2, 8, scratch) == 4);
    assert_true(fit_median_at(&made.points, 0, 8, scratch) == 3); /* of any number of processes */
    assert_true(fit_median_at(&made.points, 2, 16, scratch) == 9);
    assert_true(fit_median_at(&made.points, 3, 8, scratch) == 0);
}

TEST(a_slice_has_its_first_size_and_not_its_limit) {
    begin();
    for (int64_t bytes = 8; bytes <= 64; bytes *= 2)
        for (int i = 0; i < 2; i++)
            put(1, bytes, 1);
    fit_points_t slice = fit_slice(&made.points, 16, 64);
    assert_int_equal(slice.count, 4);
    assert_int_equal(slice.point[0].bytes, 16);
    assert_int_equal(slice.point[3].bytes, 32);
    assert_int_equal(fit_slice(&made.points, 0, INT64_MAX).count, 8);
    assert_int_equal(fit_slice(&made.points, 65, INT64_MAX).count, 0);
    assert_int_equal(fit_size_count(&made.points), 4);
    assert_int_equal(fit_size_count(&slice), 2);
    slice.count = 0;
    assert_int_equal(fit_size_count(&slice), 0);
}

TEST(the_most_processes_are_the_last_points) {
    begin();
    assert_int_equal(fit_max_procs(&made.points), 0);
    assert_int_equal(fit_with_max_procs(&made.points).count, 0);
    put(1, 8, 1);
    put(2, 8, 2);
    put(4, 8, 3);
    put(4, 16, 4);
    assert_int_equal(fit_max_procs(&made.points), 4);
    fit_points_t most = fit_with_max_procs(&made.points);
    assert_int_equal(most.count, 2);
    assert_true(most.point[0].seconds == 3);
}

/* --- lines ---------------------------------------------------------------------------------------------- */

/* Of 0.975 with 4 degrees of freedom. */
static const double student_4 = 2.7764451052;

/* Compared with the formulas of a textbook. */
TEST(a_plain_line_is_least_squares_with_students_interval) {
    static const double off[] = {0.1, -0.2, 0.15, 0.05, -0.25, 0.15};
    enum { N = sizeof off / sizeof *off };
    double x_sum = 0, y_sum = 0, xx = 0, xy = 0, errors = 0;
    begin();
    for (int i = 0; i < N; i++)
        put(1, 10 + 3 * i * i, 4 + 0.5 * (10 + 3 * i * i) + off[i]);
    for (int i = 0; i < N; i++) {
        x_sum += (double)made.point[i].bytes;
        y_sum += made.point[i].seconds;
    }
    for (int i = 0; i < N; i++) {
        double x = (double)made.point[i].bytes - x_sum / N;
        xx += x * x;
        xy += x * made.point[i].seconds;
    }
    double beta = xy / xx, alpha = (y_sum - beta * x_sum) / N;
    double distance[N];
    for (int i = 0; i < N; i++) {
        double error = made.point[i].seconds - alpha - beta * (double)made.point[i].bytes;
        errors += error * error;
        distance[i] = fabs(error) / made.point[i].seconds;
    }
    double sigma = sqrt(errors / (N - 2));
    double beta_half = student_4 * sigma / sqrt(xx);
    double alpha_half = student_4 * sigma * sqrt(1.0 / N + x_sum * x_sum / N / N / xx);
    fit_regression_t line;
    assert_int_equal(fit_postal(&made.points, true, &line, NULL), PTO_OK);
    assert_int_equal(line.count, N);
    assert_near(line.value[0], alpha, 1e-9);
    assert_near(line.value[1], beta, 1e-9);
    assert_true(line.has_interval && !line.held[0] && !line.held[1]);
    assert_near(line.low[0], alpha - alpha_half, 1e-7);
    assert_near(line.high[0], alpha + alpha_half, 1e-7);
    assert_near(line.low[1], beta - beta_half, 1e-7);
    assert_near(line.high[1], beta + beta_half, 1e-7);
    assert_near(line.residual, fit_median(distance, N), 1e-7);
}

TEST(two_points_make_a_line_without_an_interval_and_one_makes_none) {
    fit_regression_t line;
    pto_error_t err = {0};
    begin();
    put(1, 100, 3);
    assert_int_equal(fit_postal(&made.points, false, &line, &err), PTO_ERR_NOT_FOUND);
    assert_string_equal(err.message, "1 samples for 2 parameters");
    put(1, 200, 5);
    for (int plain = 0; plain < 2; plain++) {
        assert_int_equal(fit_postal(&made.points, plain, &line, NULL), PTO_OK);
        assert_near(line.value[0], 1, 1e-9);
        assert_near(line.value[1], 0.02, 1e-9);
        assert_false(line.has_interval);
        assert_near(line.low[1], line.high[1], 1e-12);
    }
    put(1, 400, 9);
    assert_int_equal(fit_postal(&made.points, false, &line, NULL), PTO_OK);
    assert_true(line.has_interval);
}

/* Either coefficient would be negative; the other is fitted without it. */
TEST(a_negative_coefficient_is_held_at_zero) {
    fit_regression_t line;
    begin();
    for (int i = 1; i <= 5; i++)
        put(1, 100 * i, 6 - i);
    assert_int_equal(fit_postal(&made.points, true, &line, NULL), PTO_OK);
    assert_true(line.held[1] && !line.held[0]);
    assert_true(line.value[1] == 0 && line.low[1] == 0);
    assert_near(line.value[0], 3, 1e-9);
    begin();
    for (int i = 1; i <= 5; i++)
        put(1, 100 * i, i * i);
    assert_int_equal(fit_postal(&made.points, true, &line, NULL), PTO_OK);
    assert_true(line.held[0] && !line.held[1]);
    assert_true(line.value[0] == 0);
    assert_near(line.value[1], 225.0 / 5500, 1e-9); /* sum of x y by that of x x */
}

/* 2 + 3 x - 1 x^2 by x and x^2: what falls is held at 0, whichever column it is. */
static bool fill_three(const fit_point_t *point, const void *context, fit_row_t *row) {
    const int *falling = context;
    double x = (double)point->bytes;
    row->column[(*falling + 1) % 3] = 1;
    row->column[(*falling + 2) % 3] = x;
    row->column[*falling] = x * x;
    return true;
}

TEST(one_of_three_columns_is_held_at_zero) {
    for (int falling = 0; falling < 3; falling++) {
        fit_regression_t result, line;
        begin();
        for (int x = 1; x <= 9; x++)
            put(1, x, 2 + 3 * x - 0.05 * x * x);
        assert_int_equal(
            fit_regress(&made.points, &(fit_model_t){3, fill_three, &falling}, true, &result, NULL), PTO_OK);
        assert_int_equal(fit_postal(&made.points, true, &line, NULL), PTO_OK);
        assert_true(result.held[falling] && result.value[falling] == 0);
        assert_near(result.value[(falling + 1) % 3], line.value[0], 1e-9);
        assert_near(result.value[(falling + 2) % 3], line.value[1], 1e-9);
        assert_near(result.high[(falling + 2) % 3], line.high[1], 1e-9);
    }
}

static bool fill_multiples(const fit_point_t *point, const void *context, fit_row_t *row) {
    const double *apart = context;
    row->column[0] = (double)point->bytes;
    row->column[1] = 3e5 * (double)point->bytes + (point->bytes > 64 ? *apart : 0);
    row->column[2] = point->procs;
    return true;
}

/* As samples of one size are of a cost per message and one per byte: any division of the cost would do. */
TEST(columns_that_are_multiples_are_not_told_apart) {
    static const double same = 0, apart = 1e5;
    for (int i = 0; i < 4; i++) {
        bool plain = i % 2 == 1;
        int columns = i < 2 ? 2 : 3;
        fit_regression_t result;
        pto_error_t err = {0};
        begin();
        for (int64_t bytes = 8; bytes <= 512; bytes *= 2)
            for (int32_t procs = 1; procs <= 4; procs++)
                put(procs, bytes, 1e-6 + 1e-9 * (double)bytes + 1e-7 * procs);
        assert_int_equal(
            fit_regress(&made.points, &(fit_model_t){columns, fill_multiples, &same}, plain, &result, &err),
            PTO_ERR_NOT_FOUND);
        assert_string_equal(err.message, "the samples cannot tell the parameters apart");
        assert_int_equal(
            fit_regress(&made.points, &(fit_model_t){columns, fill_multiples, &apart}, plain, &result, &err),
            PTO_OK);
    }
}

/* Residuals of 0, and times that are all the same, still have weights, coefficients and intervals. */
TEST(samples_without_noise_yield_their_line) {
    static const double alpha_s[] = {1e-5, 1e-5, 1e-3}, beta_s_per_byte[] = {1e-9, 0, 0};
    for (int i = 0; i < 3; i++) {
        fit_regression_t line;
        begin();
        for (int64_t bytes = 1; bytes <= 1 << 20; bytes *= 4)
            put_line(bytes, alpha_s[i], beta_s_per_byte[i]);
        assert_int_equal(fit_postal(&made.points, false, &line, NULL), PTO_OK);
        assert_near(line.value[0], alpha_s[i], 1e-9);
        assert_true(fabs(line.value[1] - beta_s_per_byte[i]) <= 1e-9 * 1e-9);
        assert_true(line.has_interval && line.residual < 1e-9);
        assert_near(line.low[0], alpha_s[i], 1e-6);
        assert_near(line.high[0], alpha_s[i], 1e-6);
    }
}

static bool fill_slope_first(const fit_point_t *point, const void *context, fit_row_t *row) {
    row->column[0] = (double)point->bytes;
    row->column[1] = 1;
    return true;
}

/* Most are on the line to the last digit, the others a digit off. */
TEST(samples_on_a_line_to_the_last_digit_have_an_interval) {
    for (int procs = 2; procs <= 64; procs *= 2) {
        fit_regression_t line;
        begin();
        for (int64_t bytes = 8; bytes <= 1 << 22; bytes *= 2)
            for (int i = 0; i < 2; i++)
                put(1, procs * bytes, procs * 5e-8 + procs * 2e-11 * (double)bytes);
        assert_int_equal(
            fit_regress(&made.points, &(fit_model_t){2, fill_slope_first, NULL}, false, &line, NULL), PTO_OK);
        assert_near(line.value[0], 2e-11, 1e-9);
        for (int k = 0; k < 2; k++) {
            assert_near(line.low[k], line.value[k], 1e-6);
            assert_near(line.high[k], line.value[k], 1e-6);
        }
    }
}

/* Of seven samples of a size, two take three times as long: they are dropped, and the line is exact. */
TEST(outliers_of_a_full_row_are_dropped) {
    fit_regression_t line;
    begin();
    for (int64_t bytes = 1000; bytes <= 16000; bytes *= 2)
        for (int i = 0; i < 7; i++)
            put(1, bytes, (i < 2 ? 3 : 1) * (1e-5 + 1e-9 * (double)bytes));
    assert_int_equal(fit_postal(&made.points, false, &line, NULL), PTO_OK);
    assert_int_equal(line.count, 35);
    assert_near(line.value[0], 1e-5, 1e-6);
    assert_near(line.value[1], 1e-9, 1e-6);
    assert_true(line.residual < 1e-6);
}

/* The same scatter, about a line and about a curve: the test for the lack of fit widens the curve's. */
TEST(a_line_that_misses_its_rows_has_a_wider_interval) {
    fit_regression_t straight, bent;
    for (int curve = 0; curve < 2; curve++) {
        begin();
        for (int k = 0; k < 8; k++)
            for (int i = 0; i < 12; i++) {
                double off = curve ? 0.02 * (k < 2 || k > 5 ? -1 : 1) : 0;
                put(1, 1000 * (k + 1), 1e-5 * (k + 2) * (1 + off + 0.001 * (i - 5.5)));
            }
        assert_int_equal(fit_postal(&made.points, false, curve ? &bent : &straight, NULL), PTO_OK);
    }
    double narrow = straight.high[1] - straight.low[1], wide = bent.high[1] - bent.low[1];
    assert_true(straight.low[1] <= 1e-8 && 1e-8 <= straight.high[1]);
    assert_near(straight.value[1], 1e-8, 1e-4);
    assert_true(narrow < 4e-3 * 1e-8);
    /* Eight means that are 2 percent off, and not 96 samples. */
    assert_true(wide > 2e-2 * 1e-8 && wide < 0.2 * 1e-8);
}

/* --- breaks --------------------------------------------------------------------------------------------- */

static fit_breaks_t breaks_of(int most) {
    fit_breaks_t breaks;
    assert_int_equal(fit_find_breaks(&made.points, most, &breaks, NULL), PTO_OK);
    return breaks;
}

TEST(a_piece_of_two_sizes_is_found_at_either_end_and_between) {
    for (int at = 0; at < 3; at++) {
        begin();
        /* 3, 2 or 3 sizes, of which two make the short piece. */
        int64_t bytes = 1024;
        int length[3] = {4, 4, 4};
        length[at] = 2;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < length[k]; i++, bytes *= 2)
                put_line(bytes, (k == 0 ? 1e-6 : k == 1 ? 1e-4 : 1e-2), (k == 1 ? 3e-9 : 1e-10));
        fit_breaks_t breaks = breaks_of(FIT_PIECE_MAX);
        assert_int_equal(breaks.count, 2);
        assert_int_equal(breaks.below_bytes[0], 1024 << length[0]);
        assert_int_equal(breaks.below_bytes[1], 1024 << (length[0] + length[1]));
        assert_int_equal(breaks_of(2).count, 1);
        assert_int_equal(breaks_of(1).count, 0);
    }
}

TEST(four_sizes_are_two_pieces_and_three_are_one) {
    begin();
    put_line(64, 1e-6, 1e-10);
    put_line(128, 1e-6, 1e-10);
    put_line(256, 1e-3, 1e-8);
    assert_int_equal(breaks_of(3).count, 0);
    put_line(512, 1e-3, 1e-8);
    fit_breaks_t breaks = breaks_of(3);
    assert_int_equal(breaks.count, 1);
    assert_int_equal(breaks.below_bytes[0], 256);
}

TEST(one_line_has_no_breaks_however_many_are_allowed) {
    begin();
    for (int64_t bytes = 1; bytes <= 1 << 20; bytes *= 2)
        put_line(bytes, 2e-6, 1e-10);
    assert_int_equal(breaks_of(FIT_PIECE_MAX).count, 0);
}

/* Two of the sizes take less than the grain, which leaves three. */
TEST(sizes_below_the_grain_make_no_piece) {
    begin();
    for (int64_t bytes = 1; bytes <= 4; bytes *= 2)
        put_line(bytes, 1e-8 * (double)bytes, 0);
    for (int64_t bytes = 8; bytes <= 1 << 12; bytes *= 2)
        put_line(bytes, 1e-6, 1e-10);
    assert_int_equal(breaks_of(FIT_PIECE_MAX).count, 0);
}

/* More sizes than a search takes: each break is at the size at which the line changes all the same. */
TEST(breaks_among_many_sizes_are_exact) {
    for (int sizes = 95; sizes <= 1500; sizes = sizes < 98 ? sizes + 1 : 3 * sizes) {
        int first = sizes / 3 + 1, second = 2 * sizes / 3 + 2;
        begin();
        for (int i = 0; i < sizes; i++)
            put(1, 100 * (i + 1),
                i < first    ? 1e-5 + 1e-9 * i
                : i < second ? 5e-5 + 3e-8 * i
                             : 5e-4 + 1e-8 * i);
        fit_breaks_t breaks = breaks_of(4);
        assert_int_equal(breaks.count, 2);
        assert_int_equal(breaks.below_bytes[0], 100 * (first + 1));
        assert_int_equal(breaks.below_bytes[1], 100 * (second + 1));
    }
}

/* Also where the search sees only two sizes of a piece at either end: the first two, or the last and the
 * third last. */
TEST(a_short_piece_among_many_sizes_stays_short) {
    enum { SIZES = 120 };
    for (int shortest = 2; shortest <= 4; shortest++)
        for (int at_end = 0; at_end < 2; at_end++) {
            int first = at_end ? SIZES - (shortest + 1) : shortest;
            begin();
            for (int i = 0; i < SIZES; i++)
                put(1, 100 * (i + 1), i < first ? 1e-5 + 1e-9 * i : 5e-4 + 3e-7 * i);
            fit_breaks_t breaks = breaks_of(2);
            assert_int_equal(breaks.count, 1);
            assert_int_equal(breaks.below_bytes[0], 100 * (first + 1));
        }
}

/* A line has two coefficients: whatever the noise, a piece has two sizes, and breaks rise. */
TEST(pieces_of_noise_have_two_sizes) {
    uint64_t state = 11;
    int found = 0;
    for (int i = 0; i < 20; i++) {
        int sizes = 97 + i % 40, last_piece = 0;
        begin();
        for (int s = 0; s < sizes; s++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            double noise = (double)(state >> 40) / (1 << 24);
            put(1, 100 * (s + 1), (s < sizes - 2 ? 1e-5 : 2e-5) * (1 + (s < sizes - 4 ? 0.02 : 3) * noise));
        }
        fit_breaks_t breaks = breaks_of(4);
        for (int b = 0; b < breaks.count; b++) {
            int size = (int)breaks.below_bytes[b] / 100 - 1;
            assert_true(size >= last_piece + 2 && size <= sizes - 2);
            last_piece = size;
        }
        found += breaks.count;
    }
    assert_true(found > 5);
}
