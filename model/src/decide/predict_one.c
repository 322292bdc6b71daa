/* Predicts one cell that is given by names and numbers (pto_ask_t) instead of a scenario. */
#include "base/names.h"
#include "decide/candidates.h"
#include "portolan/pick.h"
#include "scenario/words.h"

pto_status_t pto_bind_cell(const pto_ask_t *cell, const pto_machine_t *machine, pto_scenario_t *scenario,
                           pto_error_t *err) {
    const char *collective = cell->collective ? cell->collective : "";
    const char *datatype = cell->datatype ? cell->datatype : pto_datatype_name(scenario->datatype);
    int found = 0, type = 0;
    pto_status_t status = pto_name_find(collective, "collective", pto_collective_at, &found, err);
    if (status == PTO_OK)
        status = pto_name_find(datatype, "datatype", pto_datatype_at, &type, err);
    if (status != PTO_OK)
        return status;
    scenario->collective = (pto_collective_t)found;
    scenario->datatype = (pto_datatype_t)type;
    scenario->layout.gpus_per_node = cell->gpus_per_node;
    scenario->layout.procs_per_gpu = cell->procs_per_gpu;
    scenario->procs_per_node = cell->procs_per_node;
    scenario->memory = cell->procs_per_node > 0 ? PTO_MEMORY_HOST : PTO_MEMORY_AUTO;
    status = scenario->counts.matrix ? PTO_OK : pto_series_one(cell->bytes, &scenario->bytes, err);
    if (status == PTO_OK)
        status = pto_series_one(cell->nodes ? cell->nodes : 1, &scenario->nodes, err);
    if (status == PTO_OK)
        status = pto_scenario_check(scenario, err);
    return status == PTO_OK ? pto_scenario_bind(scenario, machine, err) : status;
}

pto_status_t pto_choose_cheapest(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                 const char *strategy, pto_plan_t **plan, pto_price_t *price,
                                 pto_error_t *err) {
    const pto_strategy_t *only = NULL;
    pto_error_t first = {.status = PTO_OK}, reason;
    pto_status_t status = strategy ? pto_strategy_find(strategy, &only, err) : PTO_OK;
    for (int i = 0; i < (only ? 1 : pto_strategy_count()) && status == PTO_OK; i++) {
        const pto_strategy_t *tried = only ? only : pto_strategy_at(i);
        pto_plan_t *tried_plan = NULL;
        pto_price_t cost;
        if (!only && !(tried->collectives & 1u << scenario->collective))
            continue;
        pto_status_t result = pto_plan_choose(scenario, machine, 0, tried, &tried_plan, &cost, NULL, &reason);
        if (result != PTO_OK && first.status == PTO_OK)
            first = reason;
        if (result != PTO_OK && result != PTO_ERR_NOT_APPLICABLE) {
            first = reason;
            status = result;
        }
        bool cheaper = result == PTO_OK && (!*plan || cost.seconds < price->seconds);
        pto_plan_destroy(cheaper ? *plan : tried_plan);
        if (cheaper) {
            *plan = tried_plan;
            *price = cost;
        }
    }
    if (*plan && status == PTO_OK)
        return PTO_OK;
    if (err && first.status != PTO_OK)
        *err = first;
    return status != PTO_OK ? status : PTO_ERR_NOT_APPLICABLE;
}

pto_status_t pto_predict_one(const pto_machine_t *machine, const pto_ask_t *cell, pto_plan_t **plan,
                             pto_price_t *price, pto_error_t *err) {
    pto_scenario_t scenario;
    pto_plan_t *best = NULL;
    pto_price_t cost = {0};
    pto_scenario_init(&scenario);
    pto_status_t status = pto_bind_cell(cell, machine, &scenario, err);
    if (status == PTO_OK)
        status = pto_choose_cheapest(&scenario, machine, cell->strategy, &best, &cost, err);
    pto_scenario_fini(&scenario);
    if (status == PTO_OK && best) { /* equal counts; the scenario's must not be borrowed */
        best->request.counts = NULL;
        best->request.mapping = NULL;
    }
    if (status == PTO_OK && price)
        *price = cost;
    if (status == PTO_OK && plan)
        *plan = best;
    else
        pto_plan_destroy(best);
    return status;
}
