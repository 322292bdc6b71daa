/* When a median is known well enough. */
#ifndef PORTOLAN_CALIBRATE_STATISTICS_H
#define PORTOLAN_CALIBRATE_STATISTICS_H

#include <stdbool.h>

/* The 95 percent confidence interval of the median is from the k-th smallest to the k-th largest of `count`
 * values, whatever their distribution. Returns k, from 1 on; 0: fewer than 6 values have none. */
int median_interval_rank(int count);

/* Returns whether that interval lies within `fraction` of the median. Sorts. */
bool median_is_settled(double *value, int count, double fraction);

/* A median, and how well it is known. */
typedef struct {
    double value;
    /* Half of its 95 percent interval as a fraction of the value (of the timing grain, where that is longer),
     * from the interquartile range, so that an outlier in five counts for nothing, as in a fit, but two do.
     * Of three or four values from their range, so that one outlier counts; HUGE_VAL of fewer. */
    double error;
} median_t;

enum { RANGE_VALUES_MIN = 3, MEDIAN_VALUES_MIN = 5 };

/* Sorts the values, of which there is at least one. */
median_t median_of(double *value, int count);

#endif
