/* Prices a loop of pairwise exchanges of a table of byte counts: in a round, each process sends one message
 * and receives one. Instead of charging each message as by_rank.c does, a few loops over arrays of all
 * processes do the same operations on the same numbers. Only the contention of a node's bytes is computed
 * from their sum. */
#include <stdlib.h>

#include "price/pairs.h"

/* --- whether a loop is such an exchange ----------------------------------------------------------------- */

/* Returns whether each member has exactly one message, at a distance. */
static bool has_one_message_each(const pto_messages_t *messages) {
    return messages->of_pairs && !messages->by_core && messages->peer_count == 1 && messages->per_index > 0 &&
           messages->who_first <= 0 && messages->who_stride == 1 &&
           messages->who_until >= messages->group->size && messages->step->send_empty &&
           messages->step->peers.kind == PTO_PEERS_SHIFT && pto_messages_all_cost(messages);
}

/* Returns whether the two steps are the two ends of the same messages. */
static bool are_matched(const pto_messages_t *out, const pto_messages_t *in) {
    const pto_step_t *send = out->step, *receive = in->step;
    return send->kind == PTO_STEP_SEND && receive->kind == PTO_STEP_RECV && send->group == receive->group &&
           send->core_first == receive->core_first && send->core_count == receive->core_count &&
           send->peers.sign == 1 && receive->peers.sign == -1 &&
           pto_expr_same(&send->peers.first, &receive->peers.first) && out->space == in->space &&
           out->buffer->blocks == PTO_BLOCKS_ROW && in->buffer->blocks == PTO_BLOCKS_COLUMN;
}

/* Fills in `pairs`, without its arrays. False: the loop is no such exchange. */
static bool find_exchange(const pto_pricing_t *pricing, int loop, pto_pairs_t *pairs) {
    const pto_node_t *node = pto_node_at(pricing->plan, loop), *body = node + 1;
    if (pto_latency_known(pricing->machine) || node->kind != PTO_NODE_LOOP || node->span != 1 ||
        node->from >= node->to || body->kind != PTO_NODE_STAGE)
        return false;
    const pto_stage_t *stage = pto_stage_at(pricing->plan, body->stage);
    if (stage->step_count != 2 || stage->order != PTO_ORDER_AT_ONCE || !pto_messages_are_plain(pricing))
        return false;
    pairs->stage = stage;
    pairs->out = pto_messages_of(pricing, pto_step_at(pricing->plan, stage->step_first), node->from);
    pto_messages_t in =
        pto_messages_of(pricing, pto_step_at(pricing->plan, stage->step_first + 1), node->from);
    pto_parts_t in_parts;
    pairs->size = pairs->out.group->size;
    pairs->per_node = pairs->out.group->members_per_node;
    pairs->first_core = pairs->out.step->core_first;
    bool by_core = pto_group_traits[pairs->out.group->kind].index & PTO_BY_CORE;
    pairs->groups = by_core ? 1 : pairs->out.step->core_count;
    pairs->dealt = pairs->out.buffer->cyclic != PTO_CYCLIC_NONE;
    const pto_layout_t *layout = &pto_plan_request(pricing->plan)->layout;
    const pto_expr_t *distance = &pairs->out.step->peers.first;
    return pto_expr_at(distance, node->from, 0, 0) > 0 &&
           pto_expr_at(distance, node->to - 1, 0, 0) < pairs->size && distance->loop > 0 &&
           has_one_message_each(&pairs->out) && has_one_message_each(&in) && are_matched(&pairs->out, &in) &&
           pairs->size == pto_layout_owner_count(layout) &&
           pairs->dealt == (in.buffer->cyclic != PTO_CYCLIC_NONE) &&
           (!by_core || (pairs->first_core == 0 && pairs->out.step->core_count == layout->owners_per_gpu)) &&
           pto_buffer_parts(pricing->plan, pairs->out.buffer, &pairs->parts) &&
           pto_buffer_parts(pricing->plan, in.buffer, &in_parts) &&
           pto_parts_are_same(&pairs->parts, &in_parts);
}

bool pto_pairs_apply(const pto_pricing_t *pricing, int node) {
    pto_pairs_t pairs = {.stage = NULL};
    return find_exchange(pricing, node, &pairs);
}

