/* Prices loops. Rounds (iterations) that cost the same are called uniform. Only a few of them are priced. The
 * time that each actor gained in the last ones is then added for all remaining ones. The functions limit_...
 * reduce the range of rounds that are taken to be uniform. */
#include "price/pricing.h"

/* Leaves only the rounds k in which all shifts, from first + loop * k to farthest + loop * k, send every
 * message to another node: no shift is below the members per node, or that near to the group's size. */
static void limit_to_shift(pto_repeat_t *repeat, const pto_peers_t *peers, const pto_group_t *group) {
    int64_t step = peers->first.loop, farthest = peers->until.constant - 1;
    int64_t from = (group->members_per_node - peers->first.constant + step - 1) / step;
    int64_t room = group->size - group->members_per_node - farthest;
    if (repeat->uniform_from < from)
        repeat->uniform_from = from;
    if (repeat->uniform_to > room / step + 1)
        repeat->uniform_to = room < 0 ? repeat->uniform_from : room / step + 1;
}

/* A slice whose end moves with the round becomes empty at some round (if the end falls) or ceases to be.
 * Leaves the rounds on the side with more of them. */
static void limit_to_slice(pto_repeat_t *repeat, const pto_slice_t *slice, const pto_node_t *loop) {
    int64_t per_round = slice->until.loop;
    if (per_round == 0)
        return;
    int64_t change = per_round < 0 ? (slice->until.constant - 1) / -per_round + 1
                                   : (per_round - slice->until.constant) / per_round;
    bool more_after = change - loop->from <= loop->to - change;
    if (more_after && repeat->uniform_from < change)
        repeat->uniform_from = change;
    else if (!more_after && repeat->uniform_to > change)
        repeat->uniform_to = change;
}

/* The range of a step's members may depend on the round. If both of its ends move, they are at the same
 * positions in their nodes again after as many rounds as a node has members, which is the period. If one end
 * moves, all members are on one node in at most that many rounds, which are left out. */
static void limit_to_members(pto_repeat_t *repeat, const pto_step_t *step, const pto_group_t *group,
                             const pto_node_t *loop) {
    bool first_moves = step->who_first.loop != 0, until_moves = step->who_until.loop != 0;
    bool grows = first_moves ? step->who_first.loop < 0 : step->who_until.loop > 0;
    int64_t from = loop->from + group->members_per_node, to = loop->to - group->members_per_node;
    if (first_moves && until_moves)
        repeat->period = group->members_per_node;
    else if ((first_moves || until_moves) && grows && repeat->uniform_from < from)
        repeat->uniform_from = from;
    else if ((first_moves || until_moves) && !grows && repeat->uniform_to > to)
        repeat->uniform_to = to;
}

pto_repeat_t pto_find_repeat(const pto_plan_t *plan, int index) {
    const pto_node_t *loop = pto_node_at(plan, index);
    pto_repeat_t repeat = {loop->from, loop->power ? loop->from : loop->to, 1};
    for (int i = index + 1; i <= index + loop->span; i++) {
        const pto_stage_t *stage = pto_node_stage(plan, i);
        for (int s = 0; stage && s < stage->step_count; s++) {
            const pto_step_t *step = pto_step_at(plan, stage->step_first + s);
            if (step->source.chunks > 1 && repeat.uniform_to == loop->to)
                repeat.uniform_to--; /* the last chunk may be smaller */
            limit_to_slice(&repeat, &step->source, loop);
            limit_to_slice(&repeat, &step->target, loop);
            limit_to_members(&repeat, step, pto_group_at(plan, step->group), loop);
            if (step->peers.kind != PTO_PEERS_SHIFT || step->peers.first.loop == 0)
                continue;
            const pto_buffer_t *buffer = pto_buffer_at(plan, pto_message_slice(step)->buffer);
            if (buffer->cyclic != PTO_CYCLIC_NONE)
                repeat.period = buffer->cyclic_count;
            limit_to_shift(&repeat, &step->peers, pto_group_at(plan, step->group));
        }
    }
    return repeat;
}

static pto_status_t price_rounds(pto_pricing_t *pricing, int loop, int64_t from, int64_t to) {
    pto_status_t status = PTO_OK;
    for (int64_t k = from; k < to && status == PTO_OK; k++) {
        pricing->flags.round++;
        status = pto_price_nodes(pricing, loop + 1, pto_node_at(pricing->plan, loop)->span, k);
    }
    return status;
}

static void take_snapshot(pto_pricing_t *pricing) {
    pto_pricing_save(pricing, pricing->clocks.snapshot);
    pto_occupied_remember(pricing);
    if (pricing->lanes.active)
        pto_lanes_remember_demand(pricing);
}

/* Adds `times` the gains since the snapshot to all ledgers. */
static void repeat_gains(pto_pricing_t *pricing, double times) {
    pto_occupied_repeat(pricing, times);
    if (pricing->lanes.active)
        pto_lanes_repeat_demand(pricing, times);
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        int64_t actor = pricing->actors.priced[i];
        pto_ledger_t *ledger = &pricing->clocks.ledger[actor];
        pto_pricing_must(pricing, pto_ledger_shift(ledger, ledger, &pricing->clocks.snapshot[actor], times));
    }
}

