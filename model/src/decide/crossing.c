/* Finds where the pick changes between two neighboring points of a sweep with different picks, by bisection.
 * A third strategy may be picked in between, so there may be several crossings in one gap between points. */
#include <stdlib.h>

#include "decide/candidates.h"
#include "portolan/pick.h"
#include "scenario/check.h"

/* A gap is the interval between two neighboring points. A crossing is located to value / PRECISION. The last
 * of CROSSINGS_MAX crossings of a gap is not located: it is reported at the point above the gap. */
enum { PRECISION = 256, CROSSINGS_MAX = 8 };

/* The scenario of the sweep at one value. It borrows all but that value. */
typedef struct {
    const pto_predictions_t *swept;
    pto_scenario_t scenario;
    int64_t value;
} probe_t;

/* Finds the pick at a value of the sweep; -1 if no strategy applies there. */
static pto_status_t pick_at(probe_t *probe, int64_t value, int *winner, pto_error_t *err) {
    pto_predictions_t predictions;
    const pto_predictions_t *swept = probe->swept;
    probe->value = value;
    probe->scenario = *swept->scenario;
    *pto_swept_series(&probe->scenario, swept->sweep) = (pto_series_t){.count = 1, .value = &probe->value};
    if (swept->sweep == PTO_SWEEP_NODES)
        probe->scenario.layout.nodes = value;
    pto_error_t fault = {.status = PTO_OK};
    *winner = -1;
    pto_status_t status = pto_scenario_check_layout(&probe->scenario, &probe->scenario.layout, &fault);
    if (status == PTO_OK)
        status = pto_predict_between(swept, &probe->scenario, &predictions, &fault);
    if (status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_RANGE)
        return PTO_OK;
    if (status != PTO_OK) {
        if (err)
            *err = fault;
        return status;
    }
    predictions.by = swept->by;
    *winner = pto_pick_at(&predictions, 0);
    pto_predictions_fini(&predictions);
    return PTO_OK;
}

/* Returns the distance between possible values of the sweep: vectors have whole elements. */
static int64_t step_of(const pto_predictions_t *predictions) {
    const pto_scenario_t *scenario = predictions->scenario;
    bool whole = predictions->sweep == PTO_SWEEP_BYTES && pto_collective_reduces(scenario->collective);
    return whole ? pto_datatype_bytes(scenario->datatype) : 1;
}

/* Moves `found` down to the crossing above `low`. Throughout, the pick at `low` is `low_winner`, and the pick
 * at found->at is found->winner, another one. */
static pto_status_t bisect(probe_t *probe, int64_t low, int low_winner, pto_crossing_t *found,
                           pto_error_t *err) {
    const int64_t step = step_of(probe->swept);
    while (found->at - low > step && found->at - low > low / PRECISION) {
        int64_t middle = low + (found->at - low) / 2 / step * step;
        int winner;
        if (middle <= low)
            break;
        pto_status_t status = pick_at(probe, middle, &winner, err);
        if (status != PTO_OK)
            return status;
        if (winner == low_winner) {
            low = middle;
        } else {
            found->at = middle;
            found->winner = winner;
        }
    }
    return PTO_OK;
}

/* Finds the crossings between points `gap` and `gap` + 1. Each search starts at the crossing found before. */
static pto_status_t cross_gap(probe_t *probe, int64_t gap, pto_crossing_t *crossing, int64_t *count,
                              pto_error_t *err) {
    const pto_predictions_t *swept = probe->swept;
    int64_t low = swept->point[gap], high = swept->point[gap + 1];
    int low_winner = pto_pick_at(swept, gap), last = pto_pick_at(swept, gap + 1);
    for (int i = 0; i < CROSSINGS_MAX && low_winner != last; i++) {
        pto_crossing_t *found = &crossing[*count];
        *found = (pto_crossing_t){.at = high, .winner = last, .gap = gap};
        pto_status_t status = i < CROSSINGS_MAX - 1 ? bisect(probe, low, low_winner, found, err) : PTO_OK;
        if (status != PTO_OK)
            return status;
        low = found->at;
        low_winner = found->winner;
        ++*count;
    }
    return PTO_OK;
}

pto_status_t pto_crossings(const pto_predictions_t *predictions, pto_crossing_t **crossing, int64_t *count,
                           pto_error_t *err) {
    enum { PRICES_PER_GAP = 10 }; /* estimated: a bisection halves a gap about log2(PRECISION) times */
    int64_t gaps = 0, result_count = 0;
    for (int64_t i = 0; i + 1 < predictions->point_count; i++)
        gaps += pto_pick_at(predictions, i) != pto_pick_at(predictions, i + 1);
    pto_status_t status =
        pto_check_amount(predictions->scenario, "pricing takes the work of", predictions->work,
                         1 + gaps * PRICES_PER_GAP / predictions->point_count, err);
    if (status != PTO_OK)
        return status;
    pto_crossing_t *result = calloc((size_t)(gaps * CROSSINGS_MAX + 1), sizeof *result);
    if (!result)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for crossings");
    probe_t probe = {.swept = predictions};
    for (int64_t i = 0; i + 1 < predictions->point_count && status == PTO_OK; i++)
        if (pto_pick_at(predictions, i) != pto_pick_at(predictions, i + 1))
            status = cross_gap(&probe, i, result, &result_count, err);
    if (status != PTO_OK) {
        free(result);
        return status;
    }
    *crossing = result;
    *count = result_count;
    return PTO_OK;
}
