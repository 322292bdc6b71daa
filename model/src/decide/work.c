/* What pricing a scenario takes, counted before it begins: prices by class take next to nothing, those rank
 * by rank a microsecond for each message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "decide/candidates.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"

/* Messages that share no links take a quarter of the time. */
enum { APART_A_UNIT = 4 };

enum { REFUSED = -1 };

/* Of one plan; REFUSED: there is none, or it is not priced. */
static int64_t plan_work(const pto_request_t *request, const pto_machine_t *machine) {
    pto_plan_t *plan = NULL;
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return REFUSED;
    int64_t work = pto_price_check_size(plan, NULL) == PTO_OK ? pto_price_work(plan) : REFUSED;
    if (work > 0 && pto_plan_has_tables(plan) && pto_messages_are_apart(machine, &request->layout))
        work = work / APART_A_UNIT + (work % APART_A_UNIT > 0);
    pto_plan_destroy(plan);
    return work;
}

/* Numbers of chunks are not counted: the search for one ends early. `none`: of each algorithm, whether it is
 * known to have no work; NULL: of none. */
static int64_t cell_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                         const pto_strategy_t *strategy, bool *none) {
    pto_request_t request = pto_scenario_request(scenario, point, strategy, NULL);
    int64_t work = 0;
    if (!(strategy->collectives & 1u << request.collective))
        return 0;
    const char *name = pto_library_algorithm(scenario, machine, &request);
    int64_t prices = strategy->stages ? 2 * strategy->stages(&request) : 1; /* of numbers that stage */
    for (int i = 0; i < pto_algorithm_count(); i++) {
        int64_t more;
        request.algorithm = pto_algorithm_at(i);
        if (!(request.algorithm->collectives & 1u << request.collective) ||
            (name ? strcmp(name, request.algorithm->name) != 0 : request.algorithm->only_named) ||
            (none && none[i]))
            continue;
        int64_t once = plan_work(&request, machine);
        if (none)
            none[i] = once == 0;
        if (once == REFUSED)
            continue;
        if (!pto_multiply(prices, once, &more) || !pto_add(work, more, &work))
            return INT64_MAX;
    }
    return work;
}

int64_t pto_cell_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                      const pto_strategy_t *strategy) {
    return cell_work(scenario, machine, point, strategy, NULL);
}

/* Plans of other sizes use their peers' memory or none, as those of the first one do: without work there,
 * they have none, and are not made here. */
int64_t pto_each_work(const pto_scenario_t *scenario, const pto_machine_t *machine,
                      const pto_strategy_t *const *strategy, int strategy_count, int64_t *each) {
    int64_t work = 0, points = pto_scenario_points(scenario);
    size_t algorithms = (size_t)pto_algorithm_count();
    bool alike = points > 1 && pto_scenario_sweep(scenario) == PTO_SWEEP_BYTES;
    bool *none = alike ? calloc((size_t)strategy_count * algorithms, sizeof *none) : NULL;
    for (int64_t point = 0; point < points; point++)
        for (int i = 0; i < strategy_count; i++, each++) {
            *each =
                cell_work(scenario, machine, point, strategy[i], none ? none + (size_t)i * algorithms : NULL);
            if (!pto_add(work, *each, &work))
                work = INT64_MAX;
        }
    free(none);
    return work;
}

/* Of all strategies at one point. */
static pto_status_t point_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                               int64_t *work, pto_error_t *err) {
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    pto_status_t status = pto_scenario_strategies(scenario, &strategy, &count, err);
    *work = 0;
    for (int i = 0; i < count && status == PTO_OK; i++)
        if (!pto_add(*work, pto_cell_work(scenario, machine, point, strategy[i]), work))
            *work = INT64_MAX;
    free(strategy);
    return status;
}

static int64_t scenario_work(const pto_scenario_t *scenario, const pto_machine_t *machine) {
    int64_t work = 0, more;
    for (int64_t point = 0; point < pto_scenario_points(scenario); point++)
        if (point_work(scenario, machine, point, &more, NULL) == PTO_OK && !pto_add(work, more, &work))
            return INT64_MAX;
    return work;
}

int64_t pto_scenario_work_limit(const pto_scenario_t *scenario) {
    return scenario->work_limit > 0 ? scenario->work_limit : PTO_WORK_LIMIT;
}

pto_status_t pto_check_amount(const pto_scenario_t *scenario, const char *what, int64_t each, int64_t times,
                              pto_error_t *err) {
    int64_t limit = pto_scenario_work_limit(scenario);
    if (each <= limit / times)
        return PTO_OK;
    char repeated[32] = "";
    if (times > 1)
        snprintf(repeated, sizeof repeated, ", %lld times", (long long)times);
    return pto_error_set(err, PTO_ERR_TOO_LARGE,
                         "%s %lld messages or copies one by one%s; the limit is %lld in all; ask for fewer "
                         "sizes, strategies or processes, or raise the limit (--limit N)",
                         what, (long long)each, repeated, (long long)limit);
}

pto_status_t pto_check_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t times,
                            int64_t *work, pto_error_t *err) {
    int64_t each = scenario_work(scenario, machine);
    if (work)
        *work = each;
    return pto_check_amount(scenario, "pricing takes the work of", each, times, err);
}

pto_status_t pto_check_point_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                                  pto_error_t *err) {
    int64_t work;
    pto_status_t status = point_work(scenario, machine, point, &work, err);
    return status == PTO_OK ? pto_check_amount(scenario, "pricing takes the work of", work, 1, err) : status;
}
