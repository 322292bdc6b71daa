/* Predicting a scenario: the requests at its points, whether the buffers fit, and the price of every
 * strategy. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/candidates.h"
#include "machine/machine_internal.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "portolan/progress.h"
#include "price/bounded.h"
#include "price/nccl.h"
#include "price/table.h"
#include "price/traffic.h"
#include "scenario/check.h"

/* --- from a scenario to requests ------------------------------------------------------------------------ */

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

/* --- one strategy at one point -------------------------------------------------------------------------- */

static bool is_within(const pto_param_t *limit, double bytes) {
    return !pto_param_known(limit) || bytes <= limit->value;
}

static pto_status_t check_memory(const pto_plan_t *plan, const pto_machine_t *machine, pto_error_t *err) {
    int64_t gpu_bytes, host_bytes;
    double gpu_bound, host_bound;
    pto_plan_memory_bound(plan, &gpu_bound, &host_bound);
    if (is_within(&machine->gpu_memory_bytes, gpu_bound) &&
        is_within(&machine->host_memory_bytes, host_bound))
        return PTO_OK;
    pto_tables_memory(plan, machine, &gpu_bytes, &host_bytes);
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

/* Make a plan that can be priced and whose buffers fit. */
static pto_status_t make_plan(const pto_request_t *request, const pto_machine_t *machine, pto_plan_t **plan,
                              pto_error_t *err) {
    pto_plan_t *made = NULL;
    pto_status_t status = pto_plan_create(request, &made, err);
    if (status == PTO_OK) /* checked before the memory, which for a table of byte counts is itself a sum over
                             all of them */
        status = pto_price_check_size(made, err);
    if (status == PTO_OK)
        status = check_memory(made, machine, err);
    if (status != PTO_OK) {
        pto_plan_destroy(made);
        return status;
    }
    *plan = made;
    return PTO_OK;
}

/* A price above `most_s` may be INFINITY. */
static pto_status_t price_one(const pto_request_t *request, const pto_machine_t *machine, double most_s,
                              pto_plan_t **plan, pto_price_t *price, pto_explanation_t *explanation,
                              pto_error_t *err) {
    pto_plan_t *made = NULL;
    pto_status_t status = make_plan(request, machine, &made, err);
    if (status == PTO_OK)
        status = pto_price_bounded(made, machine, most_s, price, explanation, err);
    if (status != PTO_OK) {
        pto_plan_destroy(made);
        return status;
    }
    *plan = made;
    return PTO_OK;
}

/* Numbers in a request that are left to the price. Each in turn takes the cheapest of its values, 2^i or all
 * up to `last`; with two, the first one does so again for the cheapest second one. */
typedef struct {
    int64_t *number[3]; /* NULL behind the last one */
    int64_t first;
    int64_t last;
    bool doubles;
} choice_t;

/* Numbers of chunks that are tried, and their least size. */
enum { CHUNKS_MAX = 1024, CHUNK_BYTES_LEAST = 4096 };

/* The longest border of a halo exchange, with the corners. */
static int64_t border_bytes(const pto_request_t *request) {
    const pto_halo_t *grid = &request->halo;
    int64_t most = 0;
    for (int d = 0; d < grid->dim_count; d++) {
        int64_t cells = pto_halo_cells(grid) / (grid->extent[d] + 2 * grid->width) * grid->width;
        most = cells > most ? cells : most;
    }
    return most * request->bytes;
}

/* Bytes that an owner's process gives away: of a halo those for one neighbor, of a ring those of a round. */
static int64_t given_bytes(const pto_request_t *request) {
    if (request->collective == PTO_COLLECTIVE_HALO)
        return border_bytes(request);
    if (request->collective == PTO_COLLECTIVE_ALLREDUCE)
        return request->bytes / pto_layout_owner_count(&request->layout);
    if (request->collective == PTO_COLLECTIVE_MESSAGES)
        return request->messages * request->bytes;
    bool addressed = pto_collective_is_addressed(request->collective);
    return addressed ? (pto_layout_owner_count(&request->layout) - 1) * request->bytes : request->bytes;
}

static int64_t at_most(int64_t value, int64_t most) { return value < most ? value : most; }

static choice_t choose_chunks(pto_request_t *request) {
    int64_t most = given_bytes(request) / CHUNK_BYTES_LEAST;
    return (choice_t){.number = {&request->chunks},
                      .first = 1,
                      .last = most < 1 ? 1 : at_most(most, CHUNKS_MAX),
                      .doubles = true};
}

static choice_t choose_staged(const pto_scenario_t *scenario, const pto_machine_t *machine,
                              pto_request_t *request) {
    const pto_staged_t *given = &scenario->staged_members;
    pto_staged_t *staged = &request->staged_members;
    int64_t procs = request->strategy->stages(request);
    /* An allgatherv goes by the table of allgather. */
    pto_collective_t tuned =
        pto_collective_is_allgather(request->collective) ? PTO_COLLECTIVE_ALLGATHER : request->collective;
    const pto_library_rule_t *rule =
        pto_machine_tuning(machine, pto_collective_name(tuned), procs, request->bytes);
    choice_t choice = {.last = procs - 1};
    int count = 0;
    if (rule && given->in == PTO_STAGED_TUNED)
        staged->in = at_most(rule->staged_members.in, procs - 1);
    else if (given->in < 0)
        choice.number[count++] = &staged->in;
    if (rule && given->out == PTO_STAGED_TUNED)
        staged->out = at_most(rule->staged_members.out, procs - 1);
    else if (given->out < 0)
        choice.number[count++] = &staged->out;
    if (count == 2)
        choice.number[2] = &staged->in;
    return choice;
}

/* What the scenario leaves open. The machine file's tuning may fill it in. */
static choice_t open_choice(const pto_scenario_t *scenario, const pto_machine_t *machine,
                            pto_request_t *request) {
    if (pto_request_cuts_inside(request))
        request->chunks = scenario->chunks;
    if (pto_request_may_be_cut(request) && scenario->chunks == 0)
        return choose_chunks(request);
    return request->strategy->stages ? choose_staged(scenario, machine, request) : (choice_t){0};
}

/* A request's cheapest plan so far. */
typedef struct {
    pto_plan_t *plan;
    pto_price_t price;
} cheapest_t;

/* Set the number to the cheapest of its values; of equal ones, to the least. Values from one on that
 * does not apply, or whose plan is too large, are not tried, nor numbers of chunks beyond a hopeless one. */
static pto_status_t price_values(const pto_machine_t *machine, const choice_t *choice, int64_t *number,
                                 pto_request_t *request, cheapest_t *best, pto_error_t *err) {
    int64_t cheapest = choice->first;
    bool any = false;
    for (*number = choice->first; *number <= choice->last; *number += choice->doubles ? *number : 1) {
        pto_plan_t *made = NULL;
        pto_price_t price = {0};
        double most_s = any && choice->doubles ? PTO_HOPELESS * best->price.seconds
                        : any                  ? best->price.seconds
                                               : INFINITY;
        pto_error_t reason;
        pto_status_t status = price_one(request, machine, most_s, &made, &price, NULL, &reason);
        if (any && pto_leaves_cell_out(status))
            break;
        if (status != PTO_OK) {
            if (err)
                *err = reason;
            return status;
        }
        bool cheaper = !any || price.seconds < best->price.seconds;
        any = true;
        pto_plan_destroy(cheaper ? best->plan : made);
        if (!cheaper && choice->doubles && price.seconds > PTO_HOPELESS * best->price.seconds)
            break;
        if (!cheaper)
            continue;
        *best = (cheapest_t){made, price};
        cheapest = *number;
    }
    *number = cheapest;
    return PTO_OK;
}

static pto_status_t price_choices(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                  pto_request_t *request, double most_s, pto_plan_t **plan,
                                  pto_price_t *price, pto_explanation_t *explanation, pto_error_t *err) {
    choice_t choice = open_choice(scenario, machine, request);
    bool one_value = choice.number[0] && !choice.number[1] && choice.first == choice.last;
    if (one_value)
        *choice.number[0] = choice.first;
    if (one_value || !choice.number[0])
        return price_one(request, machine, most_s, plan, price, explanation, err);
    cheapest_t best = {0};
    pto_status_t status = PTO_OK;
    for (int i = 0; i < 3 && choice.number[i] && status == PTO_OK; i++)
        status = price_values(machine, &choice, choice.number[i], request, &best, err);
    if (status == PTO_OK && explanation)
        status = pto_price(best.plan, machine, &best.price, explanation, err);
    if (status != PTO_OK) {
        pto_plan_destroy(best.plan);
        return status;
    }
    *plan = best.plan;
    *price = best.price;
    return PTO_OK;
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

/* The cheapest algorithm so far, and the first one that does not apply. */
typedef struct {
    int algorithm; /* -1: none */
    pto_plan_t *plan;
    pto_price_t price;
    bool explained;
    int refused; /* -1: none */
    pto_error_t reason;
} contest_t;

static void enter_contest(contest_t *contest, int algorithm, pto_plan_t *plan, const pto_price_t *price,
                          bool explained) {
    double best_s = contest->price.seconds;
    bool cheaper = contest->algorithm < 0 || price->seconds < best_s ||
                   (price->seconds == best_s && algorithm < contest->algorithm);
    pto_plan_destroy(cheaper ? contest->plan : plan);
    if (!cheaper)
        return;
    contest->algorithm = algorithm;
    contest->plan = plan;
    contest->price = *price;
    contest->explained = explained;
}

/* Errors: those that end the contest. Only the first reason is written down: most strategies are refused with
 * every algorithm. */
static pto_status_t try_algorithm(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                  const pto_request_t *request, int algorithm, contest_t *contest,
                                  pto_explanation_t *explanation, pto_error_t *err) {
    pto_request_t tried = *request;
    tried.algorithm = pto_algorithm_at(algorithm);
    if (!pto_library_may_take(scenario, machine, &tried))
        return PTO_OK;
    pto_plan_t *made = NULL;
    pto_price_t price = {0};
    bool first = contest->refused < 0 || algorithm < contest->refused;
    double most_s = contest->price.seconds;
    pto_status_t status = price_choices(scenario, machine, &tried, most_s, &made, &price, explanation,
                                        first ? &contest->reason : NULL);
    bool ends = status != PTO_OK && status != PTO_ERR_NOT_APPLICABLE;
    if (ends && first && err)
        *err = contest->reason;
    if (ends && !first) /* once more, for the message; this time it may succeed */
        status = price_choices(scenario, machine, &tried, most_s, &made, &price, explanation, err);
    if (status == PTO_OK)
        enter_contest(contest, algorithm, made, &price, explanation != NULL);
    if (status == PTO_ERR_NOT_APPLICABLE && first)
        contest->refused = algorithm;
    return status == PTO_ERR_NOT_APPLICABLE ? PTO_OK : status;
}

static int index_of(const pto_algorithm_t *algorithm) {
    int i = pto_algorithm_count() - 1;
    while (i >= 0 && pto_algorithm_at(i) != algorithm)
        i--;
    return i;
}

/* Where counts are a table, the algorithm with the fewest stages: others then end where they exceed its
 * price, long before they have looked at the messages of all of their rounds. -1: there is no table. */
static int with_fewest_stages(const pto_request_t *request) {
    pto_request_t tried = *request;
    int64_t fewest = INT64_MAX;
    int found = -1;
    if (!request->counts || !pto_counts_differ(request->counts))
        return found;
    for (int i = 0; i < pto_algorithm_count(); i++) {
        pto_plan_t *made = NULL;
        tried.algorithm = pto_algorithm_at(i);
        if (!(tried.algorithm->collectives & 1u << tried.collective) || tried.algorithm->only_named ||
            pto_plan_create(&tried, &made, NULL) != PTO_OK)
            continue;
        int64_t stages = pto_plan_size(made).stages;
        found = stages < fewest ? i : found;
        fewest = stages < fewest ? stages : fewest;
        pto_plan_destroy(made);
    }
    return found;
}

/* The cheapest algorithm that applies, of equal ones the first; if none does, the first one's reason. The
 * likely one is priced first, and explained at once: the others' prices end where they exceed it. */
static pto_status_t price_cheapest(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                   const pto_request_t *request, const pto_algorithm_t *likely,
                                   pto_plan_t **plan, pto_price_t *price, pto_explanation_t *explanation,
                                   pto_error_t *err) {
    contest_t contest;
    contest.algorithm = contest.refused = -1;
    contest.plan = NULL;
    contest.price.seconds = INFINITY;
    pto_status_t status = PTO_OK;
    int first = likely ? index_of(likely) : with_fewest_stages(request);
    if (first >= 0)
        status = try_algorithm(scenario, machine, request, first, &contest, explanation, err);
    for (int i = 0; i < pto_algorithm_count() && status == PTO_OK; i++)
        if (i != first)
            status = try_algorithm(scenario, machine, request, i, &contest, NULL, err);
    if (status == PTO_OK && !contest.plan) {
        if (err && contest.refused >= 0)
            *err = contest.reason;
        return PTO_ERR_NOT_APPLICABLE;
    }
    if (status == PTO_OK && explanation && !contest.explained)
        status = pto_price(contest.plan, machine, &contest.price, explanation, err);
    if (status != PTO_OK) {
        pto_plan_destroy(contest.plan);
        return status;
    }
    *plan = contest.plan;
    *price = contest.price;
    return PTO_OK;
}

/* pto_plan_choose. `likely`: the algorithm that is likely to be chosen; NULL: unknown. */
static pto_status_t choose_plan(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                                const pto_strategy_t *strategy, const pto_algorithm_t *likely,
                                pto_plan_t **plan, pto_price_t *price, pto_explanation_t *explanation,
                                pto_error_t *err) {
    pto_request_t request = pto_scenario_request(scenario, point, strategy, NULL);
    if (!(strategy->collectives & 1u << request.collective))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s is not for %s", strategy->name,
                             pto_collective_name(request.collective));
    const char *name = pto_library_algorithm(scenario, machine, &request);
    if (!name)
        return price_cheapest(scenario, machine, &request, likely, plan, price, explanation, err);
    pto_error_t cause;
    if (pto_algorithm_find(name, request.collective, &request.algorithm, &cause) != PTO_OK) {
        pto_scenario_refuse(scenario, PTO_FIELD_LIBRARY, PTO_ERR_NOT_FOUND, err, "%s", cause.message);
        return PTO_ERR_NOT_FOUND;
    }
    return price_choices(scenario, machine, &request, INFINITY, plan, price, explanation, err);
}

pto_status_t pto_plan_choose(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                             const pto_strategy_t *strategy, pto_plan_t **plan, pto_price_t *price,
                             pto_explanation_t *explanation, pto_error_t *err) {
    return choose_plan(scenario, machine, point, strategy, NULL, plan, price, explanation, err);
}

/* --- all that could be chosen --------------------------------------------------------------------------- */

/* Every value of the number from its first one on, as price_values tries them. */
static pto_status_t visit_values(const pto_machine_t *machine, const choice_t *choice, int64_t *number,
                                 pto_request_t *request, const pto_visit_candidate_t *visit,
                                 pto_error_t *err) {
    bool any = false;
    for (*number = choice->first; *number <= choice->last; *number += choice->doubles ? *number : 1) {
        pto_plan_t *made = NULL;
        pto_status_t status = make_plan(request, machine, &made, any ? NULL : err);
        if (status == PTO_OK)
            status = visit->call(made, choice->doubles, visit->context, any ? NULL : err);
        pto_plan_destroy(made);
        if (any && pto_leaves_cell_out(status))
            break;
        if (status != PTO_OK)
            return status;
        any = true;
    }
    return PTO_OK;
}

static pto_status_t visit_algorithm(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                    pto_request_t request, const pto_visit_candidate_t *visit,
                                    pto_error_t *err) {
    choice_t choice = open_choice(scenario, machine, &request);
    if (choice.number[1])
        return pto_error_set(err, PTO_ERR_TOO_LARGE, "two numbers of staged members are searched in turns");
    if (choice.number[0])
        return visit_values(machine, &choice, choice.number[0], &request, visit, err);
    pto_plan_t *made = NULL;
    pto_status_t status = make_plan(&request, machine, &made, err);
    if (status == PTO_OK)
        status = visit->call(made, false, visit->context, err);
    pto_plan_destroy(made);
    return status;
}

pto_status_t pto_plan_candidates(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                                 const pto_strategy_t *strategy, const pto_visit_candidate_t *visit,
                                 pto_error_t *err) {
    pto_request_t request = pto_scenario_request(scenario, point, strategy, NULL);
    const char *name = pto_library_algorithm(scenario, machine, &request);
    for (int i = 0; i < pto_algorithm_count(); i++) {
        pto_error_t reason;
        request.algorithm = pto_algorithm_at(i);
        if (name ? strcmp(name, request.algorithm->name) != 0 ||
                       !(request.algorithm->collectives & 1u << request.collective)
                 : !pto_library_may_take(scenario, machine, &request))
            continue;
        pto_status_t status = visit_algorithm(scenario, machine, request, visit, &reason);
        if (status != PTO_OK && status != PTO_ERR_NOT_APPLICABLE) {
            if (err)
                *err = reason;
            return status;
        }
    }
    return PTO_OK;
}

/* --- all strategies at all points ----------------------------------------------------------------------- */

static pto_status_t predict_one(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                                const pto_strategy_t *strategy, const pto_algorithm_t *likely, bool explain,
                                pto_prediction_t *prediction, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_error_t reason;
    pto_status_t status = choose_plan(scenario, machine, point, strategy, likely, &plan, &prediction->price,
                                      explain ? &prediction->explanation : NULL, &reason);
    if (pto_leaves_cell_out(status)) {
        memcpy(prediction->reason, reason.message, sizeof prediction->reason);
        return PTO_OK;
    }
    if (status != PTO_OK) {
        if (err)
            *err = reason;
        return status;
    }
    assert(plan);
    prediction->applicable = true;
    prediction->algorithm = plan->request.algorithm;
    prediction->chunks = plan->request.chunks;
    prediction->staged_members = plan->request.staged_members;
    prediction->library_unknown =
        prediction->price.seconds > 0 && pto_library_is_unknown(scenario, machine, &plan->request);
    if (explain && prediction->library_unknown)
        status = pto_library_explain_unknown(&plan->request, &prediction->explanation, err);
    if (explain) {
        prediction->has_energy = pto_energy(plan, machine, &prediction->price, &prediction->explanation,
                                            &prediction->energy, &reason) == PTO_OK;
        if (!prediction->has_energy)
            memcpy(prediction->reason, reason.message, sizeof prediction->reason);
    }
    pto_plan_destroy(plan);
    return status;
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

/* The algorithm that won at the point before, or else by the strategy before; NULL: unknown. */
static const pto_algorithm_t *likely_algorithm(const pto_predictions_t *made, int64_t point, int strategy) {
    const pto_prediction_t *own = &made->prediction[point * made->strategy_count + strategy];
    if (point > 0)
        return own[-made->strategy_count].algorithm;
    while (strategy > 0 && !own->algorithm) {
        own--;
        strategy--;
    }
    return own->algorithm;
}

/* Whether the layout of any point has several nodes, between which the machine has no costs. */
static bool lacks_network(const pto_predictions_t *made) {
    const pto_machine_t *machine = made->machine;
    if (machine->messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].count > 0 || pto_nccl_has_network(machine))
        return false;
    bool several = false;
    for (int64_t point = 0; point < made->point_count; point++)
        several =
            several || pto_scenario_request(made->scenario, point, made->strategy[0], NULL).layout.nodes > 1;
    return several;
}

/* Where prices are stopped, the points before are the sweep, or what is priced of the first. `work`: of
 * each cell, for progress; NULL: none is shown. */
static pto_status_t predict_all(pto_predictions_t *made, bool explain, const int64_t *work,
                                pto_error_t *err) {
    bool any = false;
    int64_t point = 0;
    for (; point < made->point_count; point++)
        for (int i = 0; i < made->strategy_count; i++) {
            int64_t cell = point * made->strategy_count + i;
            pto_prediction_t *prediction = &made->prediction[cell];
            if (pto_is_stopped() && point > 0) {
                pto_predictions_cut(made, point);
                break;
            }
            if (pto_is_stopped()) {
                snprintf(prediction->reason, sizeof prediction->reason, "interrupted");
                pto_predictions_cut(made, 1);
                continue;
            }
            pto_status_t status = predict_one(made->scenario, made->machine, point, made->strategy[i],
                                              likely_algorithm(made, point, i), explain, prediction, err);
            if (status != PTO_OK)
                return status;
            any = any || prediction->applicable;
            if (work)
                pto_progress_add(work[cell]);
        }
    if (any)
        return PTO_OK;
    if (pto_is_stopped())
        return pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted before the first price");
    if (lacks_network(made))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "no strategy applies: machine %s has no network (messages.cpu.off_node or "
                             "messages.gpu.off_node), and the layout has several nodes",
                             made->machine->name);
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no strategy applies: %s", made->prediction[0].reason);
}