/* False: out of memory. */
static bool allocate(pto_pairs_t *pairs) {
    size_t n = (size_t)pairs->size, groups = (size_t)pairs->groups;
    pairs->bytes = malloc(2 * n * sizeof *pairs->bytes);
    pairs->alpha_s = malloc((3 + 4 * groups) * n * sizeof *pairs->alpha_s);
    pairs->empty = calloc(groups, sizeof *pairs->empty);
    pairs->sent = malloc((size_t)pairs->pricing->actors.node_count * sizeof *pairs->sent);
    if (!pto_table_init(pto_plan_request(pairs->pricing->plan), &pairs->table) || !pairs->bytes ||
        !pairs->alpha_s || !pairs->empty || !pairs->sent)
        return false;
    pairs->own_bytes = pairs->bytes + n;
    pairs->bytes_s = pairs->alpha_s + groups * n;
    pairs->time_s = pairs->bytes_s + groups * n;
    pairs->next_s = pairs->time_s + groups * n;
    pairs->node_bytes_s = pairs->next_s + groups * n;
    pairs->node_rate_s = pairs->node_bytes_s + n;
    pairs->empty_s = pairs->node_rate_s + n;
    return true;
}

static void release(pto_pairs_t *pairs) {
    pto_table_fini(&pairs->table);
    pto_pairs_terms_release(pairs);
    free(pairs->empty);
    free(pairs->sent);
    free(pairs->bytes);
    free(pairs->alpha_s);
}

/* --- a round's messages --------------------------------------------------------------------------------- */

pto_level_t pto_pairs_level(const pto_pairs_t *pairs, int64_t sender, int64_t distance) {
    int64_t receiver = pto_messages_wrap(sender + distance, pairs->size);
    if (sender / pairs->per_node != receiver / pairs->per_node)
        return PTO_LEVEL_OFF_NODE;
    const pto_actor_t *actor = pairs->pricing->actors.actor + pairs->first_core;
    int64_t per_index = pairs->out.per_index;
    return pto_layout_level(&pto_plan_request(pairs->pricing->plan)->layout, actor[sender * per_index].place,
                            actor[receiver * per_index].place);
}

static bool all_leave_nodes(const pto_pairs_t *pairs, int64_t distance) {
    return distance >= pairs->per_node && distance <= pairs->size - pairs->per_node;
}

const int64_t *pto_pairs_bytes(const pto_pairs_t *pairs, int64_t group, int64_t distance) {
    int64_t core = pairs->first_core + group;
    if (pairs->parts.kind == PTO_PARTS_DEALT)
        return pairs->dealt && distance % pairs->parts.count != core ? NULL : pairs->bytes;
    for (int64_t i = 0; i < pairs->size; i++)
        pairs->own_bytes[i] =
            pto_share_bytes(pairs->bytes[i], pairs->parts.granularity_bytes, pairs->parts.count, core);
    return pairs->own_bytes;
}

pto_pairs_end_t pto_pairs_end(const pto_pairs_t *pairs, int64_t sender, int64_t distance, int64_t bytes,
                              double node_bytes_s, double node_rate_s) {
    pto_pairs_end_t end = {.level = pto_pairs_level(pairs, sender, distance), .bytes = bytes};
    end.postal = pto_messages_postal(pairs->out.cost[end.level], bytes);
    end.alpha_s = end.postal->alpha_s.value;
    end.bytes_s = (double)bytes * end.postal->beta_s_per_byte.value;
    end.time_s = end.level == PTO_LEVEL_OFF_NODE
                     ? pto_off_node_s(end.alpha_s, end.bytes_s, node_bytes_s, node_rate_s)
                     : end.alpha_s + end.bytes_s;
    return end;
}

