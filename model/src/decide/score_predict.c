/* The model's predictions and picks for the cells of a score, by the same calls as `predict` and `pick`, also
 * with a machine that was fitted without the cell's node count (leave one out). */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/grow.h"
#include "base/text_file.h"
#include "decide/candidates.h"
#include "portolan/progress.h"
#include "portolan/score.h"

static pto_status_t out_of_memory(pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for predictions");
}

void pto_score_rank(pto_score_cell_t *cell, double clear_margin) {
    const pto_score_candidate_t *candidate = cell->candidate;
    int best = 0, second = -1;
    for (int c = 1; c < cell->candidate_count; c++)
        if (candidate[c].measured_s < candidate[best].measured_s)
            best = c;
    for (int c = 0; c < cell->candidate_count; c++)
        if (c != best && (second < 0 || candidate[c].measured_s < candidate[second].measured_s))
            second = c;
    cell->best = best;
    cell->margin = second < 0 ? 0 : candidate[second].measured_s / candidate[best].measured_s - 1;
    cell->clear = second >= 0 && cell->margin >= clear_margin;
}

double pto_score_regret(const pto_score_cell_t *cell, int candidate) {
    return cell->candidate[candidate].measured_s / cell->candidate[cell->best].measured_s - 1;
}

/* A cell becomes a single point with its candidates as strategies, which pto_pick can judge. */
pto_status_t pto_score_pick(pto_score_cell_t *cell, pto_error_t *err) {
    const pto_predictions_t point = {.sweep = PTO_SWEEP_BYTES,
                                     .point_count = 1,
                                     .point = &cell->bytes,
                                     .strategy_count = cell->candidate_count,
                                     .prediction = cell->prediction};
    pto_range_t *range = NULL;
    int64_t count = 0;
    pto_status_t status = pto_pick(&point, &range, &count, err);
    if (status != PTO_OK)
        return status;
    cell->picked = range[0].winner;
    cell->regret = cell->picked >= 0 ? pto_score_regret(cell, cell->picked) : 0;
    cell->runner_up = range[0].runner_up;
    for (int c = 0; c < cell->candidate_count; c++)
        if (pto_range_is_tied(&point, &range[0], c))
            cell->runner_up = c;
    cell->near_tie = range[0].near_tie || range[0].overlap || range[0].tied > 0;
    free(range);
    return PTO_OK;
}

static pto_status_t note_unpriced(pto_score_t *score, const pto_explanation_t *explanation,
                                  pto_error_t *err) {
    for (int t = 0; t < explanation->count; t++) {
        const pto_term_t *term = &explanation->term[t];
        int index = 0; /* of the key in the list; the list's length if it is new */
        while (index < score->unpriced_count && strcmp(score->unpriced[index], term->key) != 0)
            index++;
        if (term->param || index < score->unpriced_count)
            continue;
        if (!PTO_EXTEND(score->unpriced, index))
            return out_of_memory(err);
        memcpy(score->unpriced[score->unpriced_count++], term->key, sizeof term->key);
    }
    return PTO_OK;
}

static pto_status_t price_candidate(pto_score_t *score, const pto_scenario_t *scenario,
                                    const pto_machine_t *machine, const pto_strategy_t *strategy,
                                    pto_prediction_t *prediction, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_status_t status = pto_plan_choose(scenario, machine, 0, strategy, &plan, &prediction->price,
                                          &prediction->explanation, err);
    if (status == PTO_OK) {
        prediction->applicable = true;
        prediction->algorithm = pto_plan_request(plan)->algorithm;
        prediction->staged_members = pto_plan_request(plan)->staged_members;
        prediction->chunks = pto_plan_request(plan)->chunks;
        status = note_unpriced(score, &prediction->explanation, err);
    }
    pto_plan_destroy(plan);
    return status;
}

/* Returns the number of chunks of a candidate; 0: the cheapest one. If its rows do not say, that is 0 for
 * strategies that move the data themselves, and 1 for the others. */
static int64_t chunks_of(const pto_score_candidate_t *candidate) {
    if (candidate->chunks > 0)
        return candidate->chunks;
    return candidate->strategy->direct ? 0 : 1;
}

/* Returns a scenario of one point that borrows all but the name of a library's algorithm. `*nodes` and
 * `*bytes` are memory for its series. */
