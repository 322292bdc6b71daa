/* Where picks change, as tables print it. */
#include "crossings.h"

#include <stdlib.h>

pto_status_t pto_crossings_or_points(const pto_predictions_t *predictions, pto_crossing_t **crossing,
                                     int64_t *count, pto_error_t *err) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_crossings(predictions, crossing, count, &fault);
    if (status != PTO_ERR_TOO_LARGE && status != PTO_ERR_INTERRUPTED) {
        if (status != PTO_OK && err)
            *err = fault;
        return status;
    }
    pto_crossing_t *made = calloc((size_t)predictions->point_count, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for crossings");
    *count = 0;
    for (int64_t i = 0; i + 1 < predictions->point_count; i++)
        if (pto_pick_at(predictions, i) != pto_pick_at(predictions, i + 1))
            made[(*count)++] = (pto_crossing_t){
                .at = predictions->point[i + 1], .winner = pto_pick_at(predictions, i + 1), .gap = i};
    *crossing = made;
    return PTO_OK;
}
