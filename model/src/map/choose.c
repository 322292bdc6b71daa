/* `portolan map`: prices the mappings that mappers propose, by predicting the scenario, and refines the best
 * one by swaps. The default mapping stays unless another one is predicted to be faster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/candidates.h"
#include "map/map_internal.h"
#include "portolan/pick.h"
#include "portolan/progress.h"
#include "scenario/check.h"

enum { CANDIDATES_MAX = 256 };

typedef struct {
    const pto_scenario_t *scenario;
    const pto_machine_t *machine;
    const pto_map_options_t *options;
    pto_layout_t layout;
    const pto_strategy_t **strategy;
    int strategy_count;
    pto_map_result_t *result;
    pto_map_problem_t problem;
    int64_t candidates;      /* the number of mappings that the mappers will propose, and the default */
    int64_t candidates_work; /* the work of pricing these (decide/work.c) */
    bool shown;              /* progress is being shown */
    pto_error_t *err;
} choice_t;

/* --- prices --------------------------------------------------------------------------------------------- */

/* Predicts the time of the candidate's mapping by one strategy (NULL: the cheapest), in `chunks` (0: as in
 * the scenario). Sets the candidate's time, strategy, chunks and last node. */
static pto_status_t price(choice_t *choice, const pto_strategy_t *only, int64_t chunks,
                          pto_map_candidate_t *priced) {
    pto_scenario_t placed = *choice->scenario; /* borrows everything but the mapping */
    pto_price_cache_t cache = {0};
    pto_error_t reason = {.status = PTO_ERR_NOT_APPLICABLE};
    placed.mapping = (pto_mapping_t){0};
    pto_status_t status = pto_mapping_make(&choice->layout, priced->place, &placed.mapping, choice->err);
    priced->strategy = NULL;
    placed.chunks = chunks > 0 ? chunks : placed.chunks;
    for (int s = 0; s < choice->strategy_count && status == PTO_OK; s++) {
        pto_plan_t *plan = NULL;
        pto_price_t cost = {0};
        pto_error_t fault = {.status = PTO_OK};
        if (only && choice->strategy[s] != only)
            continue;
        pto_scenario_cell_t cell = pto_scenario_cell(&placed, choice->machine, 0, choice->strategy[s]);
        cell.cache = &cache;
        status = pto_scenario_cell_choose(&cell, NULL, &plan, &cost, NULL, &fault);
        if (status == PTO_OK && (!priced->strategy || cost.seconds < priced->seconds)) {
            priced->seconds = cost.seconds;
            priced->strategy = choice->strategy[s];
            priced->chunks = pto_plan_request(plan)->chunks;
            priced->last_node = cache.tables ? pto_tables_latest_node(cache.tables) : -1;
        }
        pto_plan_destroy(plan);
        if (status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_TOO_LARGE) {
            reason = fault;
            status = PTO_OK;
        } else if (status != PTO_OK && choice->err) {
            *choice->err = fault;
        }
    }
    pto_price_cache_fini(&cache);
    pto_mapping_fini(&placed.mapping);
    choice->result->priced++;
    if (status == PTO_OK && !priced->strategy)
        status =
            pto_error_set(choice->err, reason.status, "no strategy can be priced: %.400s", reason.message);
    return status;
}

/* --- candidates ----------------------------------------------------------------------------------------- */

static pto_map_candidate_t *add_candidate(choice_t *choice) {
    pto_map_result_t *result = choice->result;
    pto_map_candidate_t *made = &result->candidate[result->count];
    made->place =
        result->count < CANDIDATES_MAX ? calloc((size_t)result->flows.count, sizeof *made->place) : NULL;
    if (!made->place) {
        pto_error_set(choice->err, PTO_ERR_MEMORY, "out of memory for %d mappings", result->count + 1);
        return NULL;
    }
    result->count++;
    return made;
}

/* Returns an earlier candidate with the same mapping, whose price can be reused; NULL: none. */
static const pto_map_candidate_t *find_same(const pto_map_result_t *result,
                                            const pto_map_candidate_t *candidate) {
    size_t size = (size_t)result->flows.count * sizeof *candidate->place;
    for (const pto_map_candidate_t *other = result->candidate; other < candidate; other++)
        if (other->place && other->strategy && memcmp(other->place, candidate->place, size) == 0)
            return other;
    return NULL;
}

