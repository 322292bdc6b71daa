/* Predicts a scenario: the price of each strategy at each point, by its cheapest plan (choose.c). */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "decide/candidates.h"
#include "decide/doubt.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "portolan/progress.h"
#include "price/nccl.h"

static pto_status_t predict_one(const pto_scenario_cell_t *cell, const pto_algorithm_t *likely, bool explain,
                                pto_prediction_t *prediction, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_error_t reason;
    pto_status_t status = pto_scenario_cell_choose(cell, likely, &plan, &prediction->price,
                                                   explain ? &prediction->explanation : NULL, &reason);
    if (pto_leaves_cell_out(status)) {
        memcpy(prediction->reason, reason.message, sizeof prediction->reason);
        return PTO_OK;
    }
    if (status != PTO_OK) {
        if (err)
            *err = reason;
        return status;
    }
    assert(plan);
    prediction->applicable = true;
    prediction->algorithm = plan->request.algorithm;
    prediction->chunks = plan->request.chunks;
    prediction->staged_members = plan->request.staged_members;
    prediction->library_unknown = prediction->price.seconds > 0 &&
                                  pto_library_is_unknown(cell->scenario, cell->machine, &plan->request);
    if (explain && prediction->library_unknown)
        status = pto_library_explain_unknown(cell->scenario, cell->machine, &plan->request,
                                             &prediction->explanation, err);
    if (explain) {
        prediction->has_energy = pto_energy(plan, cell->machine, &prediction->price, &prediction->explanation,
                                            &prediction->energy, &reason) == PTO_OK;
        if (!prediction->has_energy)
            memcpy(prediction->reason, reason.message, sizeof prediction->reason);
    }
    pto_plan_destroy(plan);
    return status;
}

/* Returns the algorithm of the strategy at the previous point or, at the first point, that of the last
 * strategy before it that has one; NULL: none. */
static const pto_algorithm_t *likely_algorithm(const pto_predictions_t *result, int64_t point, int strategy) {
    if (point > 0)
        return pto_prediction_at(result, point - 1, strategy)->algorithm;
    const pto_algorithm_t *algorithm = NULL;
    for (int i = strategy - 1; i >= 0 && !algorithm; i--)
        algorithm = pto_prediction_at(result, 0, i)->algorithm;
    return algorithm;
}

/* Returns whether some point has several nodes, and the machine has no costs of messages between nodes. */
static bool lacks_network(const pto_predictions_t *result) {
    const pto_machine_t *machine = result->machine;
    if (machine->messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].count > 0 || pto_nccl_has_network(machine))
        return false;
    bool several = false;
    for (int64_t point = 0; point < result->point_count; point++)
        several = several ||
                  pto_scenario_request(result->scenario, point, result->strategy[0], NULL).layout.nodes > 1;
    return several;
}

/* Predicts all cells, [point][strategy]. If the user interrupts it, the complete points remain; of the first
 * point, the strategies that were priced. */
static pto_status_t predict_all(pto_predictions_t *result, const pto_scenario_cell_t *cell, bool explain,
                                bool shown, pto_error_t *err) {
    bool any = false;
    int64_t point = 0;
    for (; point < result->point_count; point++)
        for (int i = 0; i < result->strategy_count; i++, cell++) {
            pto_prediction_t *prediction = &result->prediction[point * result->strategy_count + i];
            if (pto_is_stopped() && point > 0) {
                pto_predictions_cut(result, point);
                break;
            }
            if (pto_is_stopped()) {
                snprintf(prediction->reason, sizeof prediction->reason, "interrupted");
                pto_predictions_cut(result, 1);
                continue;
            }
            pto_status_t status =
                predict_one(cell, likely_algorithm(result, point, i), explain, prediction, err);
            if (status != PTO_OK)
                return status;
            any = any || prediction->applicable;
            if (shown)
                pto_progress_add(cell->work);
        }
    if (any)
        return PTO_OK;
    if (pto_is_stopped())
        return pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted before the first price");
    if (lacks_network(result))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "no strategy applies: machine %s has no network (messages.cpu.off_node or "
                             "messages.gpu.off_node), and the layout has several nodes",
                             result->machine->name);
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no strategy applies: %s",
                         result->prediction[0].reason);
}

static void find_cells(const pto_predictions_t *result, bool explain, pto_price_cache_t *cache,
                       pto_scenario_cell_t *cell) {
    for (int64_t point = 0; point < result->point_count; point++)
        for (int i = 0; i < result->strategy_count; i++, cell++) {
            *cell = pto_scenario_cell(result->scenario, result->machine, point, result->strategy[i]);
            cell->explained = explain;
            cell->cache = cache;
        }
}

static void keep_split(pto_predictions_t *result) {
    int kept = 0;
    for (int i = 0; i < result->strategy_count; i++)
        if (result->strategy[i]->splits)
            result->strategy[kept++] = result->strategy[i];
    result->strategy_count = kept;
}

/* How to predict. */
typedef struct {
    bool explain;
    bool has_work;   /* prices may take work, which is counted and limited */
    bool split_only; /* only strategies that split work over a GPU's processes */
} how_t;