static pto_scenario_t scenario_of(const pto_score_cell_t *cell, int candidate, int64_t *nodes,
                                  int64_t *bytes) {
    pto_scenario_t scenario;
    pto_scenario_init(&scenario);
    *nodes = cell->nodes;
    *bytes = cell->bytes;
    scenario.collective = cell->collective;
    if (pto_collective_is_in_mpi(cell->collective)) /* else it consists of messages */
        scenario.implementation = cell->implementation;
    if (cell->collective == PTO_COLLECTIVE_PAIR) {
        scenario.distance = cell->distance;
        scenario.ends = cell->ends;
    }
    if (cell->collective == PTO_COLLECTIVE_HALO)
        scenario.halo = cell->halo;
    if (cell->candidate[candidate].strategy->by_hand)
        scenario.library.own = cell->candidate[candidate].algorithm;
    scenario.chunks = chunks_of(&cell->candidate[candidate]);
    scenario.datatype = cell->datatype;
    scenario.staged_members = cell->candidate[candidate].staged_members;
    scenario.layout = (pto_layout_t){.nodes = cell->nodes,
                                     .gpus_per_node = cell->gpus_per_node,
                                     .owners_per_gpu = cell->owners_per_gpu,
                                     .procs_per_gpu = cell->procs_per_gpu,
                                     .in_host = cell->in_host};
    scenario.memory = cell->in_host ? PTO_MEMORY_HOST : PTO_MEMORY_GPU;
    scenario.nodes = (pto_series_t){.value = nodes, .count = 1};
    scenario.bytes = (pto_series_t){.value = bytes, .count = 1};
    return scenario;
}

/* Returns whether a status is the reason why a candidate has no prediction (a limitation of the scenario, the
 * strategy or the algorithm) rather than a failure of this program. */
static bool is_reason(pto_status_t status) {
    return status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_RANGE || status == PTO_ERR_KEY ||
           status == PTO_ERR_NOT_FOUND;
}

static pto_status_t check_and_bind(pto_scenario_t *scenario, const pto_machine_t *machine, pto_error_t *err) {
    pto_status_t status = pto_scenario_check(scenario, err);
    return status == PTO_OK ? pto_scenario_bind(scenario, machine, err) : status;
}

static pto_status_t predict_candidate(pto_score_t *score, pto_score_cell_t *cell, int index,
                                      const pto_machine_t *machine, pto_error_t *err) {
    const pto_score_candidate_t *candidate = &cell->candidate[index];
    pto_prediction_t *prediction = &cell->prediction[index];
    int64_t nodes, bytes;
    pto_scenario_t scenario = scenario_of(cell, index, &nodes, &bytes);
    pto_error_t cause = {0};
    if (candidate->algorithm && !candidate->strategy->by_hand) {
        scenario.library.name = pto_text_copy(candidate->algorithm);
        if (!scenario.library.name)
            return out_of_memory(err);
    }
    memset(prediction, 0, sizeof *prediction);
    pto_status_t status = check_and_bind(&scenario, machine, &cause);
    if (status == PTO_OK)
        status = price_candidate(score, &scenario, machine, candidate->strategy, prediction, &cause);
    free(scenario.library.name);
    if (is_reason(status)) {
        memcpy(prediction->reason, cause.message, sizeof prediction->reason);
        return PTO_OK;
    }
    if (status != PTO_OK && err)
        *err = cause;
    return status;
}

/* Pricing a plan with equal byte counts takes about as long as pricing this many messages of a table. */
enum { WORK_OF_PRICE = 10 };

int64_t pto_score_work(const pto_score_t *score, const pto_machine_t *machine) {
    int64_t work = 0;
    for (int64_t i = 0; i < score->cell_count; i++)
        for (int c = 0; c < score->cell[i].candidate_count; c++) {
            int64_t nodes, bytes, more = 0;
            pto_scenario_t scenario = scenario_of(&score->cell[i], c, &nodes, &bytes);
            if (check_and_bind(&scenario, machine, NULL) == PTO_OK)
                more = pto_cell_work(&scenario, machine, 0, score->cell[i].candidate[c].strategy);
            if (!pto_add(work, WORK_OF_PRICE, &work) || !pto_add(work, more, &work))
                return INT64_MAX;
        }
    return work;
}

pto_status_t pto_score_predict(pto_score_t *score, const pto_machine_t *machine, int64_t nodes,
                               pto_error_t *err) {
    pto_status_t status = PTO_OK;
    const bool shown = pto_progress_begin("scoring", score->cell_count, 0);
    for (int64_t i = 0; i < score->cell_count && status == PTO_OK; i++) {
        pto_score_cell_t *cell = &score->cell[i];
        if (shown)
            pto_progress_add(1);
        if (pto_is_stopped() && i > 0 && nodes == 0) {
            pto_score_cut(score, i);
            break;
        }
        if (pto_is_stopped())
            status = pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted");
        if (nodes != 0 && cell->nodes != nodes)
            continue;
        for (int c = 0; c < cell->candidate_count && status == PTO_OK; c++)
            status = predict_candidate(score, cell, c, machine, err);
        if (status == PTO_OK)
            status = pto_score_pick(cell, err);
        for (int c = 0; c < cell->candidate_count; c++) /* they point into the machine */
            pto_explanation_fini(&cell->prediction[c].explanation);
    }
    if (shown)
        pto_progress_end();
    return status;
}

