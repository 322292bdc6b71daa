/* Finds out early whether a price whose rounds pairs.c computes will exceed its bound. The remaining rounds
 * are computed for the processes of a single node as if they never waited for others, and then what follows
 * the rounds. The result is a lower bound of the price: all operations on times are monotonic, in floating
 * point, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "price/pairs.h"

/* --- one process ---------------------------------------------------------------------------------------- */

static int64_t own_bytes(const pto_pairs_t *pairs, int64_t group, int64_t sender, int64_t distance) {
    int64_t core = pairs->first_core + group;
    bool dealt = pairs->parts.kind == PTO_PARTS_DEALT;
    if (dealt && pairs->dealt && distance % pairs->parts.count != core)
        return 0;
    int64_t receiver = pto_messages_wrap(sender + distance, pairs->size);
    int64_t bytes = pto_table_entry(&pairs->table, sender, receiver);
    return dealt ? bytes : pto_share_bytes(bytes, pairs->parts.granularity_bytes, pairs->parts.count, core);
}

static pto_outflow_t limits_of(pto_pairs_t *pairs, int64_t node, int64_t distance) {
    pto_sum_t *sent = &pairs->sent[node];
    *sent = (pto_sum_t){0, 0};
    for (int64_t member = node * pairs->per_node; member < (node + 1) * pairs->per_node; member++) {
        if (pto_pairs_level(pairs, member, distance) != PTO_LEVEL_OFF_NODE)
            continue;
        sent->messages += pairs->groups;
        for (int64_t group = 0; group < pairs->groups; group++)
            sent->bytes += own_bytes(pairs, group, member, distance);
    }
    pto_outflow_t outflow = pto_pairs_outflow(pairs, node);
    pto_outflow_find_limits(&outflow, pairs->pricing->machine);
    return outflow;
}

static double message_s(const pto_pairs_t *pairs, int64_t group, int64_t sender, int64_t distance,
                        const pto_outflow_t *outflow) {
    return pto_pairs_end(pairs, sender, distance, own_bytes(pairs, group, sender, distance),
                         outflow->bytes_limit.s, outflow->rate_limit.s)
        .time_s;
}

/* Advances the processes of a node in pairs->next_s by rounds [from, to), as if they never waited. */
static void advance_node(pto_pairs_t *pairs, int64_t from, int64_t to, int64_t node) {
    int64_t first = node * pairs->per_node, until = first + pairs->per_node;
    for (int64_t k = from; k < to; k++) {
        int64_t distance = pto_expr_at(&pairs->out.step->peers.first, k, 0, 0);
        pto_outflow_t outflow = limits_of(pairs, node, distance);
        for (int64_t group = 0; group < pairs->groups; group++)
            for (int64_t member = first; member < until; member++) {
                int64_t sender = pto_messages_wrap(member - distance, pairs->size);
                pairs->next_s[group * pairs->size + member] +=
                    pto_larger(message_s(pairs, group, member, distance, &outflow),
                               message_s(pairs, group, sender, distance, &outflow));
            }
    }
    pto_price_visits += (to - from) * pairs->per_node * pairs->groups;
}

/* Returns the node to compute. Any would do; that of the latest process in the price that made the bound is
 * likely to be the latest here, too, as its messages are the same in another order. */
static int64_t choose_node(const pto_pricing_t *pricing) {
    int64_t latest = pto_tables_latest_node(pricing->tables);
    return latest >= 0 && latest < pricing->actors.node_count ? latest : 0;
}

/* --- what follows the rounds ---------------------------------------------------------------------------- */

/* Returns whether only stages follow that do not depend on the order in which processes arrive. */
static bool ends_plainly(const pto_pricing_t *pricing, int loop) {
    const pto_plan_t *plan = pricing->plan;
    bool plain = !pricing->clocks.explain && !pricing->shared.loads.links.memory_s_per_byte;
    for (int i = 0; i < pto_plan_node_count(plan) && plain; i++) {
        const pto_node_t *node = pto_node_at(plan, i);
        bool matters = i > loop + pto_node_at(plan, loop)->span || (i < loop && i + node->span >= loop);
        if (matters && node->kind != PTO_NODE_STAGE)
            plain = node->kind == PTO_NODE_COLLECTIVE && node->by != PTO_DONE_BY_NCCL;
        const pto_stage_t *stage = pto_node_stage(plan, i);
        for (int s = 0; stage && matters && s < stage->step_count; s++)
            plain =
                plain && !pto_step_queues(plan, pricing->machine, pto_step_at(plan, stage->step_first + s));
    }
    return plain;
}

/* Prices what follows the loop, with the ledgers and `behind` as they are, up to the bound. */
static void price_rest(pto_pricing_t *pricing, int loop) {
    int rest = loop + 1 + pto_node_at(pricing->plan, loop)->span, library_end = pricing->at.library_end;
    pto_raises_t *raised = pricing->flags.raised;
    pto_error_t *err = pricing->err;
    pricing->flags.raised = pto_raises_begin(pricing);
    pricing->err = NULL; /* errors are reported when the rest is priced after the rounds */
    if (pricing->flags.raised)
        pto_price_nodes(pricing, rest, pto_plan_node_count(pricing->plan) - rest, 0);
    pricing->clocks.out_of_memory = pricing->clocks.out_of_memory || !pricing->flags.raised;
    pto_raises_fini(pricing);
    pricing->flags.raised = raised;
    pricing->err = err;
    pricing->at.library_end = library_end;
}

/* Returns whether the price exceeds its bound if processes leave the rounds when pairs->next_s says. */
static bool rest_exceeds(pto_pairs_t *pairs, int loop) {
    pto_pricing_t *pricing = pairs->pricing;
    size_t behind_size = (size_t)pricing->actors.count * sizeof *pricing->clocks.behind;
    pto_behind_t *behind = malloc(behind_size);
    if (!behind) {
        pricing->clocks.out_of_memory = true;
        return false;
    }
    memcpy(behind, pricing->clocks.behind, behind_size);
    pto_pricing_remember(pricing, pricing->clocks.snapshot);
    for (int64_t i = 0; i < pairs->groups * pairs->size; i++) {
        int64_t actor = pairs->first_core + i / pairs->size + i % pairs->size * pairs->out.per_index;
        pricing->clocks.ledger[actor].time.s = pairs->next_s[i];
    }
    price_rest(pricing, loop);
    for (int64_t i = 0; i < pricing->actors.priced_count; i++)
        pricing->clocks.ledger[pricing->actors.priced[i]].time =
            pricing->clocks.snapshot[pricing->actors.priced[i]].time;
    memcpy(pricing->clocks.behind, behind, behind_size);
    free(behind);
    return pricing->outcome.exceeded;
}

/* --- the bound ------------------------------------------------------------------------------------------ */

static bool any_exceeds(const pto_pairs_t *pairs) {
    double last_s = 0;
    for (int64_t i = 0; i < pairs->groups * pairs->size; i++)
        last_s = pto_larger(last_s, pairs->next_s[i]);
    return last_s > pairs->pricing->bound_s;
}

bool pto_pairs_exceed(pto_pairs_t *pairs, int loop, int64_t from) {
    pto_pricing_t *pricing = pairs->pricing;
    if (isinf(pricing->bound_s))
        return false;
    memcpy(pairs->next_s, pairs->time_s, (size_t)(pairs->groups * pairs->size) * sizeof *pairs->next_s);
    advance_node(pairs, from, pto_node_at(pricing->plan, loop)->to, choose_node(pricing));
    return any_exceeds(pairs) || (ends_plainly(pricing, loop) && rest_exceeds(pairs, loop));
}
