/* Simulating a scenario: all its strategies at all its points, in the form that predictions have. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan_internal.h"
#include "portolan/simulate.h"

/* One strategy at one point, and the fastest plan seen for it so far. */
typedef struct {
    const pto_machine_t *machine;
    pto_simulate_options_t options; /* nobody visits the spans of plans that are only tried */
    pto_prediction_t *prediction;
    pto_simulation_t *simulation;
    pto_plan_t *plan;
} cell_t;

/* The plan in force for a scenario, simulated. */
static pto_status_t try_plan(const pto_scenario_t *scenario, int64_t point, const pto_strategy_t *strategy,
                             cell_t *cell, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_simulation_t simulation;
    pto_status_t status = pto_plan_choose(scenario, cell->machine, point, strategy, &plan, &price, NULL, err);
    if (status == PTO_OK)
        status = pto_simulate(plan, cell->machine, &cell->options, &simulation, err);
    if (status != PTO_OK || (cell->plan && simulation.seconds >= cell->prediction->price.seconds)) {
        pto_plan_destroy(plan);
        return status;
    }
    pto_plan_destroy(cell->plan);
    cell->plan = plan;
    cell->prediction->applicable = true;
    cell->prediction->algorithm = plan->request.algorithm;
    cell->prediction->price = (pto_price_t){.seconds = simulation.seconds};
    *cell->simulation = simulation;
    return PTO_OK;
}

/* Every algorithm of the collective by name, the one whose simulation is the fastest staying. */
static pto_status_t try_algorithms(const pto_scenario_t *scenario, int64_t point,
                                   const pto_strategy_t *strategy, cell_t *cell, pto_error_t *err) {
    pto_scenario_t named = *scenario;
    bool refused = false;
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

static pto_status_t simulate_cell(const pto_predictions_t *predictions, int64_t point, int strategy,
                                  const pto_simulate_options_t *options, pto_simulation_t *simulation,
                                  pto_error_t *err) {
    const pto_scenario_t *scenario = predictions->scenario;
    pto_prediction_t *prediction = &predictions->prediction[point * predictions->strategy_count + strategy];
    cell_t cell = {.machine = predictions->machine, .prediction = prediction, .simulation = simulation};
    pto_error_t reason = {0};
    bool best = scenario->library.best && scenario->implementation == PTO_IMPLEMENTATION_LIBRARY &&
                pto_collective_is_in_mpi(scenario->collective);
    cell.options.limit = options ? options->limit : 0;
    prediction->applicable = false;
    pto_status_t status =
        (best ? try_algorithms : try_plan)(scenario, point, predictions->strategy[strategy], &cell, &reason);
    if (status == PTO_OK && options && options->visit)
        status = pto_simulate(cell.plan, cell.machine, options, simulation, &reason);
    pto_plan_destroy(cell.plan);
    if (status == PTO_ERR_NOT_APPLICABLE) {
        memcpy(prediction->reason, reason.message, sizeof prediction->reason);
        return PTO_OK;
    }
    if (status != PTO_OK && err)
        *err = reason;
    return status;
}

/* The predictions' own cells are simulated over; what the machine file lacks stays in their explanations. */
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
    for (int64_t cell = 0; cell < cells && status == PTO_OK; cell++)
        status = simulate_cell(&made, cell / made.strategy_count, (int)(cell % made.strategy_count), options,
                               &list[cell], err);
    if (status != PTO_OK) {
        free(list);
        pto_predictions_fini(&made);
        return status;
    }
    *predictions = made;
    *simulation = list;
    return PTO_OK;
}
