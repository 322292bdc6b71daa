/* The number of values below the median is binomial(n, 1/2) whatever the distribution, so the interval from
 * the k-th smallest to the k-th largest value holds the median with probability 1 - 2 P(fewer than k). */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Above it the binomial's smallest terms underflow, and its normal limit is exact enough. */
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

bool median_is_settled(double *value, int count, double fraction) {
    int k = median_interval_rank(count);
    if (k == 0)
        return false;
    qsort(value, (size_t)count, sizeof *value, compare);
    double median = 0.5 * (value[(count - 1) / 2] + value[count / 2]);
    double low = value[k - 1];
    double high = value[count - k];
    return median - low <= fraction * median && high - median <= fraction * median;
}
