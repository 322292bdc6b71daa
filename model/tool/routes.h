/* What a scenario asks for, one by one: its points and strategies. */
#ifndef PTO_ROUTES_H
#define PTO_ROUTES_H

#include "portolan/pick.h"

int64_t pto_scenario_points(const pto_scenario_t *scenario);

/* The strategies that the scenario names, else all that know its collective; `*strategy` is the caller's to
 * free(). Errors: PTO_ERR_NOT_FOUND, PTO_ERR_MEMORY. */
pto_status_t pto_scenario_strategies(const pto_scenario_t *scenario, const pto_strategy_t ***strategy,
                                     int *count, pto_error_t *err);

#endif