static void add_progress(const choice_t *choice) {
    if (choice->shown)
        pto_progress_add(1);
}

/* Prices a candidate that a mapper has filled in, or stores the reason why the mapper failed. */
static pto_status_t finish(choice_t *choice, pto_map_candidate_t *candidate, pto_status_t status,
                           const pto_error_t *fault) {
    pto_map_result_t *result = choice->result;
    add_progress(choice);
    if (status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_RANGE) {
        free(candidate->place);
        candidate->place = NULL;
        memcpy(candidate->reason, fault->message, sizeof candidate->reason);
        return PTO_OK;
    }
    if (status != PTO_OK) {
        if (choice->err)
            *choice->err = *fault;
        return status;
    }
    const pto_map_candidate_t *same = find_same(result, candidate);
    if (same) {
        candidate->sum = same->sum;
        candidate->seconds = same->seconds;
        candidate->strategy = same->strategy;
        candidate->chunks = same->chunks;
        candidate->last_node = same->last_node;
        return PTO_OK;
    }
    candidate->sum = pto_map_judge(&result->flows, &result->places, PTO_AIM_SUM, candidate->place);
    status = price(choice, NULL, 0, candidate);
    if (status != PTO_OK)
        return status;
    const pto_map_candidate_t *best = &result->candidate[result->best];
    if (candidate->seconds < best->seconds && !pto_cost_is_same(candidate->seconds, best->seconds))
        result->best = (int)(candidate - result->candidate);
    return PTO_OK;
}

static bool depends_on_seed(const pto_mapper_t *mapper) {
    return mapper != &pto_mapper_slot && mapper != &pto_mapper_node && mapper != &pto_mapper_exact;
}

static pto_status_t try_mapper(choice_t *choice, const pto_mapper_t *mapper, pto_aim_t aim, int number) {
    static const char *const aim_text[PTO_AIM_COUNT] = {"", ", messages in turn", ", messages at once"};
    pto_map_candidate_t *candidate = add_candidate(choice);
    pto_error_t fault = {.status = PTO_OK};
    if (!candidate)
        return PTO_ERR_MEMORY;
    pto_map_problem_t problem = choice->problem;
    problem.aim = aim;
    problem.seed = choice->options->seed + (uint64_t)number;
    if (depends_on_seed(mapper))
        snprintf(candidate->name, sizeof candidate->name, "%.30s, seed %llu", mapper->name,
                 (unsigned long long)problem.seed);
    else
        snprintf(candidate->name, sizeof candidate->name, "%.30s%s", mapper->name, aim_text[aim]);
    pto_status_t status = pto_mapper_run(mapper, &problem, candidate->place, &fault);
    return finish(choice, candidate, status, &fault);
}

static int seeds_of(const choice_t *choice, const pto_mapper_t *mapper) {
    return depends_on_seed(mapper) && choice->options->seeds > 1 ? choice->options->seeds : 1;
}

static bool permutes(const choice_t *choice, const pto_mapper_t *mapper) {
    return mapper == &pto_mapper_exact && pto_layout_owner_count(&choice->layout) <= PTO_PERMUTED_MAX;
}

/* Tries all seeds of a mapper, and the other aims (pto_aim_t) if it tries all permutations. */
static pto_status_t try_seeds(choice_t *choice, const pto_mapper_t *mapper) {
    bool all = permutes(choice, mapper);
    pto_status_t status = PTO_OK;
    for (int number = 0; number < seeds_of(choice, mapper) && status == PTO_OK && !pto_is_stopped(); number++)
        status = try_mapper(choice, mapper, PTO_AIM_SUM, number);
    for (int aim = PTO_AIM_IN_TURN; aim < PTO_AIM_COUNT && all && status == PTO_OK && !pto_is_stopped();
         aim++)
        status = try_mapper(choice, mapper, (pto_aim_t)aim, 0);
    return status;
}

static bool has_phases(const choice_t *choice, const pto_mapper_t *mapper) {
    bool any = false;
    for (int phase = 0; phase < PTO_PHASE_COUNT; phase++)
        any = any || choice->options->phase[phase];
    return any && mapper != &pto_mapper_slot && mapper != &pto_mapper_node && mapper != &pto_mapper_random;
}

