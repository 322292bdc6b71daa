/* Chooses the plan of a strategy at a point: the cheapest candidate that fits the machine's memory. The
 * candidates are the plans of all algorithms. If the user has not set a number of chunks or of staged members
 * (processes whose data go through host memory), each value of that number is a candidate, too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "decide/candidates.h"
#include "machine/machine_internal.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "price/bounded.h"
#include "scenario/check.h"

static bool is_within(const pto_param_t *limit, double bytes) {
    return !pto_param_known(limit) || bytes <= limit->value;
}

static pto_status_t check_memory(const pto_plan_t *plan, const pto_machine_t *machine,
                                 pto_price_cache_t *cache, pto_error_t *err) {
    int64_t gpu_bytes, host_bytes;
    double gpu_bound, host_bound;
    pto_plan_memory_bound(plan, &gpu_bound, &host_bound);
    if (is_within(&machine->gpu_memory_bytes, gpu_bound) &&
        is_within(&machine->host_memory_bytes, host_bound))
        return PTO_OK;
    pto_tables_memory(plan, machine, cache, &gpu_bytes, &host_bytes);
    const char *name = plan->request.strategy->name;
    if (pto_param_known(&machine->gpu_memory_bytes) && (double)gpu_bytes > machine->gpu_memory_bytes.value)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s needs %.4g GB of buffers on a GPU, which has %.4g GB (memory.gpu_bytes)",
                             name, (double)gpu_bytes / 1e9, machine->gpu_memory_bytes.value / 1e9);
    if (pto_param_known(&machine->host_memory_bytes) && (double)host_bytes > machine->host_memory_bytes.value)
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "%s needs %.4g GB of buffers in a node's memory, which has %.4g GB (memory.host_bytes)", name,
            (double)host_bytes / 1e9, machine->host_memory_bytes.value / 1e9);
    return PTO_OK;
}

/* Makes a plan that can be priced and whose buffers fit. */
static pto_status_t make_plan(const pto_request_t *request, const pto_machine_t *machine,
                              pto_price_cache_t *cache, pto_plan_t **plan, pto_error_t *err) {
    pto_plan_t *result = NULL;
    pto_status_t status = pto_plan_create(request, &result, err);
    if (status == PTO_OK) /* before the memory, whose check may sum a whole table of byte counts */
        status = pto_price_check_size(result, err);
    if (status == PTO_OK)
        status = check_memory(result, machine, cache, err);
    if (status != PTO_OK) {
        pto_plan_destroy(result);
        return status;
    }
    *plan = result;
    return PTO_OK;
}

/* The open numbers of a request, which are searched. Each in turn is set to the cheapest of its values, from
 * `first` to `last`. If there are two, the first one is searched again with the cheapest value of the second.
 */
typedef struct {
    int64_t *number[3]; /* in the order of the searches; NULL after the last one */
    int64_t first;
    int64_t last;
    bool doubles; /* only powers of two are tried */
} open_numbers_t;

enum { CHUNKS_MAX = 1024, CHUNK_BYTES_MIN = 4096 };

/* Returns the bytes of the longest border of a halo exchange, with the corners. */
static int64_t border_bytes(const pto_request_t *request) {
    const pto_halo_t *grid = &request->halo;
    int64_t largest = 0;
    for (int d = 0; d < grid->dim_count; d++) {
        int64_t cells = pto_halo_cells(grid) / (grid->extent[d] + 2 * grid->width) * grid->width;
        largest = cells > largest ? cells : largest;
    }
    return largest * request->bytes;
}

/* Returns the bytes of an owner that chunks divide: to one halo neighbor, or of one round of a ring. */
static int64_t sent_bytes(const pto_request_t *request) {
    if (request->collective == PTO_COLLECTIVE_HALO)
        return border_bytes(request);
    if (request->collective == PTO_COLLECTIVE_ALLREDUCE)
        return request->bytes / pto_layout_owner_count(&request->layout);
    if (request->collective == PTO_COLLECTIVE_MESSAGES)
        return request->messages * request->bytes;
    bool addressed = pto_collective_is_addressed(request->collective);
    return addressed ? (pto_layout_owner_count(&request->layout) - 1) * request->bytes : request->bytes;
}

static int64_t at_most(int64_t value, int64_t largest) { return value < largest ? value : largest; }

