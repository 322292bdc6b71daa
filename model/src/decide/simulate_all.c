/* Simulating a scenario: all strategies at all points, in the form of predictions. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"

/* One strategy at one point, and the fastest plan seen for it so far. */
typedef struct {
    const pto_machine_t *machine;
    pto_simulate_options_t options; /* without a visitor, since plans that are only tried report no spans */
    int64_t *used;                  /* of the limit, by all cells so far */
    int64_t number;
    int64_t cells;
    pto_prediction_t *prediction;
    pto_simulation_t *simulation;
    pto_plan_t *plan;
} cell_t;

static void announce(const cell_t *cell, const pto_plan_t *plan) {
    if (!cell->options.begin)
        return;
    pto_simulate_progress_t progress = {.cell = cell->number,
                                        .cells = cell->cells,
                                        .strategy = plan->request.strategy->name,
                                        .algorithm = plan->request.algorithm->name,
                                        .messages = pto_plan_size(plan).messages};
    cell->options.begin(&progress);
}

/* Simulate the plan that a scenario uses. */
static pto_status_t try_plan(const pto_scenario_t *scenario, int64_t point, const pto_strategy_t *strategy,
                             cell_t *cell, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_simulation_t simulation;
    pto_status_t status = pto_plan_choose(scenario, cell->machine, point, strategy, &plan, &price, NULL, err);
    if (status == PTO_OK)
        status = pto_simulate_check_size(plan, cell->options.limit, cell->used, err);
    if (status == PTO_OK) {
        announce(cell, plan);
        status = pto_simulate(plan, cell->machine, &cell->options, &simulation, err);
    }
    if (status != PTO_OK || (cell->plan && simulation.seconds >= cell->prediction->price.seconds)) {
        pto_plan_destroy(plan);
        return status;
    }
    pto_plan_destroy(cell->plan);
    cell->plan = plan;
    cell->prediction->applicable = true;
    cell->prediction->algorithm = plan->request.algorithm;
    cell->prediction->chunks = plan->request.chunks;
    cell->prediction->staged_members = plan->request.staged_members;
    cell->prediction->price =
        (pto_price_t){.seconds = simulation.seconds, .extrapolated = price.extrapolated};
    *cell->simulation = simulation;
    return PTO_OK;
}

/* The best is known only if all are simulated: one plan above the limit excludes the others before any is
 * started. */
static pto_status_t check_sizes(const pto_scenario_t *scenario, int64_t point, const pto_strategy_t *strategy,
                                const cell_t *cell, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    int64_t used = *cell->used;
    for (int i = 0; i < pto_algorithm_count() && status == PTO_OK; i++) {
        pto_plan_t *plan = NULL;
        pto_request_t request = pto_scenario_request(scenario, point, strategy, pto_algorithm_at(i));
        if (!(pto_strategy_with(strategy, request.algorithm) & 1u << scenario->collective) ||
            pto_plan_create(&request, &plan, NULL) != PTO_OK)
            continue;
        status = pto_simulate_check_size(plan, cell->options.limit, &used, err);
        pto_plan_destroy(plan);
    }
    return status;
}

/* Try every algorithm of the collective by name, and keep the one with the fastest simulation. */
static pto_status_t try_algorithms(const pto_scenario_t *scenario, int64_t point,
                                   const pto_strategy_t *strategy, cell_t *cell, pto_error_t *err) {
    pto_scenario_t named = *scenario;
    bool refused = false;
    pto_status_t sizes = check_sizes(scenario, point, strategy, cell, err);
    if (sizes != PTO_OK)
        return sizes;
    named.library = (pto_library_choice_t){0};
    for (int i = 0; i < pto_algorithm_count(); i++) {
        if (!(pto_algorithm_at(i)->collectives & 1u << scenario->collective))
            continue;
        char name[64];
        pto_error_t reason;
        size_t length = strlen(pto_algorithm_at(i)->name);
        memcpy(name, pto_algorithm_at(i)->name, length + 1);
        named.library.name = name;
        pto_status_t status = try_plan(&named, point, strategy, cell, &reason);
        if (status != PTO_OK && status != PTO_ERR_NOT_APPLICABLE) {
            *err = reason;
            return status;
        }
        if (status != PTO_OK && !refused)
            *err = reason;
        refused = refused || status != PTO_OK;
    }
    return cell->plan ? PTO_OK : PTO_ERR_NOT_APPLICABLE;
}

