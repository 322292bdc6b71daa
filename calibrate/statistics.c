/* How precisely a median is known (statistics.h). The number of values below the median is binomial(n, 1/2)
 * for any distribution, so the interval from the k-th smallest to the k-th largest value contains the median
 * with probability 1 - 2 P(fewer than k). */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

#include "portolan/samples.h"
#include "portolan/score.h"

int compare_values(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* For more values, the binomial's smallest terms underflow, and the normal approximation is exact enough. */
enum { EXACT_COUNT_MAX = 500 };

int median_interval_rank(int count) {
    if (count > EXACT_COUNT_MAX)
        return (int)((count - 1.96 * sqrt(count)) / 2.0);
    double probability = pow(0.5, count);
    double below = 0.0;
    int k = 0;
    while (2.0 * (below + probability) <= 0.05) {
        below += probability;
        probability *= (double)(count - k) / (k + 1);
        k++;
    }
    return k;
}

static double middle_of(const double *sorted, int count) {
    return 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
}

bool median_is_settled(double *value, int count, double fraction) {
    int k = median_interval_rank(count);
    if (k == 0)
        return false;
    qsort(value, (size_t)count, sizeof *value, compare_values);
    double median = middle_of(value, count);
    double low = value[k - 1];
    double high = value[count - k];
    return median - low <= fraction * median && high - median <= fraction * median;
}

/* Returns the median and its error, as if the values were normal: the standard error of their median is
 * sqrt(pi / 2) times that of their mean. Their interquartile range is 1.349 standard deviations, and for few
 * values about (n - 1.35) / n times as much (by order statistics: within 2 percent from n = 5). */
median_t median_of(double *value, int count) {
    const double half_of_deviation = 1.96 * 1.2533; /* 1.2533 is sqrt(pi / 2) */
    /* Half of the 95 percent interval of the mean of three and of four values, as a multiple of their range
     * (E. Lord 1947, Biometrika 34:41). */
    const double half_by_range[] = {1.304, 0.717};
    qsort(value, (size_t)count, sizeof *value, compare_values);
    median_t median = {.value = middle_of(value, count), .error = HUGE_VAL};
    if (count >= RANGE_VALUES_MIN && count < MEDIAN_VALUES_MIN) {
        double range_s = value[count - 1] - value[0];
        median.error =
            1.2533 * half_by_range[count - RANGE_VALUES_MIN] * range_s / pto_error_scale(median.value);
    } else if (count >= MEDIAN_VALUES_MIN) {
        double range_s = pto_quantile(value, count, 0.75) - pto_quantile(value, count, 0.25);
        double deviation_s = range_s / 1.349 * count / (count - 1.35);
        median.error = half_of_deviation * deviation_s / sqrt(count) / pto_error_scale(median.value);
    }
    return median;
}