static open_numbers_t open_chunks(pto_request_t *request) {
    int64_t largest = sent_bytes(request) / CHUNK_BYTES_MIN;
    return (open_numbers_t){.number = {&request->chunks},
                            .first = 1,
                            .last = largest < 1 ? 1 : at_most(largest, CHUNKS_MAX),
                            .doubles = true};
}

static open_numbers_t open_staged_members(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                          pto_request_t *request) {
    const pto_staged_t *given = &scenario->staged_members;
    pto_staged_t *staged = &request->staged_members;
    int64_t procs = request->strategy->stages(request);
    /* allgatherv has no table of its own. */
    pto_collective_t tuned =
        pto_collective_is_allgather(request->collective) ? PTO_COLLECTIVE_ALLGATHER : request->collective;
    const pto_library_rule_t *rule =
        pto_machine_tuning(machine, pto_collective_name(tuned), procs, request->bytes);
    open_numbers_t search = {.last = procs - 1};
    int count = 0;
    if (rule && given->in == PTO_STAGED_TUNED)
        staged->in = at_most(rule->staged_members.in, procs - 1);
    else if (given->in < 0)
        search.number[count++] = &staged->in;
    if (rule && given->out == PTO_STAGED_TUNED)
        staged->out = at_most(rule->staged_members.out, procs - 1);
    else if (given->out < 0)
        search.number[count++] = &staged->out;
    if (count == 2)
        search.number[2] = &staged->in;
    return search;
}

/* Finds the numbers that neither the scenario nor the machine file's tuning sets. */
static open_numbers_t find_open_numbers(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                        pto_request_t *request) {
    if (pto_request_cuts_inside(request))
        request->chunks = scenario->chunks;
    if (pto_request_may_be_cut(request) && scenario->chunks == 0)
        return open_chunks(request);
    return request->strategy->stages ? open_staged_members(scenario, machine, request) : (open_numbers_t){0};
}

const char *pto_choice_text(const pto_strategy_t *strategy, int64_t chunks, pto_staged_t staged_members,
                            char text[PTO_CHOICE_TEXT_MAX]) {
    text[0] = '\0';
    if (chunks > 1)
        snprintf(text, PTO_CHOICE_TEXT_MAX, ", %lld chunks", (long long)chunks);
    else if (strategy->stages)
        snprintf(text, PTO_CHOICE_TEXT_MAX, ", %lld/%lld staged", (long long)staged_members.in,
                 (long long)staged_members.out);
    return text;
}

/* Visits the plans of all values of `number`, or the only plan if `number` is NULL. After the first value,
 * the search ends when a plan or `visit` returns an error that only excludes a cell (pto_leaves_cell_out). */
static pto_status_t visit_values(const pto_scenario_cell_t *cell, const open_numbers_t *search,
                                 int64_t *number, pto_request_t *request, const pto_visit_candidate_t *visit,
                                 pto_error_t *err) {
    bool any = false;
    int64_t unused = search->first;
    if (!number)
        number = &unused;
    for (*number = search->first; *number <= search->last; *number += search->doubles ? *number : 1) {
        pto_plan_t *result = NULL;
        pto_error_t reason;
        pto_status_t status = make_plan(request, cell->machine, cell->cache, &result, &reason);
        if (status == PTO_OK)
            status = visit->call(&result, search->doubles, visit->context, &reason);
        pto_plan_destroy(result);
        if (any && pto_leaves_cell_out(status))
            break;
        if (status != PTO_OK) {
            if (err)
                *err = reason;
            return status;
        }
        any = true;
    }
    return PTO_OK;
}

pto_status_t pto_plan_candidates(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                                 const pto_strategy_t *strategy, const pto_visit_candidate_t *visit,
                                 pto_error_t *err) {
    const pto_scenario_cell_t cell = pto_scenario_cell(scenario, machine, point, strategy);
    for (int i = 0; i < pto_algorithm_count(); i++) {
        pto_request_t request = cell.request;
        pto_error_t reason;
        request.algorithm = pto_algorithm_at(i);
        if (!pto_scenario_cell_tries(&cell, request.algorithm))
            continue;
        open_numbers_t search = find_open_numbers(scenario, machine, &request);
        pto_status_t status = search.number[1]
                                  ? pto_error_set(&reason, PTO_ERR_TOO_LARGE,
                                                  "two numbers of staged members are searched in turns")
                                  : visit_values(&cell, &search, search.number[0], &request, visit, &reason);
        if (status != PTO_OK && status != PTO_ERR_NOT_APPLICABLE) {
            if (err)
                *err = reason;
            return status;
        }
    }
    return PTO_OK;
}