static pto_status_t try_phases(choice_t *choice, const pto_mapper_t *mapper) {
    const pto_places_t *places = choice->problem.places;
    const int64_t per_gpu = places->cores, per_node = places->gpus * per_gpu;
    const int64_t size[PTO_PHASE_COUNT] = {[PTO_PHASE_NODE] = per_node,
                                           [PTO_PHASE_CORE] =
                                               choice->layout.gpus_per_socket * per_gpu, /* a socket */
                                           [PTO_PHASE_GPU] = per_gpu};
    int64_t part_size[PTO_PHASE_COUNT];
    int part_count = 0;
    if (!has_phases(choice, mapper))
        return PTO_OK;
    for (int phase = 0; phase < PTO_PHASE_COUNT; phase++)
        if (choice->options->phase[phase])
            part_size[part_count++] = size[phase];
    pto_map_candidate_t *candidate = add_candidate(choice);
    pto_error_t fault = {.status = PTO_OK};
    if (!candidate)
        return PTO_ERR_MEMORY;
    snprintf(candidate->name, sizeof candidate->name, "%.30s in phases", mapper->name);
    pto_status_t status =
        pto_map_in_phases(&choice->problem, mapper, part_size, part_count, candidate->place, &fault);
    return finish(choice, candidate, status, &fault);
}

/* --- refinement ----------------------------------------------------------------------------------------- */

static bool is_better(const pto_map_candidate_t *one, const pto_map_candidate_t *than) {
    if (!pto_cost_is_same(one->seconds, than->seconds))
        return one->seconds < than->seconds;
    return one->sum < than->sum * (1 - 1e-12);
}

/* Lists the processes on a node, then the others. */
static void order_processes(const pto_map_result_t *result, const pto_map_candidate_t *candidate,
                            int64_t node, int64_t *order) {
    const int64_t per_node = result->places.gpus * result->places.cores;
    int64_t used = 0;
    for (int on_node = 1; on_node >= 0; on_node--)
        for (int64_t i = 0; i < result->flows.count; i++)
            if ((candidate->place[i] / per_node == node) == on_node)
                order[used++] = i;
}

/* Swaps the places of pairs of processes if that lowers the predicted time, or keeps it and lowers the sum of
 * costs. Computes at most `*budget` prices. Pairs are tried in turn, until all have failed since the last
 * swap that was kept. `last_first`: tries the processes of the last node to complete first, whose swaps are
 * the likeliest to lower the time. */
static pto_status_t refine(choice_t *choice, pto_map_candidate_t *candidate, bool last_first, int64_t *order,
                           int64_t *budget) {
    const pto_map_result_t *result = choice->result;
    const int64_t count = result->flows.count, cores = result->places.cores;
    pto_status_t status = PTO_OK;
    order_processes(result, candidate, last_first ? candidate->last_node : -1, order);
    for (int64_t n = 0, failed = 0; failed < count * count && status == PTO_OK; n++, failed++) {
        int64_t first = n / count % count, second = n % count, i = order[first], j = order[second];
        pto_map_candidate_t swapped = *candidate;
        if (first >= second || candidate->place[i] / cores == candidate->place[j] / cores)
            continue;
        if (*budget <= 0 || pto_is_stopped())
            break;
        --*budget;
        pto_map_swap(candidate->place, i, j);
        status = price(choice, candidate->strategy, candidate->chunks, &swapped);
        add_progress(choice);
        swapped.sum = pto_map_judge(&result->flows, &result->places, PTO_AIM_SUM, candidate->place);
        if (status == PTO_OK && is_better(&swapped, candidate)) {
            bool reorder = last_first && !pto_cost_is_same(swapped.seconds, candidate->seconds);
            *candidate = swapped;
            failed = 0;
            if (reorder)
                order_processes(result, candidate, candidate->last_node, order);
            n = reorder ? 0 : n;
        } else {
            pto_map_swap(candidate->place, i, j);
        }
    }
    return status;
}

/* Returns the maximum number of prices for the refinement. As swaps gain little, they get at most a small
 * share of the work that the limit leaves after the candidates. */
