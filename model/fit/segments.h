/* Finding the sizes at which a piecewise linear cost changes its line. */
#ifndef PTO_SEGMENTS_H
#define PTO_SEGMENTS_H

#include "points.h"

/* Applies to everything that is fitted in pieces. */
enum { FIT_PIECE_MAX = PTO_COST_RANGE_MAX };

/* Between pieces: the first size of each but the first. */
typedef struct {
    int count;
    int64_t below_bytes[FIT_PIECE_MAX];
} fit_breaks_t;

/* Find the breaks of points sorted by bytes, for at most `max_pieces` pieces. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_find_breaks(const fit_points_t *points, int max_pieces, fit_breaks_t *breaks,
                             pto_error_t *err);

#endif
