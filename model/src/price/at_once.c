/* Prices a stage in which all processes exchange a table of byte counts with all others, with all messages in
 * flight at once (PTO_ORDER_AT_ONCE). The stage is priced as any other, except for the rules of messages.
 *
 * Messages between nodes that pay the same row of a cost form a class. The cost of a class depends only on
 * the number of its messages and on their total bytes: 3 messages with 900 bytes in all cost 3 alpha + 900
 * beta. Sums over lines of the table (rows or columns, table.h) have both, so that no message is looked at.
 * Messages within a node are charged one by one. As costs are added class by class, a price can differ from
 * that of by_rank.c in its last digits.
 *
 * A process also waits for the latest of its senders. Usually that is the latest member of its whole group,
 * which is found once for all. If several members are equally late, or the latest one sends it nothing, all
 * of its senders are compared. */
#include <stdlib.h>

#include "price/messages.h"

enum { ALL_PARTS = -1 };

/* The member of a group that was the last to arrive at the stage. */
typedef struct {
    bool known;
    bool unique; /* no other member was as late */
    int64_t rank;
} latest_t;

/* The current stage. A process follows its latest sender once, at its first step that receives. */
struct pto_summed {
    pto_messages_t *messages; /* [step] */
    latest_t *latest;         /* [core] */
    int64_t follower;         /* the latest process to have followed its latest sender; -1: none */
};

/* Returns whether the blocks are distributed cyclically over the cores of a GPU. */
static bool is_cyclic(const pto_messages_t *messages) { return messages->buffer->cyclic != PTO_CYCLIC_NONE; }

/* Returns whether shifts lead from sender to receiver: senders (rows) add them, receivers subtract them. */
static bool goes_forward(const pto_messages_t *messages) {
    return messages->step->peers.sign == (messages->buffer->blocks == PTO_BLOCKS_ROW ? 1 : -1);
}

/* Returns whether the peers are all others (ALL_PARTS), or all at distances `*part` modulo `parts`. */
static bool has_whole_parts(const pto_messages_t *messages, int64_t parts, int64_t *part) {
    int64_t first = messages->peer_first, stride = messages->peer_stride, size = messages->group->size;
    *part = ALL_PARTS;
    if (first + messages->peer_count * stride < size || first < 0)
        return false;
    if (messages->step->peers.kind == PTO_PEERS_INDEX)
        return first == 0 && stride == 1;
    if (messages->step->peers.kind != PTO_PEERS_SHIFT || !goes_forward(messages))
        return false;
    if (stride == 1)
        return first <= 1;
    *part = first % stride;
    return stride == parts && first <= stride;
}

/* Returns whether the first peer is the core's number, and no other peer or member depends on the core. */
static bool is_part_of_core(const pto_step_t *step) {
    const pto_peers_t *peers = &step->peers;
    pto_expr_t first = peers->first;
    first.core -= 1;
    return first.constant == 0 && pto_range_is_constant(&first, &peers->stride, &peers->until) &&
           pto_range_is_constant(&step->who_first, &step->who_stride, &step->who_until);
}

/* Returns whether the members on a node are the table's owners there. */
static bool is_by_owner(const pto_messages_t *messages) {
    const pto_layout_t *layout = &pto_plan_request(messages->plan)->layout;
    return messages->group->members_per_node == layout->gpus_per_node * layout->owners_per_gpu;
}

/* Returns whether the messages between nodes can be charged by sums. Sets messages->parts and ->part, too. */
static bool can_be_summed(pto_messages_t *messages) {
    if (messages->by_core && (!is_part_of_core(messages->step) || messages->peer_stride == 1))
        return false;
    return messages->of_pairs && messages->per_index > 0 && messages->peer_count > 1 &&
           pto_step_is_message(messages->step) &&
           pto_buffer_parts(messages->plan, messages->buffer, &messages->parts) && is_by_owner(messages) &&
           has_whole_parts(messages, messages->parts.count, &messages->part) &&
           pto_messages_all_cost(messages) &&
           (messages->parts.kind != PTO_PARTS_SHARES || messages->part == ALL_PARTS);
}