/* A request's cheapest plan so far. */
typedef struct {
    const pto_scenario_cell_t *cell;
    double bound_s; /* for the first value: a price above it may be INFINITY */
    pto_explanation_t *explanation;
    const int64_t *number; /* NULL: none is open */
    bool any;              /* a value of the number has a price */
    int64_t value;         /* the cheapest value; of equal ones, the least */
    pto_plan_t *plan;
    pto_price_t price;
} best_plan_t;

static pto_status_t price_candidate(pto_plan_t **plan, bool in_chunks, void *context, pto_error_t *err) {
    best_plan_t *best = context;
    const double best_s = best->price.seconds;
    const double hopeless_s = in_chunks ? PTO_HOPELESS * best_s : best_s;
    pto_price_t price = {0};
    pto_status_t status =
        pto_price_bounded(*plan, best->cell->machine, best->cell->cache,
                          best->any ? hopeless_s : best->bound_s, &price, best->explanation, err);
    if (status != PTO_OK)
        return status;
    if (best->any && !(price.seconds < best_s)) /* a hopeless number of chunks ends the search */
        return in_chunks && price.seconds > hopeless_s ? PTO_ERR_NOT_APPLICABLE : PTO_OK;
    pto_plan_destroy(best->plan);
    best->plan = *plan;
    *plan = NULL;
    best->price = price;
    best->any = true;
    best->value = best->number ? *best->number : 0;
    return PTO_OK;
}

/* Finds the cheapest plan of the request's algorithm. A price above `bound_s` may be INFINITY. */
static pto_status_t price_choices(const pto_scenario_cell_t *cell, pto_request_t *request, double bound_s,
                                  pto_plan_t **plan, pto_price_t *price, pto_explanation_t *explanation,
                                  pto_error_t *err) {
    open_numbers_t search = find_open_numbers(cell->scenario, cell->machine, request);
    const bool single = !search.number[1] && search.first == search.last; /* there is only one plan */
    best_plan_t best = {
        .cell = cell, .bound_s = single ? bound_s : INFINITY, .explanation = single ? explanation : NULL};
    const pto_visit_candidate_t visit = {price_candidate, &best};
    pto_status_t status = PTO_OK;
    for (int i = 0; i < 3 && (i == 0 || search.number[i]) && status == PTO_OK; i++) {
        best.any = false;
        best.number = search.number[i];
        status = visit_values(cell, &search, search.number[i], request, &visit, err);
        if (search.number[i])
            *search.number[i] = best.value;
    }
    if (status == PTO_OK && explanation && !single)
        status =
            pto_price_bounded(best.plan, cell->machine, cell->cache, INFINITY, &best.price, explanation, err);
    if (status != PTO_OK) {
        pto_plan_destroy(best.plan);
        return status;
    }
    *plan = best.plan;
    *price = best.price;
    return PTO_OK;
}

/* The cheapest algorithm so far, and the first one that does not apply, with the reason. Algorithms are
 * indices of the registry. */
typedef struct {
    int algorithm; /* the cheapest; -1: none */
    pto_plan_t *plan;
    pto_price_t price;
    bool explained; /* the price has been explained */
    int refused;    /* the first that does not apply; -1: none */
    pto_error_t reason;
} best_algorithm_t;

static void keep_if_cheaper(best_algorithm_t *best, int algorithm, pto_plan_t *plan, const pto_price_t *price,
                            bool explained) {
    double best_s = best->price.seconds;
    bool cheaper = best->algorithm < 0 || price->seconds < best_s ||
                   (price->seconds == best_s && algorithm < best->algorithm);
    pto_plan_destroy(cheaper ? best->plan : plan);
    if (!cheaper)
        return;
    best->algorithm = algorithm;
    best->plan = plan;
    best->price = *price;
    best->explained = explained;
}

/* Prices an algorithm, and keeps it if it is the cheapest. Errors: all but that it does not apply. */
static pto_status_t try_algorithm(const pto_scenario_cell_t *cell, int algorithm, best_algorithm_t *best,
                                  pto_explanation_t *explanation, pto_error_t *err) {
    pto_request_t tried = cell->request;
    tried.algorithm = pto_algorithm_at(algorithm);
    if (!pto_scenario_cell_tries(cell, tried.algorithm))
        return PTO_OK;
    pto_plan_t *result = NULL;
    pto_price_t price = {0};
    pto_error_t reason;
    pto_status_t status =
        price_choices(cell, &tried, best->price.seconds, &result, &price, explanation, &reason);
    if (status == PTO_OK)
        keep_if_cheaper(best, algorithm, result, &price, explanation != NULL);
    if (status == PTO_ERR_NOT_APPLICABLE && (best->refused < 0 || algorithm < best->refused)) {
        best->refused = algorithm;
        best->reason = reason;
    }
    if (status == PTO_OK || status == PTO_ERR_NOT_APPLICABLE)
        return PTO_OK;
    if (err)
        *err = reason;
    return status;
}

