/* Simulates a scenario: the plans of all strategies at all points, on several threads. The simulated times
 * replace the prices of its predictions. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "decide/candidates.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "portolan/progress.h"
#include "portolan/strategy.h"
#include "simulate/size.h"

/* One plan to be simulated. */
typedef struct {
    int64_t cell;
    pto_plan_t *plan;
    pto_extrapolation_t extrapolated; /* of its price */
    pto_status_t status;
    pto_error_t err;
    pto_simulation_t simulation;
} run_t;

/* The plans of all cells, in the order of the cells, and the reason of each cell that has none. Cell
 * point * strategy_count + strategy is a strategy at a point. */
typedef struct {
    const pto_predictions_t *predictions;
    pto_simulate_options_t options;
    pto_scenario_t named; /* the scenario, naming an algorithm: plans borrow its byte counts and mapping */
    int64_t cells;
    int64_t used; /* of options.limit */
    bool shown;   /* progress is shown */
    run_t *run;
    int64_t run_count;
    size_t run_capacity;
    pto_status_t *status; /* of each cell, and its reason */
    pto_error_t *reason;
} batch_t;

static pto_status_t add_run(batch_t *batch, int64_t cell, pto_plan_t *plan, pto_extrapolation_t extrapolated,
                            pto_error_t *err) {
    if (!PTO_RESERVE(batch->run, batch->run_capacity, batch->run_count + 1)) {
        pto_plan_destroy(plan);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for simulations");
    }
    batch->run[batch->run_count++] =
        (run_t){.cell = cell, .plan = plan, .extrapolated = extrapolated, .status = PTO_ERR_INTERRUPTED};
    return PTO_OK;
}

/* Adds the plan of a cell. */
static pto_status_t add_plan(batch_t *batch, const pto_scenario_t *scenario, int64_t cell, pto_error_t *err) {
    const pto_predictions_t *predictions = batch->predictions;
    const pto_strategy_t *strategy = predictions->strategy[cell % predictions->strategy_count];
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_status_t status = pto_plan_choose(scenario, predictions->machine, cell / predictions->strategy_count,
                                          strategy, &plan, &price, NULL, err);
    if (status == PTO_OK)
        status = pto_simulate_check_size(plan, predictions->machine, &batch->options, &batch->used, err);
    if (status == PTO_OK)
        return add_run(batch, cell, plan, price.extrapolated, err);
    pto_plan_destroy(plan);
    return status;
}

/* Checks the plans of all algorithms against the limit. The best algorithm is known only if all are
 * simulated, so a single plan above the limit excludes the cell. */
static pto_status_t check_sizes(const batch_t *batch, int64_t cell, pto_error_t *err) {
    const pto_predictions_t *predictions = batch->predictions;
    const pto_scenario_t *scenario = predictions->scenario;
    const pto_strategy_t *strategy = predictions->strategy[cell % predictions->strategy_count];
    pto_status_t status = PTO_OK;
    int64_t used = batch->used;
    for (int i = 0; i < pto_algorithm_count() && status == PTO_OK; i++) {
        pto_plan_t *plan = NULL;
        pto_request_t request =
            pto_scenario_request(scenario, cell / predictions->strategy_count, strategy, pto_algorithm_at(i));
        if (!(pto_strategy_with(strategy, request.algorithm) & 1u << scenario->collective) ||
            pto_plan_create(&request, &plan, NULL) != PTO_OK)
            continue;
        status = pto_simulate_check_size(plan, predictions->machine, &batch->options, &used, err);
        pto_plan_destroy(plan);
    }
    return status;
}

/* Adds the plans of all algorithms of the collective, each by its name. */
static pto_status_t add_algorithms(batch_t *batch, const pto_scenario_t *scenario, int64_t cell,
                                   pto_error_t *err) {
    bool refused = false, any = false;
    pto_status_t sizes = check_sizes(batch, cell, err);
    if (sizes != PTO_OK)
        return sizes;
    batch->named = *scenario;
    batch->named.library = (pto_library_choice_t){0};
    for (int i = 0; i < pto_algorithm_count(); i++) {
        if (!(pto_algorithm_at(i)->collectives & 1u << scenario->collective) ||
            pto_algorithm_at(i)->only_named)
            continue;
        char name[64];
        pto_error_t reason;
        size_t length = strlen(pto_algorithm_at(i)->name);
        memcpy(name, pto_algorithm_at(i)->name, length + 1);
        batch->named.library.name = name;
        pto_status_t status = add_plan(batch, &batch->named, cell, &reason);
        batch->named.library.name = NULL;
        if (status != PTO_OK && (!refused || status != PTO_ERR_NOT_APPLICABLE))
            *err = reason;
        if (status != PTO_OK && status != PTO_ERR_NOT_APPLICABLE)
            return status;
        refused = refused || status != PTO_OK;
        any = any || status == PTO_OK;
    }
    return any ? PTO_OK : PTO_ERR_NOT_APPLICABLE;
}

