/* Choosing a mapping: every proposal is priced, and the default stays unless another one is predicted to be
 * faster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    int64_t candidates, candidates_work; /* at most, and of their prices */
    bool shown;                          /* whose progress is counted */
    pto_error_t *err;
} choice_t;

/* --- prices --------------------------------------------------------------------------------------------- */

/* The least price of the strategies from `first` to before `until`. */
static pto_status_t price(choice_t *choice, const int64_t *place, int first, int until, double *seconds,
                          int *strategy) {
    pto_scenario_t placed = *choice->scenario; /* borrows everything but the mapping */
    pto_error_t reason = {.status = PTO_ERR_NOT_APPLICABLE};
    pto_status_t status = pto_mapping_make(&choice->layout, place, &placed.mapping, choice->err);
    *strategy = -1;
    for (int s = first; s < until && status == PTO_OK; s++) {
        pto_plan_t *plan = NULL;
        pto_price_t cost = {0};
        pto_error_t fault = {.status = PTO_OK};
        status =
            pto_plan_choose(&placed, choice->machine, 0, choice->strategy[s], &plan, &cost, NULL, &fault);
        pto_plan_destroy(plan);
        if (status == PTO_OK && (*strategy < 0 || cost.seconds < *seconds)) {
            *seconds = cost.seconds;
            *strategy = s;
        }
        if (status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_TOO_LARGE) {
            reason = fault;
            status = PTO_OK;
        } else if (status != PTO_OK && choice->err) {
            *choice->err = fault;
        }
    }
    pto_mapping_fini(&placed.mapping);
    choice->result->priced++;
    if (status == PTO_OK && *strategy < 0)
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

/* Mappers and seeds often agree, and prices take longer than mapping. */
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

/* Price a candidate that a mapper has filled in, or keep the reason why it has not. */
static pto_status_t finish(choice_t *choice, pto_map_candidate_t *candidate, pto_status_t status,
                           const pto_error_t *fault) {
    pto_map_result_t *result = choice->result;
    int strategy;
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
        return PTO_OK;
    }
    candidate->sum = pto_map_judge(&result->flows, &result->places, PTO_AIM_SUM, candidate->place);
    status = price(choice, candidate->place, 0, choice->strategy_count, &candidate->seconds, &strategy);
    if (status != PTO_OK)
        return status;
    candidate->strategy = choice->strategy[strategy];
    const pto_map_candidate_t *best = &result->candidate[result->best];
    if (candidate->seconds < best->seconds && !pto_cost_is_same(candidate->seconds, best->seconds))
        result->best = (int)(candidate - result->candidate);
    return PTO_OK;
}

static bool depends_on_seed(const pto_mapper_t *mapper) {
    return mapper != &pto_mapper_slot && mapper != &pto_mapper_node && mapper != &pto_mapper_exact;
}

static pto_status_t try_mapper(choice_t *choice, const pto_mapper_t *mapper, pto_aim_t aim, int number) {
    static const char *const aims[PTO_AIM_COUNT] = {"", ", messages in turn", ", messages at once"};
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
        snprintf(candidate->name, sizeof candidate->name, "%.30s%s", mapper->name, aims[aim]);
    pto_status_t status = pto_mapper_run(mapper, &problem, candidate->place, &fault);
    return finish(choice, candidate, status, &fault);
}

static int seeds_of(const choice_t *choice, const pto_mapper_t *mapper) {
    return depends_on_seed(mapper) && choice->options->seeds > 1 ? choice->options->seeds : 1;
}

static bool permutes(const choice_t *choice, const pto_mapper_t *mapper) {
    return mapper == &pto_mapper_exact && pto_layout_owner_count(&choice->layout) <= PTO_PERMUTED_MAX;
}

/* All permutations can also be judged by the slowest process instead of by the sum. */
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
    const int64_t size[PTO_PHASE_COUNT] = {per_node, choice->layout.gpus_per_socket * per_gpu, per_gpu};
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

static bool is_better(double seconds, double sum, const pto_map_candidate_t *than) {
    if (!pto_cost_is_same(seconds, than->seconds))
        return seconds < than->seconds;
    return sum < than->sum * (1 - 1e-12);
}

static void swap(int64_t *place, int64_t i, int64_t j) {
    int64_t kept = place[i];
    place[i] = place[j];
    place[j] = kept;
}

