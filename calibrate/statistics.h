/* When a median is known well enough. */
#ifndef PORTOLAN_CALIBRATE_STATISTICS_H
#define PORTOLAN_CALIBRATE_STATISTICS_H

#include <stdbool.h>

/* The 95 percent confidence interval of the median is from the k-th smallest to the k-th largest of `count`
 * values, whatever their distribution. Returns k, from 1 on; 0: fewer than 6 values have none. */
int median_interval_rank(int count);

/* Whether that interval lies within `fraction` of the median. Sorts. */
bool median_is_settled(double *value, int count, double fraction);

#endif
