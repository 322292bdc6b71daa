/* Predicts a step of an application, and the cheapest mix of strategies for its calls. A step is a sequence
 * of entries; an entry has calls, which run at the same time, and computations. A mix is a strategy for each
 * call. The calls are priced one by one, each on the layout of one communicator, and on the machine that this
 * communicator has while the others of its node make the same call. Calls at the same time share resources
 * like parallel branches of a plan (docs/model.md, equation 8e). */
#include "portolan/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "decide/step_internal.h"
#include "machine/share.h"
#include "portolan/progress.h"
#include "scenario/check.h"

/* The resources that calls share. Each term of a price occupies one (resource_of). */
typedef enum {
    RESOURCE_OUT, /* copies from the GPU to the host */
    RESOURCE_IN,  /* copies from the host to the GPU */
    RESOURCE_GPU,
    RESOURCE_CPU,
    RESOURCE_MESSAGES, /* and the node's NICs and links */
    RESOURCE_MEMORY,
    RESOURCE_COUNT
} resource_t;

/* The time for which calls occupy resources: the terms of the prices, which are on the longest paths, and the
 * occupied times of the explanations, which are complete. */
typedef struct {
    double seconds[RESOURCE_COUNT];
    double occupied_s[PTO_OCCUPIED_COUNT];
} demand_t;

static resource_t copy_resource(const char *key) {
    if (strstr(key, "d2h"))
        return RESOURCE_OUT;
    if (strstr(key, "h2d"))
        return RESOURCE_IN;
    return strstr(key, "h2h") ? RESOURCE_CPU : RESOURCE_GPU;
}

static resource_t resource_of(const char *key, bool leaves_node) {
    if (pto_text_begins(key, "copies."))
        return copy_resource(key);
    if (pto_text_begins(key, "memory."))
        return RESOURCE_MEMORY;
    if (pto_text_begins(key, "reduce.cpu") || pto_text_begins(key, "signals.flag_s"))
        return RESOURCE_CPU;
    if (pto_text_begins(key, "messages.") || pto_text_begins(key, "gap.") ||
        pto_text_begins(key, "injection.") || pto_text_begins(key, "network.") ||
        pto_text_begins(key, "fabric.") || pto_text_begins(key, "topology."))
        return RESOURCE_MESSAGES;
    return pto_text_begins(key, "nccl.") && leaves_node ? RESOURCE_MESSAGES : RESOURCE_GPU;
}

/* Adds a call of `times` repetitions; `times` may be a fraction (share_at). */
static void add_demand(demand_t *demand, const pto_prediction_t *prediction, const pto_layout_t *layout,
                       double times) {
    const pto_explanation_t *explanation = &prediction->explanation;
    for (int t = 0; t < explanation->count; t++)
        demand->seconds[resource_of(explanation->term[t].key, layout->nodes > 1)] +=
            explanation->term[t].seconds * times;
    for (int what = 0; what < PTO_OCCUPIED_COUNT; what++)
        demand->occupied_s[what] += explanation->occupied_s[what] * times;
}

/* Returns the least time that satisfies the demand. */
static double least_seconds(const demand_t *demand) {
    double seconds = 0;
    for (int r = 0; r < RESOURCE_COUNT; r++)
        seconds = fmax(seconds, demand->seconds[r]);
    for (int what = 0; what < PTO_OCCUPIED_COUNT; what++)
        seconds = fmax(seconds, demand->occupied_s[what]);
    return seconds;
}

/* Calls are in the order of their entries. */
pto_step_calls_t pto_step_calls(const pto_workload_t *workload, int entry) {
    int low = 0, high = workload->call_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (workload->call[middle].entry < entry)
            low = middle + 1;
        else
            high = middle;
    }
    while (high < workload->call_count && workload->call[high].entry == entry)
        high++;
    return (pto_step_calls_t){low, high};
}

/* Returns the index of a strategy among a call's predictions; strategy_count if it is not among them. */
static int find_strategy(const pto_predictions_t *predictions, const pto_strategy_t *strategy) {
    int i = 0;
    while (i < predictions->strategy_count && predictions->strategy[i] != strategy)
        i++;
    return i;
}

/* Returns a call's prediction by a strategy (NULL: by that of the mix); NULL if it does not apply. */
static const pto_prediction_t *prediction_of(const pto_step_call_t *call, const pto_strategy_t *strategy) {
    const pto_predictions_t *predictions = &call->predictions;
    int i = strategy ? find_strategy(predictions, strategy) : call->best;
    if (!predictions->prediction || i >= predictions->strategy_count)
        return NULL;
    const pto_prediction_t *prediction = pto_prediction_at(predictions, 0, i);
    return prediction->applicable ? prediction : NULL;
}

