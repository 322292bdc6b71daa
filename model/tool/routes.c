/* A scenario's points and strategies. */
#include "routes.h"

#include <stdlib.h>

int64_t pto_scenario_points(const pto_scenario_t *scenario) {
    const pto_series_t *series = &scenario->bytes;
    if (pto_scenario_sweep(scenario) == PTO_SWEEP_NODES)
        series = &scenario->nodes;
    else if (pto_scenario_sweep(scenario) == PTO_SWEEP_MESSAGES)
        series = &scenario->messages;
    return series->count > 0 ? series->count : 1;
}

pto_status_t pto_scenario_strategies(const pto_scenario_t *scenario, const pto_strategy_t ***strategy,
                                     int *count, pto_error_t *err) {
    int room = scenario->strategy_count > 0 ? scenario->strategy_count : pto_strategy_count();
    const pto_strategy_t **list = calloc((size_t)room, sizeof *list);
    if (!list)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status = PTO_OK;
    int found = 0;
    for (int i = 0; i < scenario->strategy_count && status == PTO_OK; i++)
        status = pto_strategy_find(scenario->strategy[i], &list[found++], err);
    for (int i = 0; i < pto_strategy_count() && status == PTO_OK && scenario->strategy_count == 0; i++)
        if (pto_strategy_at(i)->collectives & 1u << scenario->collective)
            list[found++] = pto_strategy_at(i);
    if (status != PTO_OK) {
        free(list);
        return status;
    }
    *strategy = list;
    *count = found;
    return PTO_OK;
}