/* pto_predict; `has_work`: whether a price may take any. */
static pto_status_t predict(const pto_scenario_t *scenario, const pto_machine_t *machine, bool explain,
                            bool has_work, pto_predictions_t *predictions, pto_error_t *err) {
    pto_predictions_t made = {.scenario = scenario,
                              .machine = machine,
                              .sweep = pto_scenario_sweep(scenario),
                              .point_count = pto_scenario_points(scenario),
                              .point = swept_series(scenario)->value};
    pto_status_t status = pto_scenario_strategies(scenario, &made.strategy, &made.strategy_count, err);
    if (status != PTO_OK)
        return status;
    assert(made.strategy_count > 0 && made.point_count > 0);
    size_t cells = (size_t)made.strategy_count * (size_t)made.point_count;
    int64_t *each = calloc(cells, sizeof *each);
    made.prediction = calloc(cells, sizeof *made.prediction);
    if (!made.prediction || !each) {
        free(each);
        pto_predictions_fini(&made);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for predictions");
    }
    if (has_work)
        made.work = pto_each_work(scenario, machine, made.strategy, made.strategy_count, each);
    status = pto_check_amount(scenario, "pricing takes the work of", made.work, 1, err);
    if (status == PTO_OK) {
        bool shown = pto_progress_begin("pricing", made.work, PTO_WORK_PER_SECOND);
        pto_traffic_cache_t *kept = pto_traffic_keep();
        pto_tables_t *kept_tables = pto_tables_keep();
        status = predict_all(&made, explain, shown ? each : NULL, err);
        pto_tables_keep_end(kept_tables);
        pto_traffic_keep_end(kept);
        if (shown)
            pto_progress_end();
    }
    free(each);
    if (status != PTO_OK) {
        pto_predictions_fini(&made);
        return status;
    }
    *predictions = made;
    return PTO_OK;
}

pto_status_t pto_predict(const pto_scenario_t *scenario, const pto_machine_t *machine, bool explain,
                         pto_predictions_t *predictions, pto_error_t *err) {
    return predict(scenario, machine, explain, true, predictions, err);
}

pto_status_t pto_predict_between(const pto_predictions_t *swept, const pto_scenario_t *scenario,
                                 pto_predictions_t *predictions, pto_error_t *err) {
    bool has_work = swept->work > 0 || swept->sweep != PTO_SWEEP_BYTES;
    return predict(scenario, swept->machine, swept->by != PTO_BY_TIME, has_work, predictions, err);
}