static int index_of(const pto_algorithm_t *algorithm) {
    int i = pto_algorithm_count() - 1;
    while (i >= 0 && pto_algorithm_at(i) != algorithm)
        i--;
    return i;
}

/* Returns the algorithm with the fewest stages if byte counts differ, else -1. Its price takes little work
 * and is a bound, above which pricing the others stops long before their last rounds. */
static int with_fewest_stages(const pto_scenario_cell_t *cell) {
    pto_request_t tried = cell->request;
    int64_t fewest = INT64_MAX;
    int found = -1;
    if (!tried.counts || !pto_counts_differ(tried.counts))
        return found;
    for (int i = 0; i < pto_algorithm_count(); i++) {
        pto_plan_t *result = NULL;
        tried.algorithm = pto_algorithm_at(i);
        if (!pto_scenario_cell_tries(cell, tried.algorithm) ||
            pto_plan_create(&tried, &result, NULL) != PTO_OK)
            continue;
        int64_t stages = pto_plan_size(result).stages;
        found = stages < fewest ? i : found;
        fewest = stages < fewest ? stages : fewest;
        pto_plan_destroy(result);
    }
    return found;
}

/* Finds the cheapest algorithm that applies, the first listed of equal ones; if none applies, returns the
 * first one's error. The likely one is priced first, with its explanation: its price bounds the others. */
static pto_status_t price_cheapest(const pto_scenario_cell_t *cell, const pto_algorithm_t *likely,
                                   pto_plan_t **plan, pto_price_t *price, pto_explanation_t *explanation,
                                   pto_error_t *err) {
    best_algorithm_t best;
    best.algorithm = best.refused = -1;
    best.plan = NULL;
    best.price.seconds = INFINITY;
    pto_status_t status = PTO_OK;
    int first = likely ? index_of(likely) : with_fewest_stages(cell);
    if (first >= 0)
        status = try_algorithm(cell, first, &best, explanation, err);
    for (int i = 0; i < pto_algorithm_count() && status == PTO_OK; i++)
        if (i != first)
            status = try_algorithm(cell, i, &best, NULL, err);
    if (status == PTO_OK && !best.plan) {
        if (err && best.refused >= 0)
            *err = best.reason;
        return PTO_ERR_NOT_APPLICABLE;
    }
    if (status == PTO_OK && explanation && !best.explained)
        status =
            pto_price_bounded(best.plan, cell->machine, cell->cache, INFINITY, &best.price, explanation, err);
    if (status != PTO_OK) {
        pto_plan_destroy(best.plan);
        return status;
    }
    *plan = best.plan;
    *price = best.price;
    return PTO_OK;
}

pto_status_t pto_scenario_cell_choose(const pto_scenario_cell_t *cell, const pto_algorithm_t *likely,
                                      pto_plan_t **plan, pto_price_t *price, pto_explanation_t *explanation,
                                      pto_error_t *err) {
    const pto_request_t *request = &cell->request;
    pto_error_t cause;
    if (!(request->strategy->collectives & 1u << request->collective))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s is not for %s", request->strategy->name,
                             pto_collective_name(request->collective));
    if (cell->algorithm &&
        pto_algorithm_find(cell->algorithm, request->collective, &likely, &cause) != PTO_OK)
        return pto_scenario_refuse(cell->scenario, PTO_FIELD_LIBRARY, PTO_ERR_NOT_FOUND, err, "%s",
                                   cause.message);
    return price_cheapest(cell, likely, plan, price, explanation, err);
}

pto_status_t pto_plan_choose(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                             const pto_strategy_t *strategy, pto_plan_t **plan, pto_price_t *price,
                             pto_explanation_t *explanation, pto_error_t *err) {
    const pto_scenario_cell_t cell = pto_scenario_cell(scenario, machine, point, strategy);
    return pto_scenario_cell_choose(&cell, NULL, plan, price, explanation, err);
}
