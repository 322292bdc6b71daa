/* Flags: a signal step raises a flag at its peers, and a wait step of a peer lasts until then. A process may
 * raise a flag again before the peer has waited for it, as in a ring of several slots. So the raises are kept
 * in a list for each flag and waiting actor, and each wait consumes the oldest raise by its peer. */
#include <stdlib.h>

#include "base/grow.h"
#include "price/pricing.h"

/* If actors are not exact (pto_actors_are_exact), a flag has a single raise, by all actors. It has the latest
 * time at which any of them has raised the flag, and is never consumed. */
enum { BY_ALL = -1 };

/* Returns the raises of a step's flag that an actor waits for. */
static pto_raises_t *raises_at(const pto_pricing_t *pricing, const pto_step_t *step, int64_t actor) {
    return &pricing->flags.raised[step->flag * pricing->actors.count +
                                  (pto_actors_are_exact(pricing, step) ? actor : 0)];
}

/* Removes the consumed raises from the list, if they are at least half of it. */
static void drop_consumed(pto_raises_t *raises) {
    int kept = 0;
    if (raises->pending > raises->count / 2)
        return;
    for (int i = 0; i < raises->count && raises->pending > 0; i++)
        if (!raises->item[i].consumed)
            raises->item[kept++] = raises->item[i];
    raises->count = kept;
    raises->unsorted = raises->unsorted && kept > 0;
}

static void add_raise(pto_pricing_t *pricing, pto_raises_t *raises, int64_t from, const pto_ledger_t *own) {
    if ((size_t)raises->count == raises->capacity)
        drop_consumed(raises);
    if (!PTO_RESERVE(raises->item, raises->capacity, raises->count + 1)) {
        pricing->clocks.out_of_memory = true;
        return;
    }
    raises->unsorted =
        raises->unsorted || (raises->count > 0 && raises->item[raises->count - 1].from >= from);
    pto_raise_t *raise = &raises->item[raises->count++];
    *raise = (pto_raise_t){.from = from, .round = pricing->flags.round};
    pto_pricing_must(pricing, pto_ledger_copy(&raise->at, own));
    raises->pending++;
}

static void raise_for_all(pto_pricing_t *pricing, pto_raises_t *raises, const pto_ledger_t *own) {
    static const pto_ledger_t at_start = {0};
    if (raises->count == 0)
        add_raise(pricing, raises, BY_ALL, &at_start);
    if (raises->count > 0)
        pto_pricing_follow(pricing, &raises->item[0].at, own);
}

/* Raises the flag at each priced actor that a signal reaches from this actor or one that it represents. */
static void raise_for_represented(pto_pricing_t *pricing, const pto_action_t *action,
                                  const pto_ledger_t *own) {
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        pto_action_t other;
        int64_t at = pricing->actors.priced[i], next = 0;
        while (pto_step_next_reaching(pricing->plan, action->step, at, action->k, &next, &other))
            if (pto_actor_priced(pricing, other.rank) == action->rank)
                add_raise(pricing, raises_at(pricing, action->step, at), other.rank, own);
        pto_price_visits += next;
    }
}

void pto_raises_raise(pto_pricing_t *pricing, pto_action_t *action) {
    const pto_ledger_t *own = &pricing->clocks.ledger[action->rank];
    if (!pto_actors_are_exact(pricing, action->step)) {
        raise_for_all(pricing, raises_at(pricing, action->step, action->rank), own);
        return;
    }
    if (pricing->actors.represented_by)
        raise_for_represented(pricing, action, own);
    for (int64_t next = 0; !pricing->actors.represented_by && pto_step_next(pricing->plan, &next, action);)
        add_raise(pricing, raises_at(pricing, action->step, action->peer_rank), action->rank, own);
}

/* Returns the index of the oldest raise by `from` that is not consumed; raises->count: there is none. Starts
 * by bisection if the raises are sorted by actor. */
static int find_raise(const pto_raises_t *raises, int64_t from) {
    int at = 0, high = raises->count;
    while (!raises->unsorted && at < high) {
        int middle = at + (high - at) / 2;
        if (raises->item[middle].from < from)
            at = middle + 1;
        else
            high = middle;
    }
    while (at < raises->count && (raises->item[at].from != from || raises->item[at].consumed)) {
        at++;
        pto_price_visits++;
    }
    return at;
}

/* Advances `own` to the oldest raise by `from`, and consumes that. */
static void consume_raise(pto_pricing_t *pricing, pto_raises_t *raises, int64_t from, pto_ledger_t *own) {
    int at = find_raise(raises, from);
    if (at == raises->count)
        return;
    pto_raise_t *raise = &raises->item[at];
    pto_pricing_follow(pricing, own, &raise->at);
    if (pricing->flags.round - raise->round > pricing->flags.lag)
        pricing->flags.lag = pricing->flags.round - raise->round;
    pto_ledger_fini(&raise->at);
    raise->consumed = true;
    if (--raises->pending == 0)
        drop_consumed(raises);
}

void pto_raises_wait(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge) {
    pto_ledger_t *own = &pricing->clocks.ledger[action->rank];
    pto_raises_t *raises = raises_at(pricing, action->step, action->rank);
    if (pto_actors_are_exact(pricing, action->step)) {
        if (pto_step_peer_count(pricing->plan, action) == 0)
            return;
        for (int64_t next = 0; pto_step_next(pricing->plan, &next, action);)
            consume_raise(pricing, raises, action->peer_rank, own);
    } else {
        for (int i = 0; i < raises->count; i++)
            pto_pricing_follow(pricing, own, &raises->item[i].at);
    }
    pto_charge_wait(charge, pricing->machine, action->step);
}

int64_t pto_raises_pending(const pto_pricing_t *pricing) {
    int64_t pending = 0;
    for (int64_t i = 0; i < pricing->flags.count; i++)
        pending += pricing->flags.raised[i].pending;
    return pending;
}

void pto_raises_repeat(pto_pricing_t *pricing, int64_t period, double times) {
    for (int64_t i = 0; i < pricing->flags.count; i++)
        for (int r = 0; r < pricing->flags.raised[i].count; r++) {
            pto_raise_t *raise = &pricing->flags.raised[i].item[r];
            if (raise->consumed || raise->from == BY_ALL || raise->round <= pricing->flags.round - period)
                continue;
            int64_t from = pto_actor_priced(pricing, raise->from);
            pto_pricing_must(pricing, pto_ledger_shift(&raise->at, &pricing->clocks.ledger[from],
                                                       &pricing->clocks.snapshot[from], times));
        }
}

void pto_raises_fini(const pto_pricing_t *pricing) {
    for (int64_t i = 0; pricing->flags.raised && i < pricing->flags.count; i++) {
        for (int r = 0; r < pricing->flags.raised[i].count; r++)
            pto_ledger_fini(&pricing->flags.raised[i].item[r].at);
        free(pricing->flags.raised[i].item);
    }
    free(pricing->flags.raised);
}