/* Swap pairs as long as the price falls, or stays and the sum falls; at most `budget` prices. */
static pto_status_t refine(choice_t *choice, pto_map_candidate_t *candidate, int strategy, int64_t budget) {
    const pto_map_result_t *result = choice->result;
    int64_t count = result->flows.count, cores = result->places.cores, last = -1;
    bool better = true;
    while (better) {
        better = false;
        for (int64_t n = 0; n < count * count; n++) {
            int64_t i = n / count, j = n % count;
            if (n == last) /* as many pairs as there are have been tried since the last good one */
                return PTO_OK;
            if (i >= j || candidate->place[i] / cores == candidate->place[j] / cores)
                continue;
            if (budget-- <= 0 || pto_is_stopped())
                return PTO_OK;
            double seconds = 0;
            int chosen;
            swap(candidate->place, i, j);
            pto_status_t status = price(choice, candidate->place, strategy, strategy + 1, &seconds, &chosen);
            add_progress(choice);
            double sum = pto_map_judge(&result->flows, &result->places, PTO_AIM_SUM, candidate->place);
            if (status == PTO_OK && is_better(seconds, sum, candidate)) {
                candidate->seconds = seconds;
                candidate->sum = sum;
                better = true;
                last = n;
                continue;
            }
            swap(candidate->place, i, j);
            if (status != PTO_OK)
                return status;
        }
    }
    return PTO_OK;
}

/* How often `work` fits into a quarter of what the candidates leave of the limit: swaps gain little. */
static int64_t fitting(const choice_t *choice, int64_t work) {
    int64_t left = pto_scenario_work_limit(choice->scenario) - choice->candidates_work;
    return left / 4 / (work > 0 ? work : 1);
}

static int64_t budget_of(const choice_t *choice, int strategy) {
    enum { PRICES_MAX = 2000 };
    int64_t prices =
        fitting(choice, pto_cell_work(choice->scenario, choice->machine, 0, choice->strategy[strategy]));
    if (choice->options->refine >= 0)
        return choice->options->refine;
    return prices < PRICES_MAX ? prices : PRICES_MAX;
}

static void end_progress(choice_t *choice) {
    if (choice->shown)
        pto_progress_end();
    choice->shown = false;
}

static pto_status_t refine_best(choice_t *choice) {
    pto_map_result_t *result = choice->result;
    int from = result->best, strategy = 0;
    const pto_map_candidate_t *best = &result->candidate[from];
    while (choice->strategy[strategy] != best->strategy)
        strategy++;
    int64_t budget = budget_of(choice, strategy);
    if (budget == 0)
        return PTO_OK;
    pto_map_candidate_t *candidate = add_candidate(choice);
    if (!candidate)
        return PTO_ERR_MEMORY;
    memcpy(candidate->place, best->place, (size_t)result->flows.count * sizeof *candidate->place);
    snprintf(candidate->name, sizeof candidate->name, "%.50s, refined", from == 0 ? "default" : best->name);
    candidate->seconds = best->seconds;
    candidate->sum = best->sum;
    choice->shown = pto_progress_begin("refining the mapping", budget, 0);
    pto_status_t status = refine(choice, candidate, strategy, budget);
    end_progress(choice);
    if (status == PTO_OK && !is_better(candidate->seconds, candidate->sum, best)) { /* nothing was found */
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

/* As many as try_seeds and try_phases make. */
static int candidates_of(const choice_t *choice, const pto_mapper_t *mapper) {
    if (mapper == &pto_mapper_slot)
        return 0;
    int aims = permutes(choice, mapper) ? PTO_AIM_COUNT - PTO_AIM_IN_TURN : 0;
    return seeds_of(choice, mapper) + aims + has_phases(choice, mapper);
}

/* The work of greedy's swaps for one of its candidates: each process tries the places near its partners, and
 * each try looks at the partners of both, some hundreds in a microsecond. */
static int64_t swaps_work(const choice_t *choice) {
    enum { FLOWS_A_UNIT = 512 };
    int64_t count = pto_layout_owner_count(&choice->layout);
    int64_t partners = pto_counts_partners(&choice->scenario->counts, count);
    int64_t tries = partners * choice->layout.gpus_per_node * choice->layout.owners_per_gpu;
    return count * (tries < count ? tries : count) / FLOWS_A_UNIT * partners;
}

/* The prices of all candidates, and those of the refinement if its number is given. */
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
