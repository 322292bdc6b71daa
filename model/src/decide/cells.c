/* The cells of a scenario (a strategy at a point of its sweep): their strategies, their requests for plans,
 * and the algorithms whose plans are their candidates. */
#include <stdlib.h>
#include <string.h>

#include "decide/candidates.h"
#include "portolan/pick.h"
#include "scenario/check.h"

static const pto_series_t *swept_series(const pto_scenario_t *scenario) {
    return pto_swept_series(scenario, pto_scenario_sweep(scenario));
}

int64_t pto_scenario_points(const pto_scenario_t *scenario) { return swept_series(scenario)->count; }

static int64_t series_at(const pto_series_t *series, int64_t point) {
    if (series->count == 0)
        return 0;
    return series->value[series->count > 1 ? point : 0];
}

pto_request_t pto_scenario_request(const pto_scenario_t *scenario, int64_t point,
                                   const pto_strategy_t *strategy, const pto_algorithm_t *algorithm) {
    pto_request_t request = {.layout = scenario->layout,
                             .collective = scenario->collective,
                             .implementation = scenario->implementation,
                             .split = pto_scenario_split(scenario),
                             .datatype = scenario->datatype,
                             .bytes = series_at(&scenario->bytes, point),
                             .messages = series_at(&scenario->messages, point),
                             .unique_bytes = scenario->unique_bytes,
                             .counts = &scenario->counts,
                             .mapping = &scenario->mapping,
                             .ends = scenario->ends,
                             .halo = scenario->halo,
                             .in_place = scenario->in_place,
                             .chunks = strategy && strategy->chunked ? scenario->chunks : 0,
                             .strategy = strategy,
                             .algorithm = algorithm,
                             .by_library = scenario->implementation == PTO_IMPLEMENTATION_LIBRARY &&
                                           pto_collective_is_in_mpi(scenario->collective) &&
                                           !(strategy && strategy->by_hand)};
    request.layout.nodes = series_at(&scenario->nodes, point);
    if (strategy && strategy->stages)
        request.staged_members =
            (pto_staged_t){scenario->staged_members.in > 0 ? scenario->staged_members.in : 0,
                           scenario->staged_members.out > 0 ? scenario->staged_members.out : 0};
    return request;
}

pto_status_t pto_scenario_strategies(const pto_scenario_t *scenario, const pto_strategy_t ***strategy,
                                     int *strategy_count, pto_error_t *err) {
    int room = scenario->strategy_count > 0 ? scenario->strategy_count : pto_strategy_count();
    const pto_strategy_t **list = calloc((size_t)room, sizeof *list);
    if (!list)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for strategies");
    int found = 0;
    for (int i = 0; i < scenario->strategy_count; i++) {
        pto_error_t cause;
        pto_status_t status = pto_strategy_find(scenario->strategy[i], &list[found++], &cause);
        if (status != PTO_OK) {
            free(list);
            return pto_scenario_refuse(scenario, PTO_FIELD_STRATEGIES, status, err, "%s", cause.message);
        }
    }
    for (int i = 0; i < pto_strategy_count() && scenario->strategy_count == 0; i++)
        if (!pto_strategy_at(i)->fixed && pto_strategy_at(i)->in_host == scenario->layout.in_host &&
            pto_strategy_at(i)->collectives & 1u << scenario->collective)
            list[found++] = pto_strategy_at(i);
    if (found == 0) {
        free(list);
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "no strategy supports %s",
                             pto_collective_name(scenario->collective));
    }
    *strategy = list;
    *strategy_count = found;
    return PTO_OK;
}

pto_scenario_cell_t pto_scenario_cell(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                      int64_t point, const pto_strategy_t *strategy) {
    pto_scenario_cell_t cell = {.scenario = scenario,
                                .machine = machine,
                                .request = pto_scenario_request(scenario, point, strategy, NULL)};
    if (strategy->collectives & 1u << scenario->collective)
        cell.algorithm = pto_library_algorithm(scenario, machine, &cell.request);
    return cell;
}

bool pto_scenario_cell_tries(const pto_scenario_cell_t *cell, const pto_algorithm_t *algorithm) {
    const pto_request_t *request = &cell->request;
    if (!(request->strategy->collectives & algorithm->collectives & 1u << request->collective))
        return false;
    if (cell->algorithm)
        return strcmp(cell->algorithm, algorithm->name) == 0;
    return !algorithm->only_named &&
           !(algorithm->shares_host && pto_library_is_unknown(cell->scenario, cell->machine, request));
}
