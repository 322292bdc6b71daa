/* Where picks change, as tables print it. */
#ifndef PTO_CROSSINGS_H
#define PTO_CROSSINGS_H

#include "portolan/pick.h"

/* pto_crossings, or the points of the sweep at which the pick is another one where bisection is too much
 * work. The caller frees `*crossing` with free(). */
pto_status_t pto_crossings_or_points(const pto_predictions_t *predictions, pto_crossing_t **crossing,
                                     int64_t *count, pto_error_t *err);

#endif