/* A cell that is excluded keeps the reason. Returns the status that excluded it. */
static pto_status_t simulate_cell(const pto_predictions_t *predictions, int64_t number,
                                  const pto_simulate_options_t *options, int64_t *used,
                                  pto_simulation_t *simulation, pto_error_t *err) {
    const pto_scenario_t *scenario = predictions->scenario;
    int64_t point = number / predictions->strategy_count;
    const pto_strategy_t *strategy = predictions->strategy[number % predictions->strategy_count];
    pto_prediction_t *prediction = &predictions->prediction[number];
    cell_t cell = {.machine = predictions->machine,
                   .used = used,
                   .number = number,
                   .cells = predictions->point_count * predictions->strategy_count,
                   .prediction = prediction,
                   .simulation = simulation};
    pto_error_t reason = {0};
    bool best = scenario->library.best && scenario->implementation == PTO_IMPLEMENTATION_LIBRARY &&
                pto_collective_is_in_mpi(scenario->collective);
    if (options)
        cell.options = (pto_simulate_options_t){.limit = options->limit, .begin = options->begin};
    prediction->applicable = false;
    pto_status_t status = (best ? try_algorithms : try_plan)(scenario, point, strategy, &cell, &reason);
    if (status == PTO_OK && options && options->visit)
        status = pto_simulate(cell.plan, cell.machine, options, simulation, &reason);
    pto_plan_destroy(cell.plan);
    if (pto_leaves_cell_out(status)) {
        prediction->applicable = false;
        memcpy(prediction->reason, reason.message, sizeof prediction->reason);
    }
    if (status != PTO_OK)
        *err = reason;
    return status;
}

/* Simulate all cells; if every one is excluded, fail with the first one's reason. */
static pto_status_t simulate_cells(const pto_predictions_t *predictions,
                                   const pto_simulate_options_t *options, pto_simulation_t *list,
                                   pto_error_t *err) {
    int64_t cells = predictions->point_count * predictions->strategy_count;
    pto_error_t first = {0}, reason;
    bool any = false;
    int64_t used = 0;
    for (int64_t cell = 0; cell < cells; cell++) {
        pto_status_t status = simulate_cell(predictions, cell, options, &used, &list[cell], &reason);
        if (status != PTO_OK && first.status == PTO_OK)
            first = reason;
        any = any || status == PTO_OK;
        if (status != PTO_OK && !pto_leaves_cell_out(status)) {
            first = reason;
            any = false;
            break;
        }
    }
    if (!any && err)
        *err = first;
    return any ? PTO_OK : first.status;
}

/* The simulated times replace the predictions' prices; parameters that the machine lacks stay in their
 * explanations. */
pto_status_t pto_simulate_scenario(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                   const pto_simulate_options_t *options, pto_predictions_t *predictions,
                                   pto_simulation_t **simulation, pto_error_t *err) {
    pto_predictions_t made;
    pto_status_t status = pto_predict(scenario, machine, true, &made, err);
    if (status != PTO_OK)
        return status;
    int64_t cells = made.point_count * made.strategy_count;
    pto_simulation_t *list = calloc((size_t)cells, sizeof *list);
    if (!list)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for simulations");
    if (status == PTO_OK)
        status = simulate_cells(&made, options, list, err);
    if (status != PTO_OK) {
        free(list);
        pto_predictions_fini(&made);
        return status;
    }
    *predictions = made;
    *simulation = list;
    return PTO_OK;
}
