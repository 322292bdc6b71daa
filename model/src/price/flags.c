/* Flags: when each was raised, and by whom. A process may be several raises behind the one that raises, as in
 * a ring of several slots, so each wait takes the oldest raise of its peer that it has not taken yet. */
#include <stdlib.h>
#include <string.h>

#include "price/pricing.h"

enum { BY_ALL = -1 }; /* a raise where actors are not exact: it is never taken, only moved forward */

static pto_raises_t *raises_at(const pto_pricing_t *pricing, const pto_step_t *step, int64_t actor) {
    return &pricing->raised[step->flag * pricing->actor_count +
                            (pto_actors_are_exact(pricing, step) ? actor : 0)];
}

/* A new raise at the end of the list; NULL when out of memory. The ledgers of taken raises are reused. */
static pto_raise_t *add_raise(pto_pricing_t *pricing, pto_raises_t *raises, int64_t from) {
    if (raises->count == raises->capacity) {
        int capacity = raises->capacity ? 2 * raises->capacity : 4;
        pto_raise_t *grown = realloc(raises->item, (size_t)capacity * sizeof *grown);
        if (!grown) {
            pricing->out_of_memory = true;
            return NULL;
        }
        memset(grown + raises->capacity, 0, (size_t)(capacity - raises->capacity) * sizeof *grown);
        raises->item = grown;
        raises->capacity = capacity;
    }
    pto_raise_t *raise = &raises->item[raises->count++];
    raise->from = from;
    raise->round = pricing->round;
    raise->at.time = (pto_time_t){0};
    raise->at.entry_count = 0;
    return raise;
}

static void raise_for_all(pto_pricing_t *pricing, pto_raises_t *raises, const pto_ledger_t *mine) {
    pto_raise_t *raise = raises->count > 0 ? raises->item : add_raise(pricing, raises, BY_ALL);
    if (raise)
        pto_pricing_follow(pricing, &raise->at, mine);
}

void pto_raises_raise(pto_pricing_t *pricing, pto_action_t *action) {
    const pto_ledger_t *mine = &pricing->ledger[action->rank];
    if (!pto_actors_are_exact(pricing, action->step)) {
        raise_for_all(pricing, raises_at(pricing, action->step, action->rank), mine);
        return;
    }
    for (int64_t next = 0; pto_step_next(pricing->plan, &next, action);) {
        pto_raise_t *raise =
            add_raise(pricing, raises_at(pricing, action->step, action->peer_rank), action->rank);
        if (raise && !pto_ledger_copy(&raise->at, mine, pricing->explain))
            pricing->out_of_memory = true;
    }
}

/* Follow the oldest raise of `from`, and forget it. */
static void take_raise(pto_pricing_t *pricing, pto_raises_t *raises, int64_t from, pto_ledger_t *mine) {
    int at = 0;
    while (at < raises->count && raises->item[at].from != from)
        at++;
    if (at == raises->count)
        return;
    pto_raise_t taken = raises->item[at];
    pto_pricing_follow(pricing, mine, &taken.at);
    if (pricing->round - taken.round > pricing->lag)
        pricing->lag = pricing->round - taken.round;
    raises->count--;
    memmove(&raises->item[at], &raises->item[at + 1], (size_t)(raises->count - at) * sizeof taken);
    raises->item[raises->count] = taken;
}

void pto_raises_wait(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge) {
    pto_ledger_t *mine = &pricing->ledger[action->rank];
    pto_raises_t *raises = raises_at(pricing, action->step, action->rank);
    if (pto_actors_are_exact(pricing, action->step)) {
        if (pto_step_peer_count(pricing->plan, action) == 0)
            return;
        for (int64_t next = 0; pto_step_next(pricing->plan, &next, action);)
            take_raise(pricing, raises, action->peer_rank, mine);
    } else {
        for (int i = 0; i < raises->count; i++)
            pto_pricing_follow(pricing, mine, &raises->item[i].at);
    }
    pto_charge_wait(charge, pricing->machine, action->step);
}

int64_t pto_raises_pending(const pto_pricing_t *pricing) {
    int64_t pending = 0;
    for (int64_t i = 0; i < pricing->plan->flags.count * pricing->actor_count; i++)
        pending += pricing->raised[i].count;
    return pending;
}

void pto_raises_repeat(pto_pricing_t *pricing, int64_t period, double times) {
    for (int64_t i = 0; i < pricing->plan->flags.count * pricing->actor_count; i++)
        for (int r = 0; r < pricing->raised[i].count; r++) {
            pto_raise_t *raise = &pricing->raised[i].item[r];
            if (raise->from != BY_ALL && raise->round > pricing->round - period &&
                !pto_ledger_shift(&raise->at, &pricing->ledger[raise->from], &pricing->snapshot[raise->from],
                                  times))
                pricing->out_of_memory = true;
        }
}

void pto_raises_fini(pto_pricing_t *pricing) {
    for (int64_t i = 0; pricing->raised && i < pricing->plan->flags.count * pricing->actor_count; i++) {
        for (int r = 0; r < pricing->raised[i].capacity; r++)
            pto_ledger_fini(&pricing->raised[i].item[r].at);
        free(pricing->raised[i].item);
    }
    free(pricing->raised);
}