const pto_prediction_t *pto_step_call_prediction(const pto_step_prediction_t *step, int call,
                                                 const pto_strategy_t *strategy) {
    return prediction_of(&step->call[call], strategy);
}

bool pto_step_call_seconds(const pto_step_prediction_t *step, int call, const pto_strategy_t *strategy,
                           double *seconds) {
    const pto_prediction_t *prediction = prediction_of(&step->call[call], strategy);
    *seconds = prediction ? prediction->price.seconds : 0;
    return prediction != NULL;
}

typedef enum {
    AT_LOW, /* the low ends of the prices' intervals */
    AT_PRICE,
    AT_HIGH /* their high ends */
} at_t;

/* Returns an end of a price's interval as a multiple of the price. Without an interval, 1. */
static double share_at(const pto_price_t *price, at_t at) {
    if (at == AT_PRICE || !price->has_interval || !(price->seconds > 0))
        return 1;
    return (at == AT_LOW ? price->low_s : price->high_s) / price->seconds;
}

/* Sets the time of an entry's calls by a strategy (NULL: by the mix). False: it does not apply to all. */
static bool entry_at(const pto_step_prediction_t *step, int entry, const pto_strategy_t *strategy, at_t at,
                     double *seconds) {
    const pto_step_calls_t range = pto_step_calls(step->workload, entry);
    demand_t demand = {.seconds = {0}};
    int calls = 0;
    *seconds = 0;
    for (int i = range.from; i < range.to; i++) {
        const pto_workload_call_t *call = &step->workload->call[i];
        if (!pto_workload_is_call(call) || step->call[i].left_out)
            continue;
        const pto_prediction_t *prediction = prediction_of(&step->call[i], strategy);
        if (!prediction)
            return false;
        const double times = (double)call->times * share_at(&prediction->price, at);
        *seconds = fmax(*seconds, times * prediction->price.seconds);
        add_demand(&demand, prediction, &call->scenario.layout, times);
        calls++;
    }
    if (calls > 1)
        *seconds = fmax(*seconds, least_seconds(&demand));
    return true;
}

bool pto_step_entry_seconds(const pto_step_prediction_t *step, int entry, const pto_strategy_t *strategy,
                            double *seconds) {
    return entry_at(step, entry, strategy, AT_PRICE, seconds);
}

double pto_step_compute_s(const pto_workload_t *workload, int entry) {
    const pto_step_calls_t range = pto_step_calls(workload, entry);
    double seconds = 0;
    for (int i = range.from; i < range.to; i++)
        if (!pto_workload_is_call(&workload->call[i]))
            seconds += (double)workload->call[i].times * workload->call[i].compute_s;
    return seconds;
}

/* Adds up all entries by a strategy (NULL: by the mix). Returns false if it does not apply to all calls. */
static bool add_up_at(const pto_step_prediction_t *step, const pto_strategy_t *strategy, at_t at,
                      pto_step_end_t *end) {
    *end = (pto_step_end_t){0};
    for (int entry = 0; entry < step->workload->entry_count; entry++) {
        double communication_s, compute_s = pto_step_compute_s(step->workload, entry);
        if (!entry_at(step, entry, strategy, at, &communication_s))
            return false;
        end->communication_s += communication_s;
        end->exposed_s += fmax(communication_s - compute_s, 0);
        end->step_s += fmax(communication_s, compute_s);
    }
    return true;
}

/* Returns whether all prices have intervals; a price of 0 s needs none. */
static bool have_intervals(const pto_step_prediction_t *step, const pto_strategy_t *strategy) {
    for (int i = 0; i < step->workload->call_count; i++) {
        const pto_prediction_t *prediction = prediction_of(&step->call[i], strategy);
        if (prediction && prediction->price.seconds > 0 && !prediction->price.has_interval)
            return false;
    }
    return true;
}

static pto_step_route_t add_up(const pto_step_prediction_t *step, const pto_strategy_t *strategy) {
    pto_step_route_t route = {.strategy = strategy};
    pto_step_end_t sum;
    route.applicable = add_up_at(step, strategy, AT_PRICE, &sum);
    if (!route.applicable)
        return route;
    route.communication_s = sum.communication_s;
    route.exposed_s = sum.exposed_s;
    route.seconds = sum.step_s;
    route.has_interval = have_intervals(step, strategy) && add_up_at(step, strategy, AT_LOW, &route.low) &&
                         add_up_at(step, strategy, AT_HIGH, &route.high);
    return route;
}

