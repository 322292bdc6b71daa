/* Predictions once they have been made. */
#include <stdlib.h>

#include "decide/candidates.h"
#include "portolan/pick.h"

static void fini_points(pto_predictions_t *predictions, int64_t first) {
    int64_t end = predictions->prediction ? predictions->point_count * predictions->strategy_count : 0;
    for (int64_t i = first * predictions->strategy_count; i < end; i++)
        pto_explanation_fini(&predictions->prediction[i].explanation);
}

void pto_predictions_cut(pto_predictions_t *predictions, int64_t point_count) {
    fini_points(predictions, point_count);
    predictions->point_count = point_count;
}

void pto_predictions_fini(pto_predictions_t *predictions) {
    fini_points(predictions, 0);
    free(predictions->prediction);
    free(predictions->strategy);
    *predictions = (pto_predictions_t){0};
}

const pto_prediction_t *pto_prediction_at(const pto_predictions_t *predictions, int64_t point, int strategy) {
    return &predictions->prediction[point * predictions->strategy_count + strategy];
}