static int64_t budget_of(const choice_t *choice, const pto_strategy_t *strategy) {
    enum { PRICES_MAX = 1000, FEW = 64, SHARE_OF_LIMIT = 256 };
    const int64_t work = pto_cell_work(choice->scenario, choice->machine, 0, strategy);
    const int64_t left = pto_scenario_work_limit(choice->scenario) - choice->candidates_work;
    const int64_t affordable = left / SHARE_OF_LIMIT / (work > 0 ? work : 1);
    if (choice->options->refine >= 0)
        return choice->options->refine;
    const int64_t count = choice->result->flows.count;
    const int64_t max_prices = count < FEW ? PRICES_MAX * FEW / count : PRICES_MAX;
    return affordable < max_prices ? affordable : max_prices;
}

static void end_progress(choice_t *choice) {
    if (choice->shown)
        pto_progress_end();
    choice->shown = false;
}

/* Refines in both orders, which often end at different prices. `scratch` has room for two mappings. */
static pto_status_t refine_in_turn(choice_t *choice, const pto_map_candidate_t *best, int64_t budget,
                                   int64_t *scratch, pto_map_candidate_t *candidate) {
    const int64_t count = choice->result->flows.count;
    pto_status_t status = PTO_OK;
    for (int last_first = 1; last_first >= 0 && status == PTO_OK; last_first--) {
        pto_map_candidate_t refined = *best;
        refined.place = memcpy(scratch + count, best->place, (size_t)count * sizeof *scratch);
        status = refine(choice, &refined, last_first, scratch, &budget);
        if (status != PTO_OK || !is_better(&refined, candidate))
            continue;
        memcpy(candidate->place, refined.place, (size_t)count * sizeof *scratch);
        refined.place = candidate->place;
        *candidate = refined;
    }
    return status;
}

static pto_status_t refine_best(choice_t *choice) {
    pto_map_result_t *result = choice->result;
    const pto_map_candidate_t *best = &result->candidate[result->best];
    const size_t size = (size_t)result->flows.count * sizeof *best->place;
    int64_t budget = budget_of(choice, best->strategy), *place, *scratch;
    if (budget == 0)
        return PTO_OK;
    pto_map_candidate_t *candidate = add_candidate(choice);
    if (!candidate)
        return PTO_ERR_MEMORY;
    place = candidate->place;
    *candidate = *best;
    candidate->place = memcpy(place, best->place, size);
    scratch = calloc(2, size);
    if (!scratch)
        return pto_error_set(choice->err, PTO_ERR_MEMORY, "out of memory for a mapping");
    choice->shown = pto_progress_begin("refining the mapping", budget, 0);
    pto_status_t status = refine_in_turn(choice, best, budget, scratch, candidate);
    end_progress(choice);
    free(scratch);
    snprintf(candidate->name, sizeof candidate->name, "%.50s, refined",
             result->best == 0 ? "default" : best->name);
    if (status == PTO_OK && !is_better(candidate, best)) { /* no improvement */
        free(candidate->place);
        result->count--;
        return PTO_OK;
    }
    return status == PTO_OK ? finish(choice, candidate, PTO_OK, NULL) : status;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

static pto_status_t refuse_equal(pto_error_t *err) {
    pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                  "all processes send each other the same: there is nothing to map; give an alltoallv counts "
                  "that differ");
    return PTO_ERR_NOT_APPLICABLE;
}

/* Returns the number of candidates that try_seeds and try_phases make. */
static int candidates_of(const choice_t *choice, const pto_mapper_t *mapper) {
    if (mapper == &pto_mapper_slot)
        return 0;
    int aims = permutes(choice, mapper) ? PTO_AIM_COUNT - PTO_AIM_IN_TURN : 0;
    return seeds_of(choice, mapper) + aims + has_phases(choice, mapper);
}

/* Returns the work of greedy's swaps for one candidate. Each process tries the places near its partners, and
 * each try visits the partners of both processes, of which FLOWS_PER_UNIT take a unit of work. */
static int64_t swaps_work(const choice_t *choice) {
    enum { FLOWS_PER_UNIT = 512 };
    int64_t count = pto_layout_owner_count(&choice->layout);
    int64_t partners = pto_counts_partners(&choice->scenario->counts, count);
    int64_t tries = partners * choice->layout.gpus_per_node * choice->layout.owners_per_gpu;
    return count * (tries < count ? tries : count) / FLOWS_PER_UNIT * partners;
}

