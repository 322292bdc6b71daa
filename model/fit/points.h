/* Samples as points that a line is fitted to. */
#ifndef PTO_FIT_POINTS_H
#define PTO_FIT_POINTS_H

#include "portolan/fit.h"

/* One timing; in minima mode, the minimum of several. */
typedef struct {
    double seconds;
    int64_t bytes;
    int32_t procs;
    int32_t messages;
} fit_point_t;

/* Points sorted by procs, then messages, then bytes. */
typedef struct {
    size_t count;
    fit_point_t *point;
} fit_points_t;

/* For sorting: below 0, 0 or above it. */
int fit_compare(int64_t a, int64_t b);

/* Compares two points in their order, or by their bytes alone. */
int fit_compare_points(const void *a, const void *b);
int fit_compare_bytes(const void *a, const void *b);

/* Returns the run of points from `first` on that compare equal to it, borrowed. */
fit_points_t fit_equal_from(const fit_points_t *points, size_t first,
                            int (*compare)(const void *, const void *));

/* Returns the number of different sizes of points that are sorted by bytes. */
size_t fit_size_count(const fit_points_t *points);

/* Return the largest number of processes, 0 if there are no points, and the points that have it, borrowed. */
int32_t fit_max_procs(const fit_points_t *points);
fit_points_t fit_with_max_procs(const fit_points_t *points);

/* The points with from_bytes <= bytes < below_bytes, borrowed. Points must be sorted by bytes. */
fit_points_t fit_slice(const fit_points_t *points, int64_t from_bytes, int64_t below_bytes);

#endif
