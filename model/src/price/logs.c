/* Rounds that are charged the same are charged once: what a stage does to ledgers in the first of them is
 * logged, and done again in the others, with the same numbers in the same order. */
#include <stdlib.h>

#include "price/pricing.h"

_Thread_local bool pto_price_each_round;

typedef enum { FOLLOW, ADD, DEMAND, ENDED, OCCUPIED } effect_kind_t;

typedef struct {
    effect_kind_t kind;
    int64_t actor;
    int64_t other; /* the sender, the resource, or the counter */
    pto_time_t time;
    pto_ledger_t terms;
} effect_t;

struct pto_stage_log {
    int64_t serial; /* of the run that it was logged in; 0: nothing is */
    int cuts;       /* of that run, before it */
    bool checked;   /* whether the stage can be logged */
    bool fits;
    bool in_library;
    pto_behind_t *behind; /* per actor: before the stage, then after it */
    int count;
    int capacity;
    effect_t *effect;
};

/* --- runs of loops -------------------------------------------------------------------------------------- */

/* Of classes alone: the pieces of places differ from round to round by a few bytes. */
pto_alike_t pto_alike_begin(pto_pricing_t *pricing, int loop) {
    pto_alike_t outer = pricing->alike;
    pricing->alike =
        pricing->kind == PTO_ACTORS_CLASSES ? pto_find_alike(pricing->plan, loop) : (pto_alike_t){0};
    pricing->alike.serial = ++pricing->serials;
    return outer;
}

static int cuts_before(const pto_alike_t *alike, int64_t k) {
    int before = 0;
    for (int i = 0; i < alike->cut_count; i++)
        before += alike->cut[i] <= k;
    return before;
}

void pto_alike_end(pto_pricing_t *pricing, pto_alike_t outer) { pricing->alike = outer; }

/* --- memory --------------------------------------------------------------------------------------------- */

static bool allocate(pto_pricing_t *pricing, pto_stage_log_t *log) {
    if (!log->behind)
        log->behind = malloc(2 * (size_t)pricing->actor_count * sizeof *log->behind);
    return log->behind != NULL;
}

void pto_logs_release(pto_pricing_t *pricing) {
    for (int s = 0; pricing->log && s < pricing->plan->stages.count; s++) {
        pto_stage_log_t *log = &pricing->log[s];
        for (int i = 0; i < log->capacity; i++)
            pto_ledger_fini(&log->effect[i].terms);
        free(log->effect);
        free(log->behind);
    }
    free(pricing->log);
}

/* --- logging -------------------------------------------------------------------------------------------- */

static bool grow(pto_stage_log_t *log) {
    int capacity = log->capacity > 0 ? 2 * log->capacity : 16;
    effect_t *grown = realloc(log->effect, (size_t)capacity * sizeof *grown);
    if (!grown)
        return false;
    log->effect = grown;
    for (; log->capacity < capacity; log->capacity++)
        grown[log->capacity].terms = (pto_ledger_t){0};
    return true;
}

static void put(pto_pricing_t *pricing, effect_t effect, const pto_ledger_t *terms) {
    pto_stage_log_t *log = pricing->logging;
    if (log->count == log->capacity && !grow(log)) {
        pricing->out_of_memory = true;
        return;
    }
    effect.terms = log->effect[log->count].terms;
    effect.terms.entry_count = 0;
    if (terms && !pto_ledger_copy(&effect.terms, terms, true))
        pricing->out_of_memory = true;
    log->effect[log->count++] = effect;
}

void pto_log_follow(pto_pricing_t *pricing, int64_t actor, int64_t sender) {
    put(pricing, (effect_t){.kind = FOLLOW, .actor = actor, .other = sender}, NULL);
}

/* What takes no time and has no addends changes nothing. */
static bool is_nothing(const pto_charge_t *charge, pto_time_t time) {
    return time.node == 0 && time.s <= 0 && (!charge->terms || charge->terms->entry_count == 0);
}

void pto_log_add(pto_pricing_t *pricing, int64_t actor, const pto_charge_t *charge, pto_time_t time) {
    if (!is_nothing(charge, time))
        put(pricing, (effect_t){.kind = ADD, .actor = actor, .time = time}, charge->terms);
}

void pto_log_demand(pto_pricing_t *pricing, int64_t actor, pto_lane_resource_t resource,
                    const pto_charge_t *charge, pto_time_t time) {
    if (pricing->logging && !is_nothing(charge, time))
        put(pricing, (effect_t){.kind = DEMAND, .actor = actor, .other = resource, .time = time},
            charge->terms);
}