/* Checks the work of pricing all candidates, and of the refinement if its number of prices is given. */
static pto_status_t check_work(choice_t *choice) {
    const pto_map_options_t *options = choice->options;
    int64_t each = 0, of_greedy = 0;
    choice->candidates = 1;
    for (int m = 0; m < options->mapper_count; m++) {
        int candidates = candidates_of(choice, options->mapper[m]);
        choice->candidates += candidates;
        of_greedy += options->mapper[m] == &pto_mapper_greedy ? candidates : 0;
    }
    int64_t times = choice->candidates + (options->refine > 0 ? options->refine : 0);
    pto_status_t status = PTO_OK;
    if (of_greedy > 0)
        status = pto_check_amount(choice->scenario, "mapping takes the work of", swaps_work(choice),
                                  of_greedy, choice->err);
    if (status == PTO_OK)
        status = pto_check_work(choice->scenario, choice->machine, times, &each, choice->err);
    choice->candidates_work = status == PTO_OK ? choice->candidates * each : 0;
    return status;
}

static pto_status_t prepare(choice_t *choice) {
    const pto_scenario_t *scenario = choice->scenario;
    pto_map_result_t *result = choice->result;
    const pto_counts_t *counts = &scenario->counts;
    int64_t bytes = scenario->bytes.count > 0 ? scenario->bytes.value[0] : 0;
    if (scenario->collective != PTO_COLLECTIVE_ALLTOALLV || !pto_counts_differ(counts))
        return refuse_equal(choice->err);
    result->candidate = calloc(CANDIDATES_MAX + 1, sizeof *result->candidate);
    if (!result->candidate) {
        pto_error_set(choice->err, PTO_ERR_MEMORY, "out of memory for mappings");
        return PTO_ERR_MEMORY;
    }
    pto_status_t status = check_work(choice);
    if (status == PTO_OK)
        status = pto_flows_make(counts, bytes, pto_layout_owner_count(&choice->layout), &result->flows,
                                choice->err);
    if (status == PTO_OK)
        status = pto_places_make(choice->machine, &choice->layout, choice->options->metric, bytes,
                                 &result->places, choice->err);
    if (status == PTO_OK)
        status = pto_scenario_strategies(scenario, &choice->strategy, &choice->strategy_count, choice->err);
    choice->problem = (pto_map_problem_t){.flows = &result->flows, .places = &result->places};
    if (counts->grid.dim_count == 0 && counts->host)
        counts = counts->host;
    choice->problem.grid = counts->grid.dim_count > 0 ? &counts->grid : NULL;
    return status;
}

static pto_status_t choose(choice_t *choice) {
    const pto_map_options_t *options = choice->options;
    pto_status_t status = try_mapper(choice, &pto_mapper_slot, PTO_AIM_SUM, 0);
    if (status != PTO_OK)
        return status;
    snprintf(choice->result->candidate[0].name, sizeof choice->result->candidate[0].name, "default (slot)");
    choice->shown = pto_progress_begin("mapping", choice->candidates - 1, 0); /* the default is priced */
    for (int m = 0; m < options->mapper_count && status == PTO_OK && !pto_is_stopped(); m++) {
        if (options->mapper[m] != &pto_mapper_slot)
            status = try_seeds(choice, options->mapper[m]);
        if (status == PTO_OK)
            status = try_phases(choice, options->mapper[m]);
    }
    end_progress(choice);
    return status == PTO_OK && !pto_is_stopped() ? refine_best(choice) : status;
}

pto_status_t pto_map(const pto_scenario_t *scenario, const pto_machine_t *machine,
                     const pto_map_options_t *options, pto_map_result_t *result, pto_error_t *err) {
    *result = (pto_map_result_t){.count = 0};
    choice_t choice = {.scenario = scenario,
                       .machine = machine,
                       .options = options,
                       .layout = scenario->layout,
                       .result = result,
                       .err = err};
    pto_status_t status = prepare(&choice);
    if (status == PTO_OK)
        status = choose(&choice);
    free(choice.strategy);
    if (status != PTO_OK)
        pto_map_result_fini(result);
    return status;
}

void pto_map_result_fini(pto_map_result_t *result) {
    for (int i = 0; i < result->count; i++)
        free(result->candidate[i].place);
    free(result->candidate);
    pto_flows_fini(&result->flows);
    pto_places_fini(&result->places);
    *result = (pto_map_result_t){.count = 0};
}
