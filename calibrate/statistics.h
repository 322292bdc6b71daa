/* Medians, and how precisely they are known: by a 95 percent confidence interval. */
#ifndef PORTOLAN_CALIBRATE_STATISTICS_H
#define PORTOLAN_CALIBRATE_STATISTICS_H

#include <stdbool.h>

int compare_values(const void *a, const void *b);

/* The 95 percent confidence interval of the median is from the k-th smallest to the k-th largest of `count`
 * values, whatever their distribution. Returns k, from 1 on; 0: fewer than 6 values have none. */
int median_interval_rank(int count);
/* Returns whether that interval lies within `fraction` of the median. Sorts. */
bool median_is_settled(double *value, int count, double fraction);

typedef struct {
    double value;
    /* Half of the 95 percent interval as a fraction of the value (of the timing grain, if that is longer). It
     * is computed from the interquartile range, in which one outlier in five values has no effect, as in a
     * fit, but two have. Of three or four values, it is computed from the range; of fewer, it is HUGE_VAL. */
    double error;
} median_t;

enum { RANGE_VALUES_MIN = 3, MEDIAN_VALUES_MIN = 5 };

/* Sorts the values, of which there is at least one. */
median_t median_of(double *value, int count);

#endif