void pto_log_ended(pto_pricing_t *pricing, int64_t actor) {
    if (pricing->logging)
        put(pricing, (effect_t){.kind = ENDED, .actor = actor}, NULL);
}

void pto_log_occupied(pto_pricing_t *pricing, int64_t counter, double seconds) {
    if (pricing->logging && seconds > 0)
        put(pricing, (effect_t){.kind = OCCUPIED, .other = counter, .time = {.s = seconds}}, NULL);
}

/* --- replaying ------------------------------------------------------------------------------------------ */

static void repeat_effect(pto_pricing_t *pricing, effect_t *effect) {
    pto_charge_t charge;
    switch (effect->kind) {
    case FOLLOW:
        pto_pricing_follow(pricing, &pricing->ledger[effect->actor], &pricing->before[effect->other]);
        break;
    case ADD:
    case DEMAND:
        charge.terms = pricing->explain ? &effect->terms : NULL;
        charge.out_of_memory = false;
        if (effect->kind == DEMAND)
            pto_lane_demand(pricing, effect->actor, (pto_lane_resource_t)effect->other, &charge,
                            effect->time);
        else if (!pto_ledger_add(&pricing->ledger[effect->actor], &charge, effect->time))
            pricing->out_of_memory = true;
        break;
    case ENDED:
        pto_lane_ended(pricing, effect->actor);
        break;
    case OCCUPIED:
        pricing->occupied_s[effect->other] += effect->time.s;
        break;
    }
}

/* Flags and queues of copies have a state that is not in ledgers; the memory of nodes is shared by how long
 * others take. */
static bool fits(const pto_pricing_t *pricing, const pto_stage_t *stage) {
    if (pricing->loads.links.memory_s_per_byte)
        return false;
    for (int i = stage->step_first; i < stage->step_first + stage->step_count; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, i);
        if (pto_step_is_signal(step) || pto_step_queues(pricing->plan, pricing->machine, step))
            return false;
    }
    return true;
}

static bool can_be_replayed(const pto_pricing_t *pricing, const pto_stage_log_t *log, int cuts) {
    if (log->serial != pricing->alike.serial || log->cuts != cuts || log->in_library != pricing->in_library)
        return false;
    for (int64_t actor = 0; actor < pricing->actor_count; actor++)
        if (log->behind[actor] != pricing->behind[actor])
            return false;
    return true;
}

static void begin_log(pto_pricing_t *pricing, pto_stage_log_t *log, int cuts) {
    log->serial = 0;
    log->count = 0;
    log->cuts = cuts;
    log->in_library = pricing->in_library;
    for (int64_t actor = 0; actor < pricing->actor_count; actor++)
        log->behind[actor] = pricing->behind[actor];
    pricing->logging = log;
}

bool pto_log_replay(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t k) {
    if (k < pricing->alike.from || k >= pricing->alike.to || pto_price_each_round)
        return false;
    if (!pricing->log)
        pricing->log = calloc((size_t)pricing->plan->stages.count, sizeof *pricing->log);
    pto_stage_log_t *log = pricing->log ? &pricing->log[stage - pto_stage_at(pricing->plan, 0)] : NULL;
    if (!log || !allocate(pricing, log)) {
        pricing->out_of_memory = true;
        return false;
    }
    if (!log->checked)
        log->fits = fits(pricing, stage);
    log->checked = true;
    int cuts = cuts_before(&pricing->alike, k);
    if (log->fits && !can_be_replayed(pricing, log, cuts)) {
        begin_log(pricing, log, cuts);
        return false;
    }
    for (int i = 0; i < log->count && log->fits; i++)
        repeat_effect(pricing, &log->effect[i]);
    for (int64_t actor = 0; actor < pricing->actor_count && log->fits; actor++)
        pricing->behind[actor] = log->behind[pricing->actor_count + actor];
    return log->fits;
}

void pto_log_end(pto_pricing_t *pricing, pto_status_t status) {
    pto_stage_log_t *log = pricing->logging;
    pricing->logging = NULL;
    if (!log || status != PTO_OK || pricing->out_of_memory)
        return;
    log->serial = pricing->alike.serial;
    for (int64_t actor = 0; actor < pricing->actor_count; actor++)
        log->behind[pricing->actor_count + actor] = pricing->behind[actor];
}
