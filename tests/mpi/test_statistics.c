/* The confidence interval that ends a point's repetitions, compared with exact binomial values, the counts
 * that get a case, and the clock. Needs no mpirun. */
#include <time.h>

#include "../../calibrate/benchmark.h"
#include "../../calibrate/statistics.h"
#include "test.h"

static void check(bool holds, const char *what) {
    if (!holds)
        fail_msg("fails: %s", what);
}

TEST(five_values_have_no_95_percent_interval) {
    double same[5] = {1, 1, 1, 1, 1};
    check(!median_is_settled(same, 5, 0.02), "five equal values are not settled");
}

/* For 6 values the interval is smallest to largest: 1 - 2 / 64 = 96.9 percent. */
TEST(six_values_need_all_within_two_percent) {
    double close[6] = {1.00, 1.01, 0.99, 1.019, 1.0, 0.981};
    double wide[6] = {1.00, 1.01, 0.99, 1.03, 1.0, 0.98};
    check(median_is_settled(close, 6, 0.02), "six values within 2 percent are settled");
    check(!median_is_settled(wide, 6, 0.02), "one of six at 3 percent unsettles");
}

/* For 9 values it is second smallest to second largest: 1 - 2 * 10 / 512 = 96.1 percent. */
TEST(nine_values_bear_one_outlier_on_each_side) {
    double one[9] = {1, 1, 1, 1, 100, 1, 1, 1, 0.01};
    double two[9] = {1, 1, 1, 1, 100, 1, 1, 100, 1};
    check(median_is_settled(one, 9, 0.02), "one outlier on each side of nine is borne");
    check(!median_is_settled(two, 9, 0.02), "two outliers on one side of nine are not");
}

/* 1 - 2 * 21,700 / 2^20 = 95.9 percent for 20 values, and as computed with whole numbers for 200. */
TEST(ranks_are_the_binomials) {
    check(median_interval_rank(5) == 0 && median_interval_rank(6) == 1 && median_interval_rank(9) == 2 &&
              median_interval_rank(20) == 6 && median_interval_rank(200) == 86,
          "the ranks of the interval");
}

/* The logarithm of the probability that k of n are below the median. */
static double log_binomial(int n, int k) {
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2.0);
}

/* As many values on each side as are together in 2.5 percent of cases at most; by the normal distribution,
 * one more or less. */
TEST(ranks_of_many_values_are_the_binomials_too) {
    for (int n = 6; n <= 3000; n++) {
        int rank = median_interval_rank(n), slack = n > 500;
        double below = 0.0;
        int k = 0;
        for (; below + exp(log_binomial(n, k)) <= 0.025; k++)
            below += exp(log_binomial(n, k));
        check(rank >= k - slack && rank <= k + slack, "a rank is the binomial's");
    }
}

/* Of many values from one distribution, the interval shrinks until it settles. */
TEST(many_noisy_values_settle) {
    enum { MANY = 4000 };
    static double value[MANY];
    unsigned long random = 1;
    for (int i = 0; i < MANY; i++) {
        random = (random * 1103515245UL + 12345UL) & 0x7fffffffUL;
        value[i] = 1.0 + 0.2 * ((double)random / 0x7fffffffUL - 0.5);
    }
    check(!median_is_settled(value, 20, 0.02), "20 values of 10 percent noise are not settled");
    check(median_is_settled(value, MANY, 0.02), "4000 are");
}

TEST(two_values_tell_no_error) {
    double two[2] = {1, 1};
    check(median_of(two, 2).error > 1e300, "two values tell no error");
}

/* By Lord's table, and sqrt(pi / 2) for the median. One outlier counts. */
TEST(three_and_four_values_have_an_error_by_their_range) {
    double three[3] = {4, 1, 2}, four[4] = {1, 5, 3, 2}, slow[3] = {1, 100, 1};
    check(fabs(median_of(three, 3).error - 1.2533 * 1.304 * 3 / 2) < 1e-12, "the error of three");
    check(fabs(median_of(four, 4).error - 1.2533 * 0.717 * 4 / 2.5) < 1e-12, "the error of four");
    check(median_of(slow, 3).error > 10, "that of three with an outlier");
}

/* Of 8, 9, 10, 11 and an outlier, the quartiles are 9 and 11: 1.96 * 1.2533 * 2 / 1.349 * 5 / 3.65 over
 * sqrt(5) * 10. Two outliers are no chance. */
TEST(an_error_is_of_the_quartiles) {
    double value[5] = {11, 107, 10, 8, 9}, two[5] = {106, 107, 10, 8, 9};
    median_t median = median_of(value, 5);
    check(fabs(median.value - 10) < 1e-12, "the median of five");
    check(fabs(median.error - 0.22311) < 1e-4, "its error");
    check(median_of(two, 5).error > 10, "that with two outliers");
}

/* 1, ..., 8: the quartiles are 2.75 and 6.25. */
TEST(quartiles_lie_between_values) {
    double value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    check(fabs(median_of(value, 8).error - 1.96 * 1.2533 * 3.5 / 1.349 * 8 / 6.65 / sqrt(8) / 4.5) < 1e-12,
          "the error of eight");
}

/* Below 50 ns, errors are fractions of 50 ns. */
TEST(errors_below_the_grain_are_of_the_grain) {
    double value[5] = {11e-9, 107e-9, 10e-9, 8e-9, 9e-9};
    check(fabs(median_of(value, 5).error - 0.22311 / 5) < 1e-4, "an error of the grain");
}

TEST(an_even_number_has_a_median_between_two) {
    double value[6] = {6, 1, 2, 3, 4, 5};
    check(fabs(median_of(value, 6).value - 3.5) < 1e-12, "the median of six");
}

TEST(counts_rise_and_end_with_the_most) {
    for (int most = 1; most <= 200; most++) {
        int last = 0;
        for (int count = 1; count != 0; count = next_count(count, most)) {
            check(count > last && count <= most, "counts rise");
            last = count;
        }
        check(last == most, "the last count is the most");
    }
    check(next_count(4, 100) == 6 && next_count(6, 100) == 8 && next_count(8, 100) == 12, "4, 6, 8, 12");
}

static double seconds_between(const struct timespec *from, const struct timespec *to) {
    return (double)(to->tv_sec - from->tv_sec) + 1e-9 * (double)(to->tv_nsec - from->tv_nsec);
}

/* By the system's clock, which is read around what is timed and within. */
TEST(a_rest_lasts_as_long_as_was_said) {
    static const double rests_s[] = {0.003, 0.02, 1.01};
    for (int i = 0; i < 3; i++) {
        struct timespec at[4];
        clock_gettime(CLOCK_MONOTONIC, &at[0]);
        double began_s = now_s();
        clock_gettime(CLOCK_MONOTONIC, &at[1]);
        rest(rests_s[i]);
        clock_gettime(CLOCK_MONOTONIC, &at[2]);
        double took_s = now_s() - began_s;
        clock_gettime(CLOCK_MONOTONIC, &at[3]);
        double least_s = seconds_between(&at[1], &at[2]), most_s = seconds_between(&at[0], &at[3]);
        check(least_s >= rests_s[i], "it rests as long");
        check(took_s >= least_s - 1e-6 && took_s <= most_s + 1e-6, "the clock is the system's");
    }
}
