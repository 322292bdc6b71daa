/* Exchanges of tables in which all messages of a process are in flight at once: those within its node are
 * charged one by one, those between nodes by what sums over the table say (table.h). Their costs are added
 * class by class instead of message by message, so a price can differ in its last digits from the one that
 * messages.c computes one by one. */
#include "price/messages.h"

enum { ALL_PARTS = -1 };

/* --- whether messages can be charged by sums ------------------------------------------------------------ */

static bool is_dealt(const pto_messages_t *messages) { return messages->buffer->cyclic != PTO_CYCLIC_NONE; }

/* A message goes as many owners further as its receiver is from its sender, for both of them. */
static bool goes_forward(const pto_messages_t *messages) {
    return messages->step->peers.sign == (messages->buffer->blocks == PTO_BLOCKS_ROW ? 1 : -1);
}

/* Whether the step's peers are all others, or all that are a number of one part further. */
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

/* Whether nothing depends on the core but which part the peers are: that of its number. */
static bool is_part_of_core(const pto_step_t *step) {
    const pto_peers_t *peers = &step->peers;
    pto_expr_t first = peers->first;
    first.core -= 1;
    return first.constant == 0 && pto_expr_is_constant(&first) && pto_expr_is_constant(&peers->stride) &&
           pto_expr_is_constant(&peers->until) && pto_expr_is_constant(&step->who_first) &&
           pto_expr_is_constant(&step->who_stride) && pto_expr_is_constant(&step->who_until);
}

/* Of the members of a node, the table's owners on it. */
static bool is_by_owner(const pto_messages_t *messages) {
    const pto_layout_t *layout = &pto_plan_request(messages->plan)->layout;
    return messages->group->members_per_node == layout->gpus_per_node * layout->owners_per_gpu;
}

void pto_messages_find_sums(const pto_asked_t *asked, pto_clocks_t *clocks, pto_messages_t *messages) {
    pto_parts_t parts;
    messages->sums = NULL;
    if (messages->by_core && (!is_part_of_core(messages->step) || messages->peer_stride == 1))
        return;
    if (!messages->of_pairs || messages->per_index == 0 || messages->peer_count < 2 ||
        !pto_buffer_parts(messages->plan, messages->buffer, &parts) || !is_by_owner(messages) ||
        !has_whole_parts(messages, parts.count, &messages->part) || !pto_messages_all_cost(messages) ||
        (parts.kind == PTO_PARTS_SHARES && messages->part != ALL_PARTS))
        return;
    messages->sums = pto_tables_sum(asked->tables, pto_plan_request(messages->plan), asked->machine, parts,
                                    messages->buffer->blocks == PTO_BLOCKS_ROW);
    clocks->out_of_memory = clocks->out_of_memory || !messages->sums;
}

/* --- messages between nodes ----------------------------------------------------------------------------- */

static pto_sum_t all_classes(const pto_messages_t *messages, int64_t line, int64_t part) {
    const pto_sum_t *sum = pto_table_off_node(messages->sums, line, part);
    pto_sum_t all = {0, 0};
    for (int c = 0; c < messages->sums->classes.count; c++) {
        all.messages += sum[c].messages;
        all.bytes += sum[c].bytes;
    }
    return all;
}