/* Finds the cost of a group's messages without limits, and adds its off-node traffic to `sent`. */
static void find_costs(const pto_pairs_t *pairs, int64_t group, int64_t distance, pto_sum_t *sent) {
    const int64_t *bytes = pto_pairs_bytes(pairs, group, distance);
    double *alpha_s = pairs->alpha_s + group * pairs->size, *bytes_s = pairs->bytes_s + group * pairs->size;
    bool all_leave = all_leave_nodes(pairs, distance);
    pairs->empty[group] = all_leave && !bytes;
    for (int64_t node = 0; pairs->empty[group] && node < pairs->pricing->actors.node_count; node++)
        sent[node].messages += pairs->per_node;
    if (pairs->empty[group])
        return;
    for (int64_t i = 0, node = 0; node < pairs->pricing->actors.node_count; node++)
        for (; i < (node + 1) * pairs->per_node; i++) {
            pto_level_t level = all_leave ? PTO_LEVEL_OFF_NODE : pto_pairs_level(pairs, i, distance);
            int64_t own = bytes ? bytes[i] : 0;
            const pto_postal_t *postal = pto_messages_postal(pairs->out.cost[level], own);
            alpha_s[i] = postal->alpha_s.value;
            bytes_s[i] = (double)own * postal->beta_s_per_byte.value;
            sent[node].messages += level == PTO_LEVEL_OFF_NODE;
            sent[node].bytes += level == PTO_LEVEL_OFF_NODE ? own : 0;
        }
}

/* --- a round's times ------------------------------------------------------------------------------------ */

pto_outflow_t pto_pairs_outflow(const pto_pairs_t *pairs, int64_t node) {
    pto_outflow_t outflow = {.limits_known = false};
    pto_outflow_add_sum(&outflow, pairs->out.space, PTO_PEERS_SHIFT, pairs->out.in_one_order,
                        pairs->pricing->actors.node_count, (double)pairs->sent[node].messages,
                        (double)pairs->sent[node].bytes);
    return outflow;
}

static void find_limits(const pto_pairs_t *pairs) {
    double alpha_s = pto_messages_postal(pairs->out.cost[PTO_LEVEL_OFF_NODE], 0)->alpha_s.value;
    for (int64_t i = 0, node = 0; node < pairs->pricing->actors.node_count; node++) {
        pto_outflow_t outflow = pto_pairs_outflow(pairs, node);
        pto_outflow_find_limits(&outflow, pairs->pricing->machine);
        double empty_s = pto_off_node_s(alpha_s, 0, outflow.bytes_limit.s, outflow.rate_limit.s);
        for (; i < (node + 1) * pairs->per_node; i++) {
            pairs->node_bytes_s[i] = outflow.bytes_limit.s;
            pairs->node_rate_s[i] = outflow.rate_limit.s;
            pairs->empty_s[i] = empty_s;
        }
    }
}

/* Advances members [from, to) if all messages leave their nodes. Member i receives from member i - back. */
static void advance(const pto_pairs_t *pairs, int64_t group, int64_t from, int64_t to, int64_t back) {
    int64_t first = group * pairs->size;
    const double *restrict alpha_s = pairs->alpha_s + first, *restrict bytes_s = pairs->bytes_s + first;
    const double *restrict node_bytes_s = pairs->node_bytes_s, *restrict node_rate_s = pairs->node_rate_s;
    const double *restrict time_s = pairs->time_s + first, *restrict empty_s = pairs->empty_s;
    double *restrict next_s = pairs->next_s + first;
    for (int64_t i = from; i < to && pairs->empty[group]; i++)
        next_s[i] = pto_larger(time_s[i], time_s[i - back]) + empty_s[i];
    for (int64_t i = from; i < to && !pairs->empty[group]; i++) {
        double out_s = pto_off_node_s(alpha_s[i], bytes_s[i], node_bytes_s[i], node_rate_s[i]);
        double in_s = pto_off_node_s(alpha_s[i - back], bytes_s[i - back], node_bytes_s[i], node_rate_s[i]);
        next_s[i] = pto_larger(time_s[i], time_s[i - back]) + pto_larger(out_s, in_s);
    }
}