/* Returns whether all of a stage's steps can be summed. If latencies are known, all must be of one space. */
static bool is_summed(const pto_pricing_t *pricing, int node) {
    const pto_stage_t *stage = pto_node_stage(pricing->plan, node);
    if (!stage || stage->order != PTO_ORDER_AT_ONCE || !pricing->tables || !pto_messages_are_plain(pricing))
        return false;
    pto_space_t space = PTO_SPACE_CPU;
    bool all = stage->step_count > 0, latency = pto_latency_known(pricing->machine);
    for (int i = 0; i < stage->step_count && all; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, stage->step_first + i);
        pto_messages_t messages = pto_messages_of(pricing, step, 0);
        space = i == 0 ? messages.space : space;
        all = can_be_summed(&messages) && (!latency || messages.space == space);
    }
    return all;
}

static int64_t messages_of_part(const pto_messages_t *messages, int64_t line, int64_t part) {
    const pto_sum_t *sum = pto_table_off_node(messages->sums, line, part);
    int64_t count = 0;
    for (int c = 0; c < messages->sums->classes.count; c++)
        count += sum[c].messages;
    return count;
}

/* Returns the sum of a class of messages between nodes: of the parts of the line that the core holds, as far
 * as the step exchanges them. `line`: the process's index. */
static pto_sum_t class_sum(const pto_messages_t *messages, int64_t line, int64_t core, int class) {
    bool core_has_part = messages->sums->parts.kind == PTO_PARTS_SHARES || is_cyclic(messages);
    int64_t part = core_has_part ? core : messages->part;
    if (is_cyclic(messages) && messages->part != ALL_PARTS && messages->part != core)
        return (pto_sum_t){0, 0};
    if (part != ALL_PARTS)
        return pto_table_off_node(messages->sums, line, part)[class];
    pto_sum_t all = {0, 0};
    for (int64_t p = 0; p < messages->sums->parts.count; p++) {
        const pto_sum_t *sum = &pto_table_off_node(messages->sums, line, p)[class];
        all.messages += sum->messages;
        all.bytes += sum->bytes;
    }
    return all;
}

/* Returns the number of messages that are sent without bytes because another core holds their blocks. */
static int64_t empty_messages(const pto_messages_t *messages, int64_t line, int64_t core) {
    if (!messages->step->send_empty || !is_cyclic(messages))
        return 0;
    if (messages->part != ALL_PARTS)
        return messages->part == core ? 0 : messages_of_part(messages, line, messages->part);
    int64_t off_node = messages->group->size - messages->group->members_per_node; /* in all parts */
    return off_node - messages_of_part(messages, line, core);
}

static bool is_on_node(const pto_messages_t *messages, int64_t me, int64_t peer) {
    int64_t per_node = messages->group->members_per_node;
    return me / per_node == peer / per_node;
}

static bool is_sent(const pto_messages_t *messages, int64_t bytes) {
    return bytes > 0 || messages->step->send_empty;
}

/* Returns the rank of member 0 of the group of an action. */
static int64_t first_rank_of(const pto_messages_t *messages, const pto_action_t *action) {
    return action->rank - action->me * messages->per_index;
}

/* Returns the bytes of the first message between nodes; -1: there is none. */
static int64_t first_bytes(const pto_messages_t *messages, pto_action_t action) {
    int64_t first_rank = first_rank_of(messages, &action), value = messages->peer_first;
    for (int64_t j = 0; j < messages->peer_count; j++, value += messages->peer_stride) {
        if (!pto_messages_to_peer(messages, value, first_rank, &action) ||
            is_on_node(messages, action.me, action.peer))
            continue;
        int64_t bytes = pto_messages_pair_bytes(messages, &action);
        if (is_sent(messages, bytes))
            return bytes;
    }
    return -1;
}

/* Charges messages of a class, which pay the row of `each_bytes`, any size that belongs to the class. */
static void charge_sum(const pto_messages_t *messages, int64_t each_bytes, pto_sum_t sum,
                       pto_charge_t *charge) {
    const pto_cost_table_t *gap =
        charge->moved[PTO_LEVEL_OFF_NODE] ? messages->gap[PTO_LEVEL_OFF_NODE] : NULL;
    const pto_cost_table_t *cost = gap ? gap : messages->cost[PTO_LEVEL_OFF_NODE];
    const pto_postal_t *postal = pto_messages_postal(cost, each_bytes);
    double count = (double)sum.messages, bytes = (double)sum.bytes, alpha_s = count * postal->alpha_s.value;
    charge->moved[PTO_LEVEL_OFF_NODE] = true;
    charge->alpha.s += alpha_s;
    charge->off_node_alpha.s += alpha_s;
    charge->off_node.s += bytes * postal->beta_s_per_byte.value;
    pto_charge_enter_postal(charge, (pto_entry_t){.cell = cost, .space = messages->space, .off_node = true},
                            postal, count, bytes);
}