/* Changes the strategy of one call at a time, as long as the entry gets faster. Returns its time. */
static double improve(pto_step_prediction_t *step, int entry) {
    const pto_step_calls_t range = pto_step_calls(step->workload, entry);
    double best_s, seconds;
    if (!pto_step_entry_seconds(step, entry, NULL, &best_s))
        return INFINITY;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = range.from; i < range.to; i++) {
            pto_step_call_t *call = &step->call[i];
            int kept = call->best;
            for (int s = 0; s < call->predictions.strategy_count; s++) {
                call->best = s;
                if (pto_step_entry_seconds(step, entry, NULL, &seconds) && seconds < best_s) {
                    best_s = seconds;
                    kept = s;
                    changed = true;
                }
            }
            call->best = kept;
        }
    }
    return best_s;
}

/* Sets the strategy of all calls of an entry. Returns false if it is not among the predictions of a call. */
static bool choose_for_all(pto_step_prediction_t *step, int entry, const pto_strategy_t *strategy) {
    const pto_step_calls_t range = pto_step_calls(step->workload, entry);
    for (int i = range.from; i < range.to; i++) {
        const pto_predictions_t *predictions = &step->call[i].predictions;
        int s = find_strategy(predictions, strategy);
        if (!pto_workload_is_call(&step->workload->call[i]) || step->call[i].left_out)
            continue;
        if (s == predictions->strategy_count)
            return false;
        step->call[i].best = s;
    }
    return true;
}

static void keep_choice(const pto_step_prediction_t *step, int entry, int *chosen) {
    const pto_step_calls_t range = pto_step_calls(step->workload, entry);
    for (int i = range.from; i < range.to; i++)
        chosen[i] = step->call[i].best;
}

static void restore_choice(pto_step_prediction_t *step, int entry, const int *chosen) {
    const pto_step_calls_t range = pto_step_calls(step->workload, entry);
    for (int i = range.from; i < range.to; i++)
        step->call[i].best = chosen[i];
}

/* Chooses strategies for an entry's calls. The cheapest of each call may not be the cheapest together, so the
 * mix is improved from there, and from each strategy for all calls. `chosen`: memory for the best mix. */
static void choose_mix(pto_step_prediction_t *step, int entry, int *chosen) {
    double best_s = improve(step, entry);
    keep_choice(step, entry, chosen);
    for (int r = 0; r < step->route_count; r++) {
        double seconds =
            choose_for_all(step, entry, step->route[r].strategy) ? improve(step, entry) : INFINITY;
        if (seconds < best_s) {
            best_s = seconds;
            keep_choice(step, entry, chosen);
        }
        restore_choice(step, entry, chosen);
    }
}

static pto_status_t predict_call(const pto_workload_t *workload, const pto_workload_call_t *call,
                                 const pto_machine_t *machine, pto_step_call_t *result, pto_error_t *err) {
    const pto_communicators_t *shared = &call->communicators;
    const bool leaves_node = call->scenario.layout.nodes > 1;
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = PTO_OK;
    if (machine->fabric.levels > 0 && shared->has_gaps)
        status = pto_error_set(&fault, PTO_ERR_NOT_APPLICABLE,
                               "on a machine with a fabric, the nodes of a communicator must be consecutive");
    if (status == PTO_OK)
        status = pto_machine_share(machine,
                                   (pto_sharers_t){.network = leaves_node ? shared->per_node : 1,
                                                   .links = shared->per_node,
                                                   .memory = shared->per_socket},
                                   &result->machine, &fault);
    if (status == PTO_OK)
        status = pto_predict(&call->scenario, result->machine, true, &result->predictions, &fault);
    if (status != PTO_OK)
        return pto_workload_call_error(workload, call, &fault, err);
    result->best = pto_pick_at(&result->predictions, 0);
    return PTO_OK;
}

static bool applies_anywhere(const pto_step_prediction_t *step, const pto_strategy_t *strategy) {
    for (int i = 0; i < step->workload->call_count; i++)
        if (prediction_of(&step->call[i], strategy))
            return true;
    return false;
}

/* Returns whether a status is a limitation of the call, the machine or the strategies, not a failure. */
static bool can_be_left_out(pto_status_t status) {
    return status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_RANGE || status == PTO_ERR_KEY ||
           status == PTO_ERR_NOT_FOUND || status == PTO_ERR_TOO_LARGE;
}

