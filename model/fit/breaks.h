/* Where a line breaks into pieces. */
#ifndef PORTOLAN_FIT_BREAKS_H
#define PORTOLAN_FIT_BREAKS_H

#include "points.h"

/* Of anything that has pieces. */
enum { FIT_PIECE_MAX = PTO_COST_RANGE_MAX };

/* Where protocols change, of points that rise in bytes: how many breaks, at the first sizes of the next
 * pieces. `most` pieces at the most, no more than FIT_PIECE_MAX. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_find_breaks(const fit_points_t *points, int most, int *count, int64_t *below_bytes,
                             pto_error_t *err);

#endif