/* Adds the plans of a cell. If one is too large, those of the cell that were added before are dropped. */
static void add_cell(batch_t *batch, int64_t cell) {
    const pto_scenario_t *scenario = batch->predictions->scenario;
    bool best = scenario->library.best && scenario->implementation == PTO_IMPLEMENTATION_LIBRARY &&
                pto_collective_is_in_mpi(scenario->collective);
    int64_t before = batch->run_count;
    batch->reason[cell] = (pto_error_t){0};
    pto_error_t *reason = &batch->reason[cell];
    batch->status[cell] =
        best ? add_algorithms(batch, scenario, cell, reason) : add_plan(batch, scenario, cell, reason);
    while (batch->status[cell] != PTO_OK && batch->run_count > before)
        pto_plan_destroy(batch->run[--batch->run_count].plan);
}

static void announce(const batch_t *batch, const run_t *run) {
    if (!batch->options.begin)
        return;
    pto_simulate_progress_t progress = {.cell = run->cell,
                                        .cells = batch->cells,
                                        .strategy = run->plan->request.strategy->name,
                                        .algorithm = run->plan->request.algorithm->name,
                                        .messages = pto_plan_size(run->plan).messages};
    batch->options.begin(&progress);
}

/* Simulates all plans in order. Threads share nothing that changes, so their number changes no result. */
static void simulate_runs(batch_t *batch) {
    int64_t next = 0;
    bool failed = false;
#pragma omp parallel if (batch->run_count > 1)
    for (bool more = true; more;) {
        run_t *run = NULL;
#pragma omp critical
        if (next < batch->run_count && !failed && !pto_is_stopped()) {
            run = &batch->run[next++];
            announce(batch, run);
        }
        more = run != NULL;
        if (!more)
            continue;
        run->status = pto_simulate(run->plan, batch->predictions->machine, &batch->options, &run->simulation,
                                   &run->err);
        if (batch->shown)
            pto_progress_add(pto_plan_size(run->plan).messages);
        if (run->status != PTO_OK && !pto_leaves_cell_out(run->status)) {
#pragma omp critical
            failed = true;
        }
    }
}

/* Returns the run of a cell with the fastest simulation. Returns NULL, and sets the cell's status and reason,
 * if a run failed for another reason than that it does not apply, or if none applies. */
static const run_t *fastest(batch_t *batch, int64_t cell) {
    const run_t *best = NULL, *refused = NULL;
    for (int64_t i = 0; i < batch->run_count; i++) {
        const run_t *run = &batch->run[i];
        if (run->cell != cell)
            continue;
        if (run->status != PTO_OK && (!refused || run->status != PTO_ERR_NOT_APPLICABLE))
            refused = run;
        else if (run->status == PTO_OK && (!best || run->simulation.seconds < best->simulation.seconds))
            best = run;
    }
    bool fails = refused && (!best || refused->status != PTO_ERR_NOT_APPLICABLE);
    if (fails) {
        batch->status[cell] = refused->status;
        batch->reason[cell] = refused->err;
    }
    return fails ? NULL : best;
}

/* Fills in a cell's prediction, or its reason. `options` are the caller's, perhaps with a visitor. */
static void finish_cell(batch_t *batch, int64_t cell, const pto_simulate_options_t *options,
                        pto_prediction_t *prediction, pto_simulation_t *simulation) {
    const run_t *best = batch->status[cell] == PTO_OK ? fastest(batch, cell) : NULL;
    prediction->applicable = best != NULL;
    if (!best) {
        memcpy(prediction->reason, batch->reason[cell].message, sizeof prediction->reason);
        return;
    }
    prediction->algorithm = best->plan->request.algorithm;
    prediction->chunks = best->plan->request.chunks;
    prediction->staged_members = best->plan->request.staged_members;
    prediction->price =
        (pto_price_t){.seconds = best->simulation.seconds, .extrapolated = best->extrapolated};
    *simulation = best->simulation;
    if (options && options->visit)
        batch->status[cell] =
            pto_simulate(best->plan, batch->predictions->machine, options, simulation, &batch->reason[cell]);
}