/* Charges the class of sizes [from_bytes, until_bytes). `*charged_bytes` is the size of the first message if
 * that has been charged alone; otherwise -1. If it belongs to this class, one message of this size is left
 * out, and `*charged_bytes` is set to -1. */
static void charge_class(const pto_messages_t *messages, int64_t from_bytes, int64_t until_bytes,
                         pto_sum_t sum, int64_t *charged_bytes, pto_charge_t *charge) {
    if (sum.messages > 0 && *charged_bytes >= from_bytes && *charged_bytes < until_bytes) {
        sum.messages--;
        sum.bytes -= *charged_bytes;
        *charged_bytes = -1;
    }
    if (sum.messages > 0)
        charge_sum(messages, from_bytes, sum, charge);
}

/* Returns whether a class's messages are sent. Empty ones are only if the step sends empty messages. */
static bool is_class_sent(const pto_messages_t *messages, int class) {
    return messages->sums->classes.from_bytes[class] > 0 || messages->step->send_empty;
}

static pto_sum_t sum_off_node(const pto_messages_t *messages, const pto_action_t *action) {
    pto_sum_t all = {empty_messages(messages, action->me, action->core), 0};
    for (int c = 0; c < messages->sums->classes.count; c++) {
        pto_sum_t sum = class_sum(messages, action->me, action->core, c);
        all.messages += is_class_sent(messages, c) ? sum.messages : 0;
        all.bytes += sum.bytes;
    }
    return all;
}

/* Charges all messages between nodes. If the machine has a gap, all but the first cost only the gap. */
static void charge_off_node(const pto_messages_t *messages, const pto_action_t *action,
                            pto_charge_t *charge) {
    const pto_classes_t *classes = &messages->sums->classes;
    int64_t charged_bytes = -1, empty = empty_messages(messages, action->me, action->core);
    if (messages->gap[PTO_LEVEL_OFF_NODE] && !charge->moved[PTO_LEVEL_OFF_NODE])
        charged_bytes = first_bytes(messages, *action);
    if (charged_bytes >= 0)
        charge_sum(messages, charged_bytes, (pto_sum_t){1, charged_bytes}, charge);
    charge_class(messages, 0, 1, (pto_sum_t){empty, 0}, &charged_bytes, charge);
    for (int c = 0; c < classes->count; c++) {
        int64_t until_bytes = c + 1 < classes->count ? classes->from_bytes[c + 1] : INT64_MAX;
        if (is_class_sent(messages, c))
            charge_class(messages, classes->from_bytes[c], until_bytes,
                         class_sum(messages, action->me, action->core, c), &charged_bytes, charge);
    }
}

/* Returns the index or shift by which the step's set of peers contains this peer; -1: it does not. */
static int64_t value_of(const pto_messages_t *messages, int64_t me, int64_t peer) {
    const pto_peers_t *peers = &messages->step->peers;
    if (peers->kind == PTO_PEERS_INDEX)
        return peer;
    int64_t value = pto_messages_wrap(peers->sign * (peer - me), messages->group->size);
    return messages->part == ALL_PARTS || value % messages->peer_stride == messages->part ? value : -1;
}

