/* The samples as points that a line is fitted to. */
#ifndef PORTOLAN_FIT_POINTS_H
#define PORTOLAN_FIT_POINTS_H

#include "portolan/fit.h"

/* One timing, or in minima mode one minimum. */
typedef struct {
    double seconds;
    int64_t bytes;
    int32_t procs;
    int32_t messages;
} fit_point_t;

/* Points rising in procs, then messages, then bytes; owned. */
typedef struct {
    size_t count;
    fit_point_t *point;
} fit_points_t;

/* Sizes that differ, of points that rise in bytes. */
size_t fit_size_count(const fit_points_t *points);

/* The part of points that rise in bytes with from_bytes <= bytes < below_bytes; not owned. */
fit_points_t fit_slice(const fit_points_t *points, int64_t from_bytes, int64_t below_bytes);

#endif