/* An estimate, for progress. */
enum { MESSAGES_PER_SECOND = 1 << 21 };

static void simulate_with_progress(batch_t *batch) {
    int64_t messages = 0;
    for (int64_t i = 0; i < batch->run_count; i++)
        pto_error_set(&batch->run[i].err, PTO_ERR_INTERRUPTED, "interrupted");
    for (int64_t i = 0; i < batch->run_count; i++)
        messages += pto_plan_size(batch->run[i].plan).messages;
    batch->shown = pto_progress_begin("simulating", messages, MESSAGES_PER_SECOND);
    simulate_runs(batch);
    if (batch->shown)
        pto_progress_end();
}

/* Returns the number of cells of complete points; at least those of the first point. */
static int64_t cells_done(const batch_t *batch) {
    int64_t cells = batch->cells, strategies = batch->predictions->strategy_count;
    for (int64_t i = 0; i < batch->run_count; i++)
        if (batch->run[i].status == PTO_ERR_INTERRUPTED && batch->run[i].cell < cells)
            cells = batch->run[i].cell;
    return cells < strategies ? strategies : cells / strategies * strategies;
}

/* Simulates all cells; if all are excluded, fails with the first one's reason. */
static pto_status_t simulate_cells(batch_t *batch, const pto_simulate_options_t *options,
                                   pto_simulation_t *list, pto_error_t *err) {
    const pto_error_t *first = NULL;
    bool any = false;
    for (int64_t cell = 0; cell < batch->cells; cell++)
        add_cell(batch, cell);
    simulate_with_progress(batch);
    if (pto_is_stopped())
        batch->cells = cells_done(batch);
    for (int64_t cell = 0; cell < batch->cells; cell++) {
        finish_cell(batch, cell, options, &batch->predictions->prediction[cell], &list[cell]);
        pto_status_t status = batch->status[cell];
        bool fails = status != PTO_OK && !pto_leaves_cell_out(status);
        if (fails || (status != PTO_OK && !first))
            first = &batch->reason[cell];
        any = any || status == PTO_OK;
        if (fails) {
            any = false;
            break;
        }
    }
    if (!any && err && first)
        *err = *first;
    return any || !first ? PTO_OK : first->status;
}

static void free_batch(batch_t *batch) {
    for (int64_t i = 0; i < batch->run_count; i++)
        pto_plan_destroy(batch->run[i].plan);
    free(batch->run);
    free(batch->status);
    free(batch->reason);
}

/* The explanations keep the parameters that the machine lacks. */
pto_status_t pto_simulate_scenario(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                   const pto_simulate_options_t *options, pto_predictions_t *predictions,
                                   pto_simulation_t **simulation, pto_error_t *err) {
    pto_predictions_t result;
    pto_status_t status = pto_predict(scenario, machine, true, &result, err);
    if (status != PTO_OK)
        return status;
    int64_t cells = result.point_count * result.strategy_count;
    batch_t batch = {.predictions = &result, .cells = cells};
    if (options) /* without a visitor, since plans that are only tried report no spans */
        batch.options = (pto_simulate_options_t){.limit = options->limit, .begin = options->begin};
    batch.status = calloc((size_t)cells, sizeof *batch.status);
    batch.reason = calloc((size_t)cells, sizeof *batch.reason);
    pto_simulation_t *list = calloc((size_t)cells, sizeof *list);
    if (!list || !batch.status || !batch.reason)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for simulations");
    if (status == PTO_OK && batch.status && batch.reason)
        status = simulate_cells(&batch, options, list, err);
    free_batch(&batch);
    if (status != PTO_OK) {
        free(list);
        pto_predictions_fini(&result);
        return status;
    }
    if (batch.cells < cells)
        pto_predictions_cut(&result, batch.cells / result.strategy_count);
    *predictions = result;
    *simulation = list;
    return PTO_OK;
}