/* Messages between nodes of a class, of the parts that the core and the step have in common. */
static pto_sum_t class_sum(const pto_messages_t *messages, int64_t line, int64_t core, int class) {
    bool own = messages->sums->parts.kind == PTO_PARTS_SHARES || is_dealt(messages);
    int64_t part = own ? core : messages->part;
    if (is_dealt(messages) && messages->part != ALL_PARTS && messages->part != core)
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

/* Those of the step whose blocks another core has, and which are sent without them. */
static int64_t empty_messages(const pto_messages_t *messages, int64_t line, int64_t core) {
    if (!messages->step->send_empty || !is_dealt(messages))
        return 0;
    if (messages->part != ALL_PARTS && messages->part != core)
        return all_classes(messages, line, messages->part).messages;
    int64_t off_node = messages->group->size - messages->group->members_per_node;
    return messages->part == core ? 0 : off_node - all_classes(messages, line, core).messages;
}

static bool is_on_node(const pto_messages_t *messages, int64_t me, int64_t peer) {
    int64_t per_node = messages->group->members_per_node;
    return me / per_node == peer / per_node;
}

static bool is_sent(const pto_messages_t *messages, int64_t bytes) {
    return bytes > 0 || messages->step->send_empty;
}

/* The bytes of the first message between nodes; -1: there is none. */
static int64_t first_bytes(const pto_messages_t *messages, pto_action_t action) {
    int64_t first_rank = action.rank - action.me * messages->per_index, value = messages->peer_first;
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

/* Charge a class but for one message, if that is of it and has been charged. */
static void charge_class(const pto_messages_t *messages, int64_t from_bytes, int64_t until_bytes,
                         pto_sum_t sum, int64_t *charged_bytes, pto_charge_t *charge,
                         pto_explained_t *explained) {
    if (sum.messages > 0 && *charged_bytes >= from_bytes && *charged_bytes < until_bytes) {
        sum.messages--;
        sum.bytes -= *charged_bytes;
        *charged_bytes = -1;
    }
    if (sum.messages > 0)
        pto_messages_charge(messages, PTO_LEVEL_OFF_NODE, from_bytes, sum, charge, explained);
}

/* Returns what is charged. The first message pays its whole cost, the others a gap where there is one. */
static pto_sum_t charge_off_node(const pto_messages_t *messages, const pto_action_t *action,
                                 pto_charge_t *charge, pto_explained_t *explained) {
    const pto_classes_t *classes = &messages->sums->classes;
    int64_t charged_bytes = -1, empty = empty_messages(messages, action->me, action->core);
    pto_sum_t all = {empty, 0};
    if (messages->gap[PTO_LEVEL_OFF_NODE] && !charge->moved[PTO_LEVEL_OFF_NODE])
        charged_bytes = first_bytes(messages, *action);
    if (charged_bytes >= 0)
        pto_messages_charge(messages, PTO_LEVEL_OFF_NODE, charged_bytes, (pto_sum_t){1, charged_bytes},
                            charge, explained);
    charge_class(messages, 0, 1, (pto_sum_t){empty, 0}, &charged_bytes, charge, explained);
    for (int c = 0; c < classes->count; c++) {
        int64_t from_bytes = classes->from_bytes[c];
        int64_t until_bytes = c + 1 < classes->count ? classes->from_bytes[c + 1] : INT64_MAX;
        pto_sum_t sum = class_sum(messages, action->me, action->core, c);
        if (from_bytes == 0 && !messages->step->send_empty)
            continue;
        charge_class(messages, from_bytes, until_bytes, sum, &charged_bytes, charge, explained);
        all.messages += sum.messages;
        all.bytes += sum.bytes;
    }
    return all;
}

/* --- messages within a node ----------------------------------------------------------------------------- */

/* The peer's value in the step's set of peers; -1: it is not in it. */
static int64_t value_of(const pto_messages_t *messages, int64_t me, int64_t peer) {
    const pto_peers_t *peers = &messages->step->peers;
    if (peers->kind == PTO_PEERS_INDEX)
        return peer;
    int64_t value = pto_messages_wrap(peers->sign * (peer - me), messages->group->size);
    return messages->part == ALL_PARTS || value % messages->peer_stride == messages->part ? value : -1;
}

/* Charge the messages to the peers whose value lies from `from` to `last`: all are on the process's node. */
static void charge_values(const pto_actors_t *actors, const pto_messages_t *messages, pto_action_t *action,
                          int64_t from, int64_t last, pto_charge_t *charge, pto_explained_t *explained) {
    const pto_layout_t *layout = &pto_plan_request(messages->plan)->layout;
    int64_t first_rank = action->rank - action->me * messages->per_index, stride = messages->peer_stride;
    int64_t value = messages->peer_first;
    if (value < from)
        value += (from - value + stride - 1) / stride * stride;
    for (; value <= last; value += stride) {
        if (!pto_messages_to_peer(messages, value, first_rank, action))
            continue;
        int64_t bytes = pto_messages_pair_bytes(messages, action);
        pto_level_t level = pto_layout_level(layout, actors->actor[action->rank].place,
                                             actors->actor[action->peer_rank].place);
        pto_price_visits++;
        if (is_sent(messages, bytes))
            pto_messages_charge(messages, level, bytes, (pto_sum_t){1, bytes}, charge, explained);
    }
}

/* In the order of the step's peers. */
static void charge_on_node(const pto_actors_t *actors, const pto_messages_t *messages, pto_action_t action,
                           pto_charge_t *charge, pto_explained_t *explained) {
    int64_t per_node = messages->group->members_per_node, size = messages->group->size;
    int64_t behind = action.me % per_node, ahead = per_node - 1 - behind;
    const pto_peers_t *peers = &messages->step->peers;
    if (peers->kind == PTO_PEERS_INDEX) {
        charge_values(actors, messages, &action, action.me - behind, action.me + ahead, charge, explained);
        return;
    }
    int64_t first = peers->sign > 0 ? ahead : behind, second = peers->sign > 0 ? behind : ahead;
    charge_values(actors, messages, &action, 0, first, charge, explained);
    charge_values(actors, messages, &action, size - second, size - 1, charge, explained);
}

void pto_messages_charge_sums(const pto_actors_t *actors, const pto_messages_t *messages,
                              const pto_action_t *action, pto_charge_t *charge, pto_outflow_t *outflow) {
    pto_explained_t explained;
    explained.count = 0;
    pto_price_visits += messages->sums->classes.count;
    charge_on_node(actors, messages, *action, charge, &explained);
    pto_sum_t sent = charge_off_node(messages, action, charge, &explained);
    if (outflow && sent.messages > 0)
        pto_outflow_add_sum(outflow, messages->space, messages->step->peers.kind, messages->in_one_order,
                            pto_plan_request(messages->plan)->layout.nodes, (double)sent.messages,
                            (double)sent.bytes);
    if (charge->terms)
        pto_messages_enter(messages, &explained, charge);
}

/* --- the latest sender ---------------------------------------------------------------------------------- */

static pto_latest_t latest_member(const pto_clocks_t *clocks, const pto_messages_t *messages,
                                  int64_t first_rank) {
    pto_latest_t latest = {.known = true, .alone = true, .rank = first_rank};
    for (int64_t i = 1; i < messages->group->size; i++) {
        int64_t rank = first_rank + i * messages->per_index;
        double time_s = clocks->before[rank].time.s, most_s = clocks->before[latest.rank].time.s;
        if (time_s > most_s)
            latest = (pto_latest_t){.known = true, .alone = true, .rank = rank};
        else if (time_s == most_s)
            latest.alone = false;
    }
    return latest;
}

bool pto_messages_find_latest(const pto_asked_t *asked, const pto_clocks_t *clocks,
                              const pto_messages_t *messages, const pto_action_t *action,
                              pto_latest_t *latest, const pto_ledger_t **last) {
    int64_t first_rank = action->rank - action->me * messages->per_index;
    pto_latest_t *of_core = &latest[action->core];
    if (!of_core->known)
        *of_core = latest_member(clocks, messages, first_rank);
    const pto_ledger_t *ledger = &clocks->before[of_core->rank];
    if (ledger->time.s <= clocks->before[action->rank].time.s && !pto_latency_known(asked->machine))
        return true;
    pto_action_t from = *action;
    int64_t value = value_of(messages, action->me, (of_core->rank - first_rank) / messages->per_index);
    if (!of_core->alone || value < 0 || !pto_messages_to_peer(messages, value, first_rank, &from) ||
        !is_sent(messages, pto_messages_pair_bytes(messages, &from)))
        return false;
    *last = ledger;
    return true;
}

void pto_messages_see_latest(const pto_clocks_t *clocks, const pto_messages_t *messages,
                             const pto_action_t *action, const pto_ledger_t **last) {
    pto_action_t from = *action;
    int64_t first_rank = action->rank - action->me * messages->per_index, value = messages->peer_first;
    pto_price_visits += messages->peer_count;
    for (int64_t j = 0; j < messages->peer_count; j++, value += messages->peer_stride) {
        if (!pto_messages_to_peer(messages, value, first_rank, &from))
            continue;
        const pto_ledger_t *ledger = &clocks->before[from.peer_rank];
        if ((!*last || ledger->time.s > (*last)->time.s) &&
            is_sent(messages, pto_messages_pair_bytes(messages, &from)))
            *last = ledger;
    }
}
