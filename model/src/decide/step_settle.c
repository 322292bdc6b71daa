/* Settles the mix of each entry of a step (step.c). A mix is a strategy for each of the entry's calls, which
 * run at the same time. Of the few cheapest mixes by price, the fastest in simulation is chosen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/step_internal.h"

/* A mix of more messages than SETTLE_MESSAGES_MAX is not simulated. The cheapest mixes are found among all
 * or, if there are more than MIXES_MAX, among those that differ from the predicted mix in one call. */
enum { MIXES_MAX = 4096, SETTLE_MESSAGES_MAX = 1 << 19 };

/* A mix. Several have the same price if one call hides the others; then the sum of the calls decides. */
typedef struct {
    double seconds; /* the price of the entry */
    double calls_s; /* the sum of the calls' own prices */
    int *choice;    /* [call]: its strategy */
} mix_t;

typedef struct {
    pto_step_prediction_t *step;
    int entry;
    int call_count;
    int *call; /* the entry's calls, as indices of the workload's calls */
    int mix_count;
    mix_t mix[PTO_STEP_SETTLED]; /* the predicted one, then the cheapest by price */
} settling_t;

static void fini(settling_t *settling) {
    for (int i = 0; i < PTO_STEP_SETTLED; i++)
        free(settling->mix[i].choice);
    free(settling->call);
}

static pto_status_t begin(settling_t *settling, pto_step_prediction_t *step, int entry, pto_error_t *err) {
    const pto_workload_t *workload = step->workload;
    size_t calls = (size_t)workload->call_count + 1;
    *settling = (settling_t){.step = step, .entry = entry, .call = calloc(calls, sizeof *settling->call)};
    bool complete = settling->call != NULL;
    for (int i = 0; i < PTO_STEP_SETTLED; i++) {
        settling->mix[i].choice = calloc(calls, sizeof *settling->mix[i].choice);
        complete = complete && settling->mix[i].choice;
    }
    if (!complete)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for mixes of calls");
    const pto_step_calls_t range = pto_step_calls(workload, entry);
    for (int i = range.from; i < range.to; i++)
        if (pto_workload_is_call(&workload->call[i]) && !step->call[i].left_out)
            settling->call[settling->call_count++] = i;
    return PTO_OK;
}

/* Returns where the strategy of the entry's i-th call is stored: an index in the call's predictions. */
static int *choice_of(const settling_t *settling, int i) {
    return &settling->step->call[settling->call[i]].best;
}

static int strategies_of(const settling_t *settling, int i) {
    return settling->step->call[settling->call[i]].predictions.strategy_count;
}

static void choose(const settling_t *settling, const mix_t *mix) {
    for (int i = 0; i < settling->call_count; i++)
        *choice_of(settling, i) = mix->choice[i];
}

static bool is_cheaper(const mix_t *left, const mix_t *right) {
    return pto_cost_is_same(left->seconds, right->seconds) ? left->calls_s < right->calls_s
                                                           : left->seconds < right->seconds;
}

/* Adds the current choice to the mixes, if it is among the cheapest. The first mix stays first. */
static void consider(settling_t *settling) {
    mix_t result = {.calls_s = 0};
    if (!pto_step_entry_seconds(settling->step, settling->entry, NULL, &result.seconds))
        return;
    for (int i = 0; i < settling->call_count; i++) {
        double seconds = 0;
        pto_step_call_seconds(settling->step, settling->call[i], NULL, &seconds);
        result.calls_s += seconds * (double)settling->step->workload->call[settling->call[i]].times;
    }
    int place = settling->mix_count;
    while (place > 1 && is_cheaper(&result, &settling->mix[place - 1]))
        place--;
    if (place == PTO_STEP_SETTLED)
        return;
    if (settling->mix_count < PTO_STEP_SETTLED)
        settling->mix_count++;
    const int last = settling->mix_count - 1;
    result.choice = settling->mix[last].choice; /* reuse the array of the mix that drops out */
    memmove(&settling->mix[place + 1], &settling->mix[place], (size_t)(last - place) * sizeof result);
    settling->mix[place] = result;
    for (int i = 0; i < settling->call_count; i++)
        result.choice[i] = *choice_of(settling, i);
}

