/* When a median is known well enough. */
#ifndef PORTOLAN_CALIBRATE_STATISTICS_H
#define PORTOLAN_CALIBRATE_STATISTICS_H

#include <stdbool.h>

/* Whether the 95 percent confidence interval of the median lies within `fraction` of the median. The interval
 * is the distribution-free one between two order statistics; fewer than 6 values have none. Sorts. */
bool median_is_settled(double *value, int count, double fraction);

#endif
