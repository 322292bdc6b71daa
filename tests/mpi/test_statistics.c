/* The confidence interval that ends a point's repetitions, compared with exact binomial values, the counts
 * that get a case, and the clock. Needs no mpirun. */
#include <time.h>

#include "../../calibrate/benchmark.h"
#include "../../calibrate/statistics.h"
#include "test.h"

/* Whether the median is known to 2 percent. Five values have no 95 percent interval. That of six is from the
 * smallest to the largest: 1 - 2 / 64 = 96.9 percent; that of nine from the second smallest to the second
 * largest: 1 - 2 * 10 / 512 = 96.1 percent. */
TEST(an_interval_of_two_percent_settles_a_median) {
    static const struct {
        const char *name;
        double value[9];
        int count;
        bool is_settled;
    } known[] = {{"five equal values", {1, 1, 1, 1, 1}, 5, false},
                 {"six within 2 percent", {1.00, 1.01, 0.99, 1.019, 1.0, 0.981}, 6, true},
                 {"one of six at 3 percent", {1.00, 1.01, 0.99, 1.03, 1.0, 0.98}, 6, false},
                 {"an outlier on each side", {1, 1, 1, 1, 100, 1, 1, 1, 0.01}, 9, true},
                 {"two outliers on one side", {1, 1, 1, 1, 100, 1, 1, 100, 1}, 9, false}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double value[9];
        memcpy(value, known[i].value, sizeof value);
        if (median_is_settled(value, known[i].count, 0.02) != known[i].is_settled)
            fail_msg("%s", known[i].name);
    }
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
        assert_in_range(rank, k - slack, k + slack);
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
    assert_false(median_is_settled(value, 20, 0.02));
    assert_true(median_is_settled(value, MANY, 0.02));
}

/* By Lord's table for three and four values, and sqrt(pi / 2) for the median; of more, by the quartiles,
 * which lie between values: of 8, 9, 10, 11 and an outlier they are 9 and 11, of 1 to 8 2.75 and 6.25, and
 * the error is 1.96 * 1.2533 * IQR / 1.349 * n / (n - 1.35) over sqrt(n). Below 50 ns it is a fraction of 50
 * ns. */
TEST(a_median_has_its_error) {
    const struct {
        const char *name;
        int count;
        double value[8];
        double median, error; /* HUGE_VAL: none is told */
    } known[] = {
        {"two", 2, {1, 1}, 1, HUGE_VAL},
        {"three", 3, {4, 1, 2}, 2, 1.2533 * 1.304 * 3 / 2},
        {"four", 4, {1, 5, 3, 2}, 2.5, 1.2533 * 0.717 * 4 / 2.5},
        {"five with an outlier",
         5,
         {11, 107, 10, 8, 9},
         10,
         1.96 * 1.2533 * 2 / 1.349 * 5 / 3.65 / sqrt(5) / 10},
        {"the same in nanoseconds",
         5,
         {11e-9, 107e-9, 10e-9, 8e-9, 9e-9},
         10e-9,
         1.96 * 1.2533 * 2 / 1.349 * 5 / 3.65 / sqrt(5) / 50},
        {"six", 6, {6, 1, 2, 3, 4, 5}, 3.5, 1.96 * 1.2533 * 2.5 / 1.349 * 6 / 4.65 / sqrt(6) / 3.5},
        {"eight", 8, {1, 2, 3, 4, 5, 6, 7, 8}, 4.5, 1.96 * 1.2533 * 3.5 / 1.349 * 8 / 6.65 / sqrt(8) / 4.5}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double value[8];
        memcpy(value, known[i].value, sizeof value);
        median_t median = median_of(value, known[i].count);
        assert_near_for(median.value, known[i].median, 1e-12, known[i].name);
        if (isinf(known[i].error))
            assert_true(median.error > 1e300);
        else
            assert_near_for(median.error, known[i].error, 1e-9, known[i].name);
    }
}

/* One of three, or two of five, are no chance. */
TEST(outliers_make_an_error_large) {
    double three[3] = {1, 100, 1}, five[5] = {106, 107, 10, 8, 9};
    assert_true(median_of(three, 3).error > 10 && median_of(five, 5).error > 10);
}

TEST(counts_rise_and_end_with_the_most) {
    for (int most = 1; most <= 200; most++) {
        int last = 0;
        for (int count = 1; count != 0; count = next_count(count, most)) {
            assert_true(count > last && count <= most);
            last = count;
        }
        assert_int_equal(last, most);
    }
    const int to_24[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 0}, to_7[] = {1, 2, 3, 4, 6, 7, 0};
    for (int i = 0; to_24[i] > 0; i++)
        assert_int_equal(next_count(to_24[i], 24), to_24[i + 1]);
    for (int i = 0; to_7[i] > 0; i++)
        assert_int_equal(next_count(to_7[i], 7), to_7[i + 1]);
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
        assert_true(least_s >= rests_s[i]);
        assert_true(took_s >= least_s - 1e-6 && took_s <= most_s + 1e-6);
    }
}
