/* Chooses the measurements of a collectives.csv that can be drawn with a prediction (pto_plot_points_read),
 * for `predict --plot --measured` and `portolan report`. */
#include "predict_plot.h"

#include <stdlib.h>
#include <string.h>

#include "portolan/samples.h"

/* The measurements, and the predictions that they must match. */
typedef struct {
    const pto_collectives_t *collectives;
    const pto_predictions_t *predictions;
} matching_t;

/* Returns the prediction's index of a row's strategy; -1: it is not predicted. */
static int strategy_of(const matching_t *matching, const pto_collective_row_t *row) {
    for (int i = 0; i < matching->predictions->strategy_count; i++)
        if (strcmp(matching->predictions->strategy[i]->name, matching->collectives->name[row->strategy]) == 0)
            return i;
    return -1;
}

static bool is_same_layout(const matching_t *matching, const pto_collective_row_t *row,
                           const pto_strategy_t *strategy) {
    const pto_scenario_t *scenario = matching->predictions->scenario;
    const pto_layout_t *layout = &scenario->layout;
    return row->collective == scenario->collective && row->implementation == scenario->implementation &&
           row->gpus_per_node == layout->gpus_per_node && row->owners_per_gpu == layout->owners_per_gpu &&
           row->procs_per_gpu == (strategy->splits ? layout->procs_per_gpu : layout->owners_per_gpu);
}

/* A file may say that its split strategies did not perform the whole collective (docs/formats.md). */
static bool did_whole_collective(const matching_t *matching, const pto_strategy_t *strategy) {
    char key[64];
    snprintf(key, sizeof key, "caveat_%s_split",
             pto_implementation_name(matching->predictions->scenario->implementation));
    return !strategy->splits || !pto_collectives_provenance(matching->collectives, key);
}

/* Returns the swept value of a row (bytes or nodes); -1 if it is outside the sweep, or if the row differs
 * from the scenario in the value that is not swept. */
static int64_t swept_value(const pto_predictions_t *predictions, const pto_collective_row_t *row) {
    const pto_scenario_t *scenario = predictions->scenario;
    int64_t value = predictions->sweep == PTO_SWEEP_NODES ? row->nodes : row->bytes;
    bool differs = predictions->sweep == PTO_SWEEP_MESSAGES || /* which rows do not have */
                   (predictions->sweep == PTO_SWEEP_BYTES && row->nodes != scenario->layout.nodes) ||
                   (predictions->sweep == PTO_SWEEP_NODES && row->bytes != scenario->bytes.value[0]);
    bool inside = value >= predictions->point[0] && value <= predictions->point[predictions->point_count - 1];
    return inside && !differs ? value : -1;
}

/* Whether a row's algorithm is the predicted one at the swept value `at`. A row without an algorithm used the
 * library's, and matches. */
static bool is_same_algorithm(const matching_t *matching, const pto_collective_row_t *row, int strategy,
                              int64_t at) {
    const pto_predictions_t *predictions = matching->predictions;
    if (row->algorithm < 0)
        return true;
    for (int64_t point = 0; point < predictions->point_count; point++) {
        const pto_prediction_t *prediction = pto_prediction_at(predictions, point, strategy);
        if (predictions->point[point] == at && prediction->applicable)
            return strcmp(prediction->algorithm->name, matching->collectives->name[row->algorithm]) == 0;
    }
    return false;
}

/* Stores the measurements that match in `point`, which has room for all; returns their number. */
static size_t match(const matching_t *matching, pto_plot_point_t *point) {
    size_t count = 0;
    for (size_t i = 0; i < matching->collectives->count; i++) {
        const pto_collective_row_t *row = &matching->collectives->row[i];
        int strategy = strategy_of(matching, row);
        if (strategy < 0)
            continue;
        const pto_strategy_t *known = matching->predictions->strategy[strategy];
        int64_t at = swept_value(matching->predictions, row);
        if (at >= 0 && is_same_layout(matching, row, known) && did_whole_collective(matching, known) &&
            is_same_algorithm(matching, row, strategy, at))
            point[count++] = (pto_plot_point_t){strategy, at, row->seconds};
    }
    return count;
}

static pto_status_t none_found(const char *path, const pto_predictions_t *predictions, pto_error_t *err) {
    const pto_scenario_t *scenario = predictions->scenario;
    const pto_layout_t *layout = &scenario->layout;
    return pto_error_set(err, PTO_ERR_NOT_FOUND,
                         "%s holds no measurement of %s (%s) on %lld nodes x %lld GPUs with %lld processes a "
                         "GPU (%lld where a strategy splits) at the sizes asked for",
                         path, pto_collective_name(scenario->collective),
                         pto_implementation_name(scenario->implementation), (long long)layout->nodes,
                         (long long)layout->gpus_per_node, (long long)layout->owners_per_gpu,
                         (long long)layout->procs_per_gpu);
}

pto_status_t pto_plot_points_read(const char *path, const pto_predictions_t *predictions,
                                  pto_plot_point_t **point, size_t *point_count, pto_error_t *err) {
    pto_collectives_t collectives = {0};
    pto_status_t status = pto_collectives_read(path, &collectives, err);
    if (status != PTO_OK)
        return status;
    pto_plot_point_t *matches = calloc(collectives.count + 1, sizeof *matches);
    size_t count = 0;
    if (matches)
        count = match(&(matching_t){&collectives, predictions}, matches);
    else
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for measurements");
    if (matches && count == 0)
        status = none_found(path, predictions, err);
    pto_collectives_fini(&collectives);
    if (status != PTO_OK) {
        free(matches);
        return status;
    }
    *point = matches;
    *point_count = count;
    return PTO_OK;
}