/* Advances all members by a round in which some messages stay on their nodes. */
static void advance_near(const pto_pairs_t *pairs, int64_t group, int64_t distance) {
    const double *alpha_s = pairs->alpha_s + group * pairs->size;
    const double *bytes_s = pairs->bytes_s + group * pairs->size;
    const double *time_s = pairs->time_s + group * pairs->size;
    for (int64_t i = 0; i < pairs->size; i++) {
        int64_t sender = pto_messages_wrap(i - distance, pairs->size), end[] = {i, sender};
        double max_s = 0;
        for (int e = 0; e < 2; e++) {
            int64_t from = end[e];
            bool off_node = pto_pairs_level(pairs, from, distance) == PTO_LEVEL_OFF_NODE;
            double own_s = off_node ? pto_off_node_s(alpha_s[from], bytes_s[from], pairs->node_bytes_s[i],
                                                     pairs->node_rate_s[i])
                                    : alpha_s[from] + bytes_s[from];
            max_s = pto_larger(max_s, own_s);
        }
        pairs->next_s[group * pairs->size + i] = pto_larger(time_s[i], time_s[sender]) + max_s;
    }
}

static void price_round(pto_pairs_t *pairs, int64_t distance) {
    pto_table_read_distance(&pairs->table, distance, pairs->bytes);
    pto_price_visits += pairs->groups * pairs->size;
    for (int64_t node = 0; node < pairs->pricing->actors.node_count; node++)
        pairs->sent[node] = (pto_sum_t){0, 0};
    for (int64_t group = 0; group < pairs->groups; group++)
        find_costs(pairs, group, distance, pairs->sent);
    find_limits(pairs);
    for (int64_t group = 0; group < pairs->groups; group++) {
        if (all_leave_nodes(pairs, distance)) {
            advance(pairs, group, 0, distance, distance - pairs->size);
            advance(pairs, group, distance, pairs->size, distance);
        } else {
            advance_near(pairs, group, distance);
        }
    }
    if (pairs->terms)
        pto_pairs_terms_count(pairs, distance);
    double *swapped_s = pairs->time_s;
    pairs->time_s = pairs->next_s;
    pairs->next_s = swapped_s;
}

/* --- the loop ------------------------------------------------------------------------------------------- */

/* Copies the times of the ledgers to `time_s`, or back (`to_ledgers`). */
static void copy_times(const pto_pairs_t *pairs, bool to_ledgers) {
    for (int64_t group = 0; group < pairs->groups; group++)
        for (int64_t i = 0; i < pairs->size; i++) {
            int64_t actor = pairs->first_core + group + i * pairs->out.per_index;
            double *time_s = &pairs->time_s[group * pairs->size + i];
            double *ledger_s = &pairs->pricing->clocks.ledger[actor].time.s;
            if (to_ledgers)
                *ledger_s = *time_s;
            else
                *time_s = *ledger_s;
            pairs->pricing->clocks.behind[actor] = PTO_BEHIND_NOTHING;
        }
}

/* The bound is checked before the first round, after FIRST_CHECK rounds, and then after CHECK_FACTOR times as
 * many: with more rounds, processes that wait are ever later than those of pairs_bound.c. */
enum { FIRST_CHECK = 16, CHECK_FACTOR = 4 };

pto_status_t pto_pairs_price(pto_pricing_t *pricing, int loop, int64_t outer) {
    (void)outer;
    pto_pairs_t pairs = {.pricing = pricing};
    const pto_node_t *node = pto_node_at(pricing->plan, loop);
    if (!find_exchange(pricing, loop, &pairs) || !allocate(&pairs) ||
        (pricing->clocks.explain && !pto_pairs_terms_begin(&pairs))) {
        pricing->clocks.out_of_memory = true;
        release(&pairs);
        return PTO_OK;
    }
    copy_times(&pairs, false);
    for (int64_t k = node->from, next_check = k; k < node->to && !pricing->outcome.exceeded; k++) {
        if (k == next_check) {
            pricing->outcome.exceeded = pto_pairs_exceed(&pairs, loop, k);
            next_check = node->from + (k > node->from ? CHECK_FACTOR * (k - node->from) : FIRST_CHECK);
        }
        if (!pricing->outcome.exceeded)
            price_round(&pairs, pto_expr_at(&pairs.out.step->peers.first, k, 0, 0));
    }
    if (pairs.terms)
        pto_pairs_terms_end(&pairs);
    copy_times(&pairs, true);
    release(&pairs);
    return PTO_OK;
}