/* Returns whether all actors that have gained time from `before` to `now` have gained the same, `*gain`. */
static bool same_gain(const pto_pricing_t *pricing, const pto_ledger_t *now, const pto_ledger_t *before,
                      pto_time_t *gain) {
    *gain = (pto_time_t){0};
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        int64_t actor = pricing->actors.priced[i];
        pto_time_t own = pto_time_subtract(now[actor].time, before[actor].time);
        if (!pto_time_positive(own))
            continue;
        if (pto_time_positive(*gain) && !pto_time_same(*gain, own))
            return false;
        *gain = own;
    }
    return true;
}

void pto_pricing_shift_queues(pto_pricing_t *pricing, const pto_ledger_t *now, const pto_ledger_t *before,
                              double times) {
    for (int64_t gpu = 0; gpu < pricing->actors.gpu_count; gpu++)
        for (int resource = 0; resource < PTO_COPY_RESOURCE_COUNT; resource++)
            pto_pricing_must(pricing, pto_copy_queue_shift(&pricing->shared.engine[gpu].queue[resource], now,
                                                           before, times));
}

/* Moves raised flags, and copies in the queues of GPUs, on to later rounds. */
static void repeat_pending(pto_pricing_t *pricing, int64_t period, double times) {
    pto_raises_repeat(pricing, period, times);
    pto_pricing_shift_queues(pricing, pricing->clocks.ledger, pricing->clocks.snapshot, times);
}

/* Processes that wait for flags of earlier rounds, as a sender does for one of r slots of a buffer, depend on
 * the last r rounds. So rounds are priced until, twice in succession, r of them take equally long, for all
 * actors, and leave as many flags raised as they found. The remaining uniform rounds then cost the same. */
static pto_status_t price_lagging(pto_pricing_t *pricing, int index, int64_t k, pto_repeat_t repeat) {
    int64_t to = pto_node_at(pricing->plan, index)->to, period = pricing->flags.lag * repeat.period;
    pto_time_t gain, earlier = {.s = -1};
    pto_status_t status = PTO_OK;
    while (k + 2 * period <= repeat.uniform_to && status == PTO_OK) {
        int64_t pending = pto_raises_pending(pricing);
        take_snapshot(pricing);
        status = price_rounds(pricing, index, k, k + period);
        k += period;
        bool steady = same_gain(pricing, pricing->clocks.ledger, pricing->clocks.snapshot, &gain) &&
                      pto_raises_pending(pricing) == pending && pricing->flags.lag <= period;
        if (steady && pto_time_same(gain, earlier)) {
            int64_t more = (repeat.uniform_to - k) / period;
            repeat_pending(pricing, period, (double)more);
            repeat_gains(pricing, (double)more);
            return price_rounds(pricing, index, k + more * period, to);
        }
        earlier = steady ? gain : (pto_time_t){.s = -1};
        if (pricing->flags.lag > period)
            period = pricing->flags.lag * repeat.period;
    }
    return status == PTO_OK ? price_rounds(pricing, index, k, to) : status;
}

/* Prices two periods of uniform rounds, and repeats the gains of the second, except for single ranks. */
static pto_status_t price_loop(pto_pricing_t *pricing, int index, int64_t outer) {
    (void)outer;
    const pto_node_t *loop = pto_node_at(pricing->plan, index);
    const pto_repeat_t repeat = pto_find_repeat(pricing->plan, index);
    int64_t measured_from = repeat.uniform_from + repeat.period;
    int64_t measured_to = measured_from + repeat.period;
    int64_t more = (repeat.uniform_to - measured_to) / repeat.period;
    if (more <= 0 || pricing->actors.kind == PTO_ACTORS_RANKS)
        return price_rounds(pricing, index, loop->from, loop->to);
    pto_status_t status = price_rounds(pricing, index, loop->from, measured_from);
    int64_t pending = pto_raises_pending(pricing);
    pricing->flags.lag = 0;
    take_snapshot(pricing);
    if (status == PTO_OK)
        status = price_rounds(pricing, index, measured_from, measured_to);
    if (status != PTO_OK)
        return status;
    if (pto_raises_pending(pricing) != pending)
        return price_rounds(pricing, index, measured_to, loop->to);
    if (pricing->flags.lag > 0)
        return price_lagging(pricing, index, measured_to, repeat);
    repeat_gains(pricing, (double)more);
    return price_rounds(pricing, index, measured_to + more * repeat.period, loop->to);
}

static bool is_loop(const pto_pricing_t *pricing, int node) {
    pto_node_kind_t kind = pto_node_at(pricing->plan, node)->kind;
    return kind == PTO_NODE_LOOP || kind == PTO_NODE_PIPELINE;
}

const pto_pricer_t pto_pricer_loops = {is_loop, price_loop};