/* Charges messages in the order of the step's peers: by index, or by shift, which starts at the process. */
static void charge_on_node(const pto_pricing_t *pricing, const pto_messages_t *messages, pto_action_t action,
                           pto_charge_t *charge) {
    const pto_layout_t *layout = &pto_plan_request(messages->plan)->layout;
    const pto_peers_t *peers = &messages->step->peers;
    int64_t first_rank = first_rank_of(messages, &action);
    int64_t per_node = messages->group->members_per_node, position = action.me % per_node;
    int64_t node_first = action.me - position;
    for (int64_t i = 0; i < per_node; i++) {
        int64_t other =
            peers->kind == PTO_PEERS_INDEX ? i : pto_messages_wrap(position + peers->sign * i, per_node);
        int64_t value = value_of(messages, action.me, node_first + other);
        if (value < messages->peer_first || !pto_messages_to_peer(messages, value, first_rank, &action))
            continue;
        int64_t bytes = pto_messages_pair_bytes(messages, &action);
        pto_level_t level = pto_layout_level(layout, pricing->actors.actor[action.rank].place,
                                             pricing->actors.actor[action.peer_rank].place);
        pto_price_visits++;
        if (is_sent(messages, bytes)) /* cannot fail: can_be_summed has checked that there is a cost */
            pto_charge_messages(charge, pricing->machine, messages->space, level, bytes, 1, NULL);
    }
}

static latest_t latest_member(const pto_pricing_t *pricing, const pto_messages_t *messages,
                              int64_t first_rank) {
    latest_t latest = {.known = true, .unique = true, .rank = first_rank};
    for (int64_t i = 1; i < messages->group->size; i++) {
        int64_t rank = first_rank + i * messages->per_index;
        double time_s = pricing->clocks.before[rank].time.s,
               max_s = pricing->clocks.before[latest.rank].time.s;
        if (time_s > max_s)
            latest = (latest_t){.known = true, .unique = true, .rank = rank};
        else if (time_s == max_s)
            latest.unique = false;
    }
    return latest;
}

/* Returns whether the group's latest member ends the search for the latest sender. It does if it sends to the
 * process; it is then `*last`. It also does if it arrived no later than the process, as then no sender is
 * later. (With latencies, the process must still follow its senders.) */
static bool latest_member_decides(const pto_pricing_t *pricing, const pto_messages_t *messages,
                                  const pto_action_t *action, const pto_ledger_t **last) {
    const pto_ledger_t *before = pricing->clocks.before;
    int64_t first_rank = first_rank_of(messages, action);
    latest_t *latest = &pricing->summed->latest[action->core];
    if (!latest->known)
        *latest = latest_member(pricing, messages, first_rank);
    if (before[latest->rank].time.s <= before[action->rank].time.s && !pto_latency_known(pricing->machine))
        return true;
    pto_action_t from = *action;
    int64_t value = value_of(messages, action->me, (latest->rank - first_rank) / messages->per_index);
    if (!latest->unique || value < 0 || !pto_messages_to_peer(messages, value, first_rank, &from) ||
        !is_sent(messages, pto_messages_pair_bytes(messages, &from)))
        return false;
    *last = &before[latest->rank];
    return true;
}

/* Replaces `*last` by the latest of all senders to the action's process, if one is later. With a sparse
 * table, it only looks at those that have bytes. */
static void find_latest(const pto_pricing_t *pricing, const pto_messages_t *messages,
                        const pto_action_t *action, const pto_ledger_t **last) {
    pto_action_t from = *action;
    pto_held_t held = pto_held_by(messages->plan, messages->slice->buffer, action->rank);
    const int64_t *partner = NULL;
    int64_t first_rank = first_rank_of(messages, action), count = messages->peer_count;
    bool sparse =
        !messages->step->send_empty && pto_tables_partners(pricing->tables, &held, &partner, &count);
    pto_price_visits += count;
    for (int64_t j = 0; j < count; j++) {
        int64_t value = sparse ? value_of(messages, action->me, partner[j])
                               : messages->peer_first + j * messages->peer_stride;
        if (value < 0 || !pto_messages_to_peer(messages, value, first_rank, &from))
            continue;
        const pto_ledger_t *ledger = &pricing->clocks.before[from.peer_rank];
        if ((!*last || ledger->time.s > (*last)->time.s) &&
            is_sent(messages, pto_messages_pair_bytes(messages, &from)))
            *last = ledger;
    }
}

static pto_messages_t *messages_of(const pto_pricing_t *pricing, const pto_action_t *action) {
    const pto_step_t *first = pto_step_at(pricing->plan, pricing->at.stage->step_first);
    pto_messages_t *messages = &pricing->summed->messages[action->step - first];
    if (messages->by_core) {
        pto_messages_find_members(messages, action->k, action->core);
        messages->part = action->core;
    }
    return messages;
}

/* Returns the ledger of the latest sender of any step; NULL: none is later. Looks at each sender only if no
 * step's latest member decides. */