/* Returns whether the current choice is that of the first mix. */
static bool is_first(const settling_t *settling) {
    bool same = true;
    for (int i = 0; i < settling->call_count; i++)
        same = same && *choice_of(settling, i) == settling->mix[0].choice[i];
    return same;
}

/* Enumerates all mixes: the digits of a number are the strategies of the calls. */
static void consider_all(settling_t *settling, int64_t mixes) {
    for (int64_t number = 0; number < mixes; number++) {
        int64_t rest = number;
        for (int i = 0; i < settling->call_count; i++) {
            *choice_of(settling, i) = (int)(rest % strategies_of(settling, i));
            rest /= strategies_of(settling, i);
        }
        if (!is_first(settling))
            consider(settling);
    }
}

static void consider_neighbors(settling_t *settling) {
    for (int i = 0; i < settling->call_count; i++) {
        for (int s = 0; s < strategies_of(settling, i); s++) {
            *choice_of(settling, i) = s;
            if (!is_first(settling))
                consider(settling);
        }
        *choice_of(settling, i) = settling->mix[0].choice[i];
    }
}

static void find_cheapest(settling_t *settling) {
    int64_t mixes = 1;
    for (int i = 0; i < settling->call_count && mixes <= MIXES_MAX; i++)
        mixes *= strategies_of(settling, i);
    consider(settling);
    if (mixes <= MIXES_MAX)
        consider_all(settling, mixes);
    else
        consider_neighbors(settling);
}

/* Simulates a mix. One that cannot be simulated, or has too many messages, takes INFINITY. */
static pto_status_t simulate(settling_t *settling, const pto_machine_t *machine, int64_t limit,
                             const mix_t *mix, double *seconds, pto_error_t *err) {
    pto_error_t fault = {.status = PTO_OK};
    choose(settling, mix);
    pto_status_t status = pto_step_simulate_entry(settling->step, machine, settling->entry, limit,
                                                  SETTLE_MESSAGES_MAX, seconds, &fault);
    if (status != PTO_OK)
        *seconds = INFINITY;
    if (status != PTO_ERR_MEMORY && status != PTO_ERR_INTERRUPTED)
        return PTO_OK;
    return pto_error_set(err, status, "%s", fault.message);
}

/* Chooses the fastest mix. The predicted mix stays unless it can be simulated and another is faster. */
static pto_status_t settle(settling_t *settling, const pto_machine_t *machine, int64_t limit,
                           pto_error_t *err) {
    double best_s = INFINITY, seconds;
    int best = 0;
    pto_status_t status = PTO_OK;
    find_cheapest(settling);
    for (int i = 0; i < settling->mix_count && status == PTO_OK && (i == 0 || isfinite(best_s)); i++) {
        status = simulate(settling, machine, limit, &settling->mix[i], &seconds, err);
        if (seconds < best_s) {
            best_s = seconds;
            best = i;
        }
    }
    choose(settling, &settling->mix[best]);
    return status;
}

/* Returns whether another mix could be better: there are several calls, and no computation hides them. */
static bool has_to_settle(const settling_t *settling) {
    double seconds = 0;
    return settling->call_count > 1 &&
           pto_step_entry_seconds(settling->step, settling->entry, NULL, &seconds) &&
           seconds > pto_step_compute_s(settling->step->workload, settling->entry);
}

pto_status_t pto_step_settle(pto_step_prediction_t *step, const pto_machine_t *machine, int64_t limit,
                             bool *changed, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    *changed = false;
    for (int entry = 0; entry < step->workload->entry_count && status == PTO_OK; entry++) {
        settling_t settling;
        status = begin(&settling, step, entry, err);
        if (status == PTO_OK && has_to_settle(&settling)) {
            status = settle(&settling, machine, limit, err);
            *changed = *changed || !is_first(&settling);
        }
        fini(&settling);
    }
    pto_step_add_up_mix(step);
    return status;
}
