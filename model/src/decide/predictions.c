/* Operations on the predictions of predict.c: access, setups, freeing. */
#include <stdlib.h>

#include "decide/candidates.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"

static void fini_points(pto_predictions_t *predictions, int64_t first) {
    int64_t end = predictions->prediction ? predictions->point_count * predictions->strategy_count : 0;
    for (int64_t i = first * predictions->strategy_count; i < end; i++) {
        pto_explanation_fini(&predictions->prediction[i].explanation);
        free(predictions->prediction[i].setup);
        predictions->prediction[i].setup = NULL;
    }
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

static pto_status_t find_setup(const pto_predictions_t *predictions, int64_t cell, pto_error_t *err) {
    pto_prediction_t *prediction = &predictions->prediction[cell];
    const pto_strategy_t *strategy = predictions->strategy[cell % predictions->strategy_count];
    int64_t point = cell / predictions->strategy_count;
    pto_plan_t *plan = NULL;
    pto_request_t request =
        pto_scenario_cell(predictions->scenario, predictions->machine, point, strategy).request;
    request.algorithm = prediction->algorithm;
    request.chunks = prediction->chunks;
    request.staged_members = prediction->staged_members;
    if (!prediction->setup && !(prediction->setup = malloc(sizeof *prediction->setup)))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for setups");
    *prediction->setup = (pto_setup_t){0};
    pto_status_t status = pto_plan_create(&request, &plan, err);
    if (status == PTO_OK)
        status = pto_setup(plan, predictions->machine, prediction->setup, err);
    pto_plan_destroy(plan);
    return status;
}

pto_status_t pto_predictions_find_setups(pto_predictions_t *predictions, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int64_t i = 0; i < predictions->point_count * predictions->strategy_count && status == PTO_OK; i++)
        if (predictions->prediction[i].applicable)
            status = find_setup(predictions, i, err);
    return status;
}

const pto_prediction_t *pto_prediction_at(const pto_predictions_t *predictions, int64_t point, int strategy) {
    return &predictions->prediction[point * predictions->strategy_count + strategy];
}
