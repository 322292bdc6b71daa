/* Estimates the work of pricing a scenario before it begins, so that it can be refused or its progress shown.
 * A plan with equal byte counts takes next to none: ranks that act alike are priced once. A plan with a table
 * of byte counts is priced rank by rank, in about a microsecond for each message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "decide/candidates.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"
#include "price/pricing.h"
#include "scenario/check.h"

/* A unit of work is about a microsecond: one message of a plan with a table of byte counts. Simpler items
 * take a fraction of a unit: */
enum {
    MESSAGES_PER_UNIT = 16, /* messages without shared links and latency; entries that are gathered by node */
    READS_PER_UNIT = 64,    /* entries read for rounds in which all pairs exchange messages (price/pairs.c) */
    ROUNDS_PER_UNIT = 128,  /* messages of these rounds, unless the price is explained */
    SUMS_PER_UNIT = 128     /* entries summed in stages of all messages at once; each stage adds a unit */
};

static int64_t units(int64_t count, int64_t per_unit) { return count / per_unit + (count % per_unit > 0); }

static bool has_rounds(const pto_plan_t *plan) {
    bool any = false;
    for (int i = 0; i < pto_plan_node_count(plan); i++)
        any = any || pto_node_at(plan, i)->kind == PTO_NODE_LOOP;
    return any;
}

/* Returns whether some buffer has blocks of several rows or columns, whose bytes are added up one by one. */
static bool gathers_blocks(const pto_plan_t *plan) {
    bool any = false;
    pto_parts_t parts;
    for (int i = 0; i < pto_plan_buffer_count(plan); i++) {
        const pto_buffer_t *buffer = pto_plan_buffer(plan, i);
        any = any || (pto_blocks_are_table(buffer) && !pto_buffer_parts(plan, buffer, &parts));
    }
    return any;
}

/* Returns the work of pricing a plan with a table of byte counts. */
static int64_t table_work(const pto_plan_t *plan, const pto_machine_t *machine, bool explained) {
    const pto_request_t *request = pto_plan_request(plan);
    int64_t owners = pto_layout_owner_count(&request->layout);
    int64_t summed = pto_counts_partners(request->counts, owners) * owners;
    int64_t entries = pto_collective_is_by_pair(request->collective) ? owners * owners : 0;
    pto_plan_size_t size = pto_plan_size(plan);
    bool independent = !pto_latency_known(machine) && pto_messages_are_apart(machine, &request->layout);
    bool of_pairs =
        independent && entries > 0 && size.messages >= entries - owners; /* all pairs exchange one */
    if (of_pairs && !has_rounds(plan))
        return units(summed, SUMS_PER_UNIT) + size.stages;
    int64_t messages = units(size.messages, independent ? MESSAGES_PER_UNIT : 1);
    if (of_pairs && !explained)
        messages = units(entries, READS_PER_UNIT) + units(size.messages, ROUNDS_PER_UNIT);
    int64_t gathered = gathers_blocks(plan) ? units(entries, MESSAGES_PER_UNIT) : 0;
    return messages > gathered ? messages : gathered;
}

/* Returns the work of pricing one plan; 0 also if there is no plan, or it is not priced. */
static int64_t plan_work(const pto_request_t *request, const pto_machine_t *machine, bool explained) {
    pto_plan_t *plan = NULL;
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return 0;
    int64_t work = 0;
    if (pto_price_check_size(plan, NULL) == PTO_OK && pto_price_check_copies(plan, machine, NULL) == PTO_OK)
        work = pto_plan_has_tables(plan) ? table_work(plan, machine, explained) : pto_price_work(plan);
    pto_plan_destroy(plan);
    return work;
}

/* The search for a number of chunks is not counted, since it ends early. */
static int64_t cell_work(const pto_scenario_cell_t *cell) {
    pto_request_t request = cell->request;
    int64_t work = 0, prices = request.strategy->stages ? 2 * request.strategy->stages(&request) : 1;
    for (int i = 0; i < pto_algorithm_count(); i++) {
        request.algorithm = pto_algorithm_at(i);
        if (!pto_scenario_cell_tries(cell, request.algorithm))
            continue;
        int64_t once = plan_work(&request, cell->machine, cell->explained);
        work = pto_saturating_sum(work, pto_saturating_product(prices, once));
    }
    return work;
}

int64_t pto_cell_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                      const pto_strategy_t *strategy) {
    const pto_scenario_cell_t cell = pto_scenario_cell(scenario, machine, point, strategy);
    return cell_work(&cell);
}

/* Returns whether a cell's plans are cut into pieces by its size. */
static bool is_cut(const pto_scenario_cell_t *cell) {
    return cell->scenario->chunks > 1 || cell->scenario->unique_bytes > 0 || cell->request.segment_bytes > 0;
}

/* Returns whether the library chooses alike in two cells of a strategy. */
static bool is_chosen_alike(const pto_scenario_cell_t *a, const pto_scenario_cell_t *b) {
    const bool same_algorithm =
        a->algorithm && b->algorithm ? strcmp(a->algorithm, b->algorithm) == 0 : a->algorithm == b->algorithm;
    return same_algorithm && a->request.staged == b->request.staged;
}

/* Returns an earlier cell of the same strategy, at another size, with the same work as cell `i`; or NULL. */
static const pto_scenario_cell_t *find_same_work(const pto_scenario_cell_t *cell, int64_t i,
                                                 int strategy_count) {
    if (is_cut(&cell[i]))
        return NULL;
    for (int64_t earlier = i - strategy_count; earlier >= 0; earlier -= strategy_count)
        if (!is_cut(&cell[earlier]) && is_chosen_alike(&cell[earlier], &cell[i]))
            return &cell[earlier];
    return NULL;
}

/* In a sweep of sizes, most cells have the work of an earlier size's. */
int64_t pto_count_work(pto_scenario_cell_t *cell, int64_t point_count, int strategy_count) {
    const bool by_size = pto_scenario_sweep(cell->scenario) == PTO_SWEEP_BYTES;
    int64_t work = 0;
    for (int64_t i = 0; i < point_count * strategy_count; i++) {
        const pto_scenario_cell_t *same = by_size ? find_same_work(cell, i, strategy_count) : NULL;
        cell[i].work = same ? same->work : cell_work(&cell[i]);
        work = pto_saturating_sum(work, cell[i].work);
    }
    return work;
}

/* Sets `*work` to that of all strategies at one point. */
static pto_status_t point_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                               int64_t *work, pto_error_t *err) {
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    pto_status_t status = pto_scenario_strategies(scenario, &strategy, &count, err);
    *work = 0;
    for (int i = 0; i < count && status == PTO_OK; i++)
        *work = pto_saturating_sum(*work, pto_cell_work(scenario, machine, point, strategy[i]));
    free(strategy);
    return status;
}

static int64_t scenario_work(const pto_scenario_t *scenario, const pto_machine_t *machine) {
    int64_t work = 0, more;
    for (int64_t point = 0; point < pto_scenario_points(scenario); point++)
        if (point_work(scenario, machine, point, &more, NULL) == PTO_OK)
            work = pto_saturating_sum(work, more);
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