pto_status_t pto_score_price(const pto_score_cell_t *cell, int candidate, const pto_machine_t *machine,
                             const pto_library_rule_t *rule, int64_t *call_bytes, double *seconds,
                             pto_error_t *err) {
    int64_t nodes, bytes;
    const pto_strategy_t *strategy = cell->candidate[candidate].strategy;
    pto_library_rule_t one = {0};
    pto_scenario_t scenario = scenario_of(cell, candidate, &nodes, &bytes);
    pto_plan_t *plan = NULL;
    pto_price_t price = {0};
    pto_error_t cause = {0};
    if (rule) {
        one = *rule;
        scenario.library.rule = &one;
        scenario.library.rule_count = 1;
    }
    pto_status_t status = check_and_bind(&scenario, machine, &cause);
    if (status == PTO_OK)
        status = pto_plan_choose(&scenario, machine, 0, strategy, &plan, &price, NULL, &cause);
    if (status == PTO_OK && call_bytes)
        *call_bytes = pto_request_call(pto_plan_request(plan)).bytes;
    pto_plan_destroy(plan);
    *seconds = price.seconds;
    if (status != PTO_OK && !is_reason(status) && err)
        *err = cause;
    return is_reason(status) ? PTO_OK : status;
}

const pto_library_rule_t *pto_score_rule(const pto_score_cell_t *cell, int candidate,
                                         const pto_machine_t *machine, const pto_library_rule_t *rule) {
    int64_t nodes, bytes;
    pto_scenario_t scenario = scenario_of(cell, candidate, &nodes, &bytes);
    if (pto_scenario_bind(&scenario, machine, NULL) != PTO_OK)
        return NULL;
    pto_request_t request = pto_scenario_request(&scenario, 0, cell->candidate[candidate].strategy, NULL);
    if (!pto_library_has_rules(&request))
        return NULL;
    return rule ? rule : pto_library_rule(&scenario, machine, &request);
}

int64_t pto_score_next_nodes(const pto_score_t *score, int64_t above) {
    int64_t next = 0;
    for (int64_t i = 0; i < score->cell_count; i++)
        if (score->cell[i].nodes > above && (next == 0 || score->cell[i].nodes < next))
            next = score->cell[i].nodes;
    return next;
}

/* Returns the node counts of a score other than one. */
static pto_node_counts_t all_but(const pto_score_t *score, int64_t left_out) {
    pto_node_counts_t others = {0};
    for (int64_t nodes = pto_score_next_nodes(score, 0); nodes > 0;
         nodes = pto_score_next_nodes(score, nodes))
        if (nodes != left_out && others.count < PTO_NODE_COUNTS_MAX)
            others.value[others.count++] = nodes;
    return others;
}

/* Predicts the cells of one node count by a machine that is fitted to the others, and sets their baselines by
 * the cells of the others. */
static pto_status_t leave_out(pto_score_t *score, const pto_collectives_t *collectives,
                              const pto_machine_t *machine, pto_score_refit_t refit, void *context,
                              int64_t nodes, pto_error_t *err) {
    pto_machine_t *fitted = NULL;
    pto_score_t train = {0};
    pto_score_options_t others = score->options;
    others.nodes = all_but(score, nodes);
    pto_status_t status = refit(machine, collectives, &others.nodes, context, &fitted, err);
    if (status == PTO_OK)
        status = pto_score_predict(score, fitted, nodes, err);
    if (status == PTO_OK)
        status = pto_score_collect(collectives, &others, &train, err);
    if (status == PTO_OK)
        status = pto_score_predict(&train, fitted, 0, err);
    if (status == PTO_OK && pto_is_stopped()) /* the training set may be incomplete */
        status = pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted");
    if (status == PTO_OK)
        status = pto_score_learn(score, &train, nodes, err);
    pto_score_fini(&train);
    pto_machine_destroy(fitted);
    return status;
}

pto_status_t pto_score_leave_one_out(pto_score_t *score, const pto_collectives_t *collectives,
                                     const pto_machine_t *machine, pto_score_refit_t refit, void *context,
                                     pto_error_t *err) {
    int64_t nodes = pto_score_next_nodes(score, 0);
    if (pto_score_next_nodes(score, nodes) == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "only one node count was measured, so there is none to leave out");
    pto_status_t status = PTO_OK;
    int done = 0;
    const bool shown = pto_progress_begin("leaving node counts out", all_but(score, 0).count, 0);
    for (; nodes > 0; nodes = pto_score_next_nodes(score, nodes), done++) {
        status = leave_out(score, collectives, machine, refit, context, nodes, err);
        if (status != PTO_OK)
            break;
        if (shown)
            pto_progress_add(1);
    }
    if (shown)
        pto_progress_end();
    if (status != PTO_ERR_INTERRUPTED || done == 0)
        return status;
    pto_score_cut_nodes(score, nodes);
    return PTO_OK;
}