static const pto_ledger_t *latest_sender(const pto_pricing_t *pricing, int64_t actor, int64_t k) {
    const pto_stage_t *stage = pricing->at.stage;
    const pto_ledger_t *last = NULL;
    bool found = false;
    for (int pass = 0; pass < 2 && !found; pass++) /* the second one looks at each sender */
        for (int i = 0; i < stage->step_count && !found; i++) {
            const pto_step_t *step = pto_step_at(pricing->plan, stage->step_first + i);
            pto_action_t action;
            if (step->kind != PTO_STEP_RECV || !pto_actor_acts(pricing, step, actor, k, &action))
                continue;
            const pto_messages_t *messages = messages_of(pricing, &action);
            if (pass == 0)
                found = latest_member_decides(pricing, messages, &action, &last);
            else
                find_latest(pricing, messages, &action, &last);
        }
    return last;
}

static void follow_latest(pto_pricing_t *pricing, const pto_action_t *action) {
    pto_summed_t *summed = pricing->summed;
    const pto_ledger_t *last =
        summed->follower != action->rank ? latest_sender(pricing, action->rank, action->k) : NULL;
    if (last)
        pto_pricing_follow(pricing, &pricing->clocks.ledger[action->rank], last);
    summed->follower = action->rank;
}

static void count_sends(pto_pricing_t *pricing, pto_action_t *action) {
    const pto_messages_t *messages = messages_of(pricing, action);
    pto_sum_t sent = sum_off_node(messages, action);
    if (sent.messages > 0)
        pto_outflow_add_sum(&pricing->shared.outflow[pto_actor_node(pricing, action->rank)], messages->space,
                            messages->step->peers.kind, messages->in_one_order, pricing->actors.node_count,
                            (double)sent.messages, (double)sent.bytes);
}

static int64_t messages_off_node(const pto_pricing_t *pricing, pto_action_t action) {
    return sum_off_node(messages_of(pricing, &action), &action).messages;
}

static pto_status_t charge_messages(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge,
                                    pto_busiest_links_t *busiest) {
    const pto_messages_t *messages = messages_of(pricing, action);
    (void)busiest;
    pto_price_visits += messages->sums->classes.count;
    charge_on_node(pricing, messages, *action, charge);
    charge_off_node(messages, action, charge);
    charge->max_on_node = charge->on_node;
    if (action->step->kind == PTO_STEP_RECV)
        follow_latest(pricing, action);
    return PTO_OK;
}

static const pto_message_rules_t by_sums = {
    .count = count_sends, .off_node = messages_off_node, .charge = charge_messages};

static bool sum_tables(const pto_pricing_t *pricing, const pto_stage_t *stage, int64_t k,
                       pto_messages_t *messages) {
    for (int i = 0; i < stage->step_count; i++) {
        messages[i] = pto_messages_of(pricing, pto_step_at(pricing->plan, stage->step_first + i), k);
        can_be_summed(&messages[i]); /* sets `parts` and `part` */
        messages[i].sums = pto_tables_sum(pricing->tables, pto_plan_request(pricing->plan), pricing->machine,
                                          messages[i].parts, messages[i].buffer->blocks == PTO_BLOCKS_ROW);
        if (!messages[i].sums)
            return false;
    }
    return true;
}

static pto_status_t price_by_sums(pto_pricing_t *pricing, int node, int64_t k) {
    const pto_stage_t *stage = pto_node_stage(pricing->plan, node);
    const pto_message_rules_t *by_rank = pricing->messages;
    pto_summed_t summed = {.messages = malloc((size_t)stage->step_count * sizeof *summed.messages),
                           .latest = calloc((size_t)pricing->actors.per_gpu, sizeof *summed.latest),
                           .follower = -1};
    pto_status_t status = PTO_OK;
    if (summed.messages && summed.latest && sum_tables(pricing, stage, k, summed.messages)) {
        pricing->messages = &by_sums;
        pricing->summed = &summed;
        status = pto_stage_price(pricing, node, k);
        pricing->messages = by_rank;
        pricing->summed = NULL;
    } else {
        pricing->clocks.out_of_memory = true;
    }
    free(summed.messages);
    free(summed.latest);
    return status;
}

const pto_pricer_t pto_pricer_at_once = {is_summed, price_by_sums};