static pto_status_t predict(const pto_scenario_t *scenario, const pto_machine_t *machine, how_t how,
                            pto_predictions_t *predictions, pto_error_t *err) {
    pto_predictions_t result = {.scenario = scenario,
                                .machine = machine,
                                .sweep = pto_scenario_sweep(scenario),
                                .point_count = pto_scenario_points(scenario)};
    result.point = pto_swept_series(scenario, result.sweep)->value;
    pto_price_cache_t cache = {0};
    pto_status_t status = pto_scenario_strategies(scenario, &result.strategy, &result.strategy_count, err);
    if (status != PTO_OK)
        return status;
    if (how.split_only)
        keep_split(&result);
    if (result.strategy_count == 0) {
        pto_predictions_fini(&result);
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no strategy splits work over a GPU's processes");
    }
    assert(result.point_count > 0);
    size_t cells = (size_t)result.strategy_count * (size_t)result.point_count;
    pto_scenario_cell_t *cell = calloc(cells, sizeof *cell);
    result.prediction = calloc(cells, sizeof *result.prediction);
    if (!result.prediction || !cell) {
        free(cell);
        pto_predictions_fini(&result);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for predictions");
    }
    find_cells(&result, how.explain, &cache, cell);
    if (how.has_work)
        result.work = pto_count_work(cell, result.point_count, result.strategy_count);
    status = pto_check_amount(scenario, "pricing takes the work of", result.work, 1, err);
    if (status == PTO_OK) {
        bool shown = pto_progress_begin("pricing", result.work, PTO_WORK_PER_SECOND);
        status = predict_all(&result, cell, how.explain, shown, err);
        if (shown)
            pto_progress_end();
    }
    free(cell);
    pto_price_cache_fini(&cache);
    if (status != PTO_OK) {
        pto_predictions_fini(&result);
        return status;
    }
    *predictions = result;
    return PTO_OK;
}

pto_status_t pto_predict(const pto_scenario_t *scenario, const pto_machine_t *machine, bool explain,
                         pto_predictions_t *predictions, pto_error_t *err) {
    return predict(scenario, machine, (how_t){.explain = explain, .has_work = true}, predictions, err);
}

pto_status_t pto_predict_between(const pto_predictions_t *swept, const pto_scenario_t *scenario,
                                 pto_predictions_t *predictions, pto_error_t *err) {
    bool has_work = swept->work > 0 || swept->sweep != PTO_SWEEP_BYTES;
    const how_t how = {.explain = swept->by != PTO_BY_TIME, .has_work = has_work};
    return predict(scenario, swept->machine, how, predictions, err);
}

/* Returns the key of a parameter that the price needs and the machine lacks, or NULL. A cost of sharing a
 * GPU's copies takes precedence. */
static const char *lacking_param(const pto_prediction_t *prediction) {
    const char *first = NULL;
    for (int i = 0; i < prediction->explanation.count; i++) {
        const pto_term_t *term = &prediction->explanation.term[i];
        if (!term->param && pto_text_begins(term->key, "copies.shared."))
            return term->key;
        if (!term->param && !first)
            first = term->key;
    }
    return first;
}

/* Compares the pick with that of more processes per GPU at a point, and keeps the point where they gain most.
 * A point counts only if the interval of the ratio of the two times excludes 1. */
static void compare_at(const pto_predictions_t *own, const pto_predictions_t *split, int64_t point,
                       pto_more_procs_t *more) {
    const int pick = pto_pick_at(own, point), other = pto_pick_at(split, point);
    if (pick < 0 || other < 0)
        return;
    const pto_prediction_t *picked = pto_prediction_at(own, point, pick);
    const pto_prediction_t *best = pto_prediction_at(split, point, other);
    const pto_doubt_t doubt = pto_doubt(best, picked, PTO_BY_TIME);
    const char *key = lacking_param(best);
    if (doubt.margin <= pto_deviations_95 * doubt.sd || (key && pto_text_begins(key, "copies.shared.")))
        return;
    const double seconds = best->price.seconds, pick_s = picked->price.seconds;
    const bool gains_more = seconds * more->pick_s < more->seconds * pick_s; /* a lower ratio of times */
    if (more->procs_per_gpu > 0 && !gains_more)
        return;
    *more = (pto_more_procs_t){.procs_per_gpu = split->scenario->layout.procs_per_gpu,
                               .point = point,
                               .strategy = split->strategy[other],
                               .seconds = seconds,
                               .pick_s = pick_s};
    snprintf(more->unpriced, sizeof more->unpriced, "%s", key ? key : "");
}

pto_status_t pto_predictions_find_more_procs(pto_predictions_t *predictions, pto_error_t *err) {
    const pto_machine_t *machine = predictions->machine;
    const how_t how = {.explain = true, .has_work = true, .split_only = true};
    pto_scenario_t scenario = *predictions->scenario;
    pto_predictions_t split = {.point_count = 0};
    pto_error_t fault = {.status = PTO_OK};
    const bool asks = scenario.procs_open && predictions->by == PTO_BY_TIME && !pto_is_stopped();
    const int64_t share = machine->node.gpus == 0 ? 0 : machine->node.cores / machine->node.gpus;
    if (!asks || share < 2)
        return PTO_OK;
    scenario.layout.procs_per_gpu = share;
    pto_status_t status = predict(&scenario, machine, how, &split, &fault);
    if (status == PTO_ERR_MEMORY)
        return pto_error_set(err, status, "%s", fault.message);
    if (status != PTO_OK)
        return PTO_OK;
    for (int64_t point = 0; point < predictions->point_count && point < split.point_count; point++)
        compare_at(predictions, &split, point, &predictions->more_procs);
    pto_predictions_fini(&split);
    return PTO_OK;
}