/* Prices one call, or leaves it out and sets `*reason`. If `*reason` is an error already, the caller has
 * found that the call cannot be priced. */
static pto_status_t try_call(pto_step_prediction_t *step, int i, const pto_machine_t *machine,
                             pto_error_t *reason, pto_error_t *err) {
    pto_step_call_t *call = &step->call[i];
    if (reason->status == PTO_OK &&
        predict_call(step->workload, &step->workload->call[i], machine, call, reason) == PTO_OK)
        return PTO_OK;
    call->left_out = can_be_left_out(reason->status);
    if (call->left_out)
        return PTO_OK;
    if (err)
        *err = *reason;
    return reason->status;
}

/* Prices all calls, and the step by each strategy. `left_out`: NULL, or an error for each call, as `reason`
 * of try_call; then only a step without any price fails. */
static pto_status_t predict_calls(pto_step_prediction_t *step, const pto_machine_t *machine,
                                  pto_error_t *left_out, pto_error_t *err) {
    const pto_workload_t *workload = step->workload;
    pto_status_t status = PTO_OK;
    int priced = 0, first = -1;
    const bool shown = pto_progress_begin("pricing calls", workload->call_count, 0);
    for (int i = 0; i < workload->call_count && status == PTO_OK; i++) {
        if (shown)
            pto_progress_add(1);
        if (!pto_workload_is_call(&workload->call[i]))
            continue;
        status = left_out ? try_call(step, i, machine, &left_out[i], err)
                          : predict_call(workload, &workload->call[i], machine, &step->call[i], err);
        priced += !step->call[i].left_out;
        first = step->call[i].left_out && first < 0 ? i : first;
    }
    if (shown)
        pto_progress_end();
    if (status == PTO_OK && left_out && priced == 0 && first >= 0) {
        if (err)
            *err = left_out[first];
        return left_out[first].status;
    }
    for (int i = 0; i < pto_strategy_count() && status == PTO_OK; i++)
        if (applies_anywhere(step, pto_strategy_at(i)))
            step->route[step->route_count++] = add_up(step, pto_strategy_at(i));
    return status;
}

static void mix_calls(pto_step_prediction_t *step, int *chosen) {
    for (int entry = 0; entry < step->workload->entry_count; entry++) {
        choose_mix(step, entry, chosen);
        step->compute_s += pto_step_compute_s(step->workload, entry);
    }
    step->mix = add_up(step, NULL);
}

void pto_step_add_up_mix(pto_step_prediction_t *step) { step->mix = add_up(step, NULL); }

pto_status_t pto_step_predict(const pto_workload_t *workload, const pto_machine_t *machine,
                              pto_step_prediction_t *step, pto_error_t *err) {
    return pto_step_predict_some(workload, machine, NULL, step, err);
}

pto_status_t pto_step_predict_some(const pto_workload_t *workload, const pto_machine_t *machine,
                                   pto_error_t *left_out, pto_step_prediction_t *step, pto_error_t *err) {
    size_t calls = (size_t)workload->call_count + 1;
    int *chosen = calloc(calls, sizeof *chosen);
    pto_step_prediction_t result = {
        .workload = workload,
        .call = calloc(calls, sizeof *result.call),
        .route = calloc((size_t)pto_strategy_count() + 1, sizeof *result.route),
    };
    pto_status_t status;
    if (!result.call || !result.route || !chosen)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a step");
    else
        status = predict_calls(&result, machine, left_out, err);
    if (status == PTO_OK && pto_is_stopped()) /* the last call may lack strategies */
        status = pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted before all calls were priced");
    if (status == PTO_OK && chosen)
        mix_calls(&result, chosen);
    free(chosen);
    if (status == PTO_OK)
        *step = result;
    else
        pto_step_fini(&result);
    return status;
}

pto_status_t pto_step_find_more_procs(pto_step_prediction_t *step, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < step->workload->call_count && status == PTO_OK; i++)
        if (step->call[i].predictions.prediction)
            status = pto_predictions_find_more_procs(&step->call[i].predictions, err);
    return status;
}

void pto_step_fini(pto_step_prediction_t *step) {
    for (int i = 0; step->call && i < step->workload->call_count; i++) {
        pto_predictions_fini(&step->call[i].predictions);
        pto_machine_destroy(step->call[i].machine);
    }
    free(step->call);
    free(step->route);
    *step = (pto_step_prediction_t){0};
}
