/* Stages in which all processes exchange a table with all others, a process's messages all in flight at once:
 * those within its node are charged one by one, those between nodes by what sums over the table say
 * (table.h). Their costs are added class by class instead of message by message, so a price can differ in its
 * last digits from the one that price.c computes. */
#include <stdlib.h>

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

/* Messages of two memories may have two latencies, which price.c tells apart. */
bool pto_at_once_applies(const pto_pricing_t *pricing, int node) {
    const pto_node_t *at = pto_node_at(pricing->asked.plan, node);
    const pto_stage_t *stage =
        at->kind == PTO_NODE_STAGE ? pto_stage_at(pricing->asked.plan, at->stage) : NULL;
    if (!stage || stage->order != PTO_ORDER_AT_ONCE || !pricing->asked.tables ||
        !pto_messages_are_plain(pricing))
        return false;
    pto_space_t space = PTO_SPACE_CPU;
    bool all = stage->step_count > 0, latency = pto_latency_known(pricing->asked.machine);
    for (int i = 0; i < stage->step_count && all; i++) {
        const pto_step_t *step = pto_step_at(pricing->asked.plan, stage->step_first + i);
        pto_messages_t messages = pto_messages_of(&pricing->asked, step, 0);
        space = i == 0 ? messages.space : space;
        all = can_be_summed(&messages) && (!latency || messages.space == space);
    }
    return all;
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

/* Charge messages that cost what one of `each_bytes` does. */
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
    pto_charge_enter_postal(charge, (pto_entry_t){.place = cost, .space = messages->space, .off_node = true},
                            postal, count, bytes);
}

/* Charge a class but for one message, if that is of it and has been charged. */
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

/* Returns what is charged. The first message pays its whole cost, the others a gap where there is one. */
static pto_sum_t charge_off_node(const pto_messages_t *messages, const pto_action_t *action,
                                 pto_charge_t *charge) {
    const pto_classes_t *classes = &messages->sums->classes;
    int64_t charged_bytes = -1, empty = empty_messages(messages, action->me, action->core);
    pto_sum_t all = {empty, 0};
    if (messages->gap[PTO_LEVEL_OFF_NODE] && !charge->moved[PTO_LEVEL_OFF_NODE])
        charged_bytes = first_bytes(messages, *action);
    if (charged_bytes >= 0)
        charge_sum(messages, charged_bytes, (pto_sum_t){1, charged_bytes}, charge);
    charge_class(messages, 0, 1, (pto_sum_t){empty, 0}, &charged_bytes, charge);
    for (int c = 0; c < classes->count; c++) {
        int64_t from_bytes = classes->from_bytes[c];
        int64_t until_bytes = c + 1 < classes->count ? classes->from_bytes[c + 1] : INT64_MAX;
        pto_sum_t sum = class_sum(messages, action->me, action->core, c);
        if (from_bytes == 0 && !messages->step->send_empty)
            continue;
        charge_class(messages, from_bytes, until_bytes, sum, &charged_bytes, charge);
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
static void charge_values(const pto_asked_t *asked, const pto_actors_t *actors,
                          const pto_messages_t *messages, pto_action_t *action, int64_t from, int64_t last,
                          pto_charge_t *charge) {
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
        if (is_sent(messages, bytes)) /* the machine has a cost */
            pto_charge_messages(charge, asked->machine, messages->space, level, bytes, 1, NULL);
    }
}

/* In the order of the step's peers. */
static void charge_on_node(const pto_asked_t *asked, const pto_actors_t *actors,
                           const pto_messages_t *messages, pto_action_t action, pto_charge_t *charge) {
    int64_t per_node = messages->group->members_per_node, size = messages->group->size;
    int64_t behind = action.me % per_node, ahead = per_node - 1 - behind;
    const pto_peers_t *peers = &messages->step->peers;
    if (peers->kind == PTO_PEERS_INDEX) {
        charge_values(asked, actors, messages, &action, action.me - behind, action.me + ahead, charge);
        return;
    }
    int64_t first = peers->sign > 0 ? ahead : behind, second = peers->sign > 0 ? behind : ahead;
    charge_values(asked, actors, messages, &action, 0, first, charge);
    charge_values(asked, actors, messages, &action, size - second, size - 1, charge);
}

/* Charge a process's messages of one step; those between nodes are also added to `outflow`, unless it is
 * NULL. Returns their number. */
static int64_t charge_step(const pto_asked_t *asked, const pto_actors_t *actors,
                           const pto_messages_t *messages, const pto_action_t *action, pto_charge_t *charge,
                           pto_outflow_t *outflow) {
    pto_price_visits += messages->sums->classes.count;
    charge_on_node(asked, actors, messages, *action, charge);
    pto_sum_t sent = charge_off_node(messages, action, charge);
    if (outflow && sent.messages > 0)
        pto_outflow_add_sum(outflow, messages->space, messages->step->peers.kind, messages->in_one_order,
                            pto_plan_request(messages->plan)->layout.nodes, (double)sent.messages,
                            (double)sent.bytes);
    return sent.messages;
}

/* --- the latest sender ---------------------------------------------------------------------------------- */

/* Of the members of a group, the one that was last to end the stages before. */
typedef struct {
    bool known;
    bool alone; /* no other one was as late */
    int64_t rank;
} latest_t;

static latest_t latest_member(const pto_clocks_t *clocks, const pto_messages_t *messages,
                              int64_t first_rank) {
    latest_t latest = {.known = true, .alone = true, .rank = first_rank};
    for (int64_t i = 1; i < messages->group->size; i++) {
        int64_t rank = first_rank + i * messages->per_index;
        double time_s = clocks->before[rank].time.s, most_s = clocks->before[latest.rank].time.s;
        if (time_s > most_s)
            latest = (latest_t){.known = true, .alone = true, .rank = rank};
        else if (time_s == most_s)
            latest.alone = false;
    }
    return latest;
}

/* Whether it is sure who is the latest of those that a process receives from: `**last`, or nobody who is
 * later than the process itself. `latest`: of each core. */
static bool find_latest(const pto_asked_t *asked, const pto_clocks_t *clocks, const pto_messages_t *messages,
                        const pto_action_t *action, latest_t *latest, const pto_ledger_t **last) {
    int64_t first_rank = action->rank - action->me * messages->per_index;
    latest_t *of_core = &latest[action->core];
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

/* Look at all that it receives from; of a sparse table, at its partners. */
static void see_latest(const pto_asked_t *asked, const pto_clocks_t *clocks, const pto_messages_t *messages,
                       const pto_action_t *action, const pto_ledger_t **last) {
    pto_action_t from = *action;
    pto_held_t held = pto_held_by(messages->plan, messages->slice->buffer, action->rank);
    const int64_t *partner = NULL;
    int64_t first_rank = action->rank - action->me * messages->per_index, count = messages->peer_count;
    bool sparse = !messages->step->send_empty && pto_tables_partners(asked->tables, &held, &partner, &count);
    pto_price_visits += count;
    for (int64_t j = 0; j < count; j++) {
        int64_t value = sparse ? value_of(messages, action->me, partner[j])
                               : messages->peer_first + j * messages->peer_stride;
        if (value < 0 || !pto_messages_to_peer(messages, value, first_rank, &from))
            continue;
        const pto_ledger_t *ledger = &clocks->before[from.peer_rank];
        if ((!*last || ledger->time.s > (*last)->time.s) &&
            is_sent(messages, pto_messages_pair_bytes(messages, &from)))
            *last = ledger;
    }
}

/* --- the stage ------------------------------------------------------------------------------------------ */

/* What one process sends. */
typedef struct {
    pto_charge_t out;
    int64_t out_count; /* messages between nodes */
} ends_t;

typedef struct {
    const char *name;
    pto_messages_t *messages; /* of each step */
    int step_count;
    int64_t k;
    int64_t per_node; /* processes */
    ends_t *ends;     /* of each process of the current node */
    latest_t *latest; /* of each core */
} stage_t;

/* pto_step_acts for a process whose place is known. */
static bool acts(const pto_actors_t *actors, const pto_messages_t *messages, int64_t actor, int64_t k,
                 pto_action_t *action) {
    const pto_step_t *step = messages->step;
    pto_rank_t place = actors->actor[actor].place;
    if (place.core < step->core_first || place.core >= step->core_first + step->core_count)
        return false;
    int64_t me = pto_group_index_at(&pto_plan_request(actors->plan)->layout, messages->group, place);
    if (me < messages->who_first || me >= messages->who_until ||
        (messages->who_stride != 1 && (me - messages->who_first) % messages->who_stride != 0))
        return false;
    *action = (pto_action_t){
        .step = step, .rank = actor, .core = place.core, .me = me, .k = k, .peer = -1, .peer_rank = -1};
    return me >= 0;
}

/* Whether a process's part in a step is of this kind, and what it is. */
static bool takes_part(const pto_actors_t *actors, const stage_t *stage, pto_messages_t *messages,
                       int64_t actor, pto_step_kind_t kind, pto_action_t *action) {
    if (messages->step->kind != kind)
        return false;
    if (messages->by_core) {
        pto_messages_find_members(messages, stage->k, actors->actor[actor].place.core);
        messages->part = actors->actor[actor].place.core;
    }
    return acts(actors, messages, actor, stage->k, action);
}

/* The latest that a process receives from, or NULL if that is sure not to be later than itself. */
static const pto_ledger_t *latest_sender(const pto_pricing_t *pricing, const stage_t *stage, int64_t actor) {
    const pto_ledger_t *last = NULL;
    bool found = false;
    for (int pass = 0; pass < 2 && !found; pass++) /* it is known without a look at each, or it is not */
        for (int i = 0; i < stage->step_count && !found; i++) {
            pto_messages_t *messages = &stage->messages[i];
            pto_action_t action;
            if (!takes_part(&pricing->actors, stage, messages, actor, PTO_STEP_RECV, &action))
                continue;
            if (pass == 0)
                found =
                    find_latest(&pricing->asked, &pricing->clocks, messages, &action, stage->latest, &last);
            else
                see_latest(&pricing->asked, &pricing->clocks, messages, &action, &last);
        }
    return last;
}

/* Charge a process's sends, or its receives. Returns the number of messages between nodes. */
static int64_t charge_steps(const pto_pricing_t *pricing, const stage_t *stage, int64_t actor,
                            pto_step_kind_t kind, pto_charge_t *charge, pto_outflow_t *outflow) {
    int64_t count = 0;
    charge->at_once = true;
    for (int i = 0; i < stage->step_count; i++) {
        pto_action_t action;
        if (takes_part(&pricing->actors, stage, &stage->messages[i], actor, kind, &action))
            count +=
                charge_step(&pricing->asked, &pricing->actors, &stage->messages[i], &action, charge, outflow);
    }
    return count;
}

static void count_sends(pto_pricing_t *pricing, const stage_t *stage, int64_t actor) {
    ends_t *ends = &stage->ends[actor % stage->per_node];
    pto_charge_begin(&ends->out, stage->name, NULL);
    ends->out_count = charge_steps(pricing, stage, actor, PTO_STEP_SEND, &ends->out,
                                   &pricing->shared.outflow[pricing->actors.actor[actor].place.node]);
}

static bool takes_any_part(const pto_actors_t *actors, const stage_t *stage, int64_t actor) {
    pto_action_t action;
    for (int i = 0; i < stage->step_count; i++)
        if (takes_part(actors, stage, &stage->messages[i], actor, stage->messages[i].step->kind, &action))
            return true;
    return false;
}

/* Once it is known what its node sends, which may limit all of its messages. An explanation keeps none of the
 * sends that were counted, so it takes them again. */
static void price_process(pto_pricing_t *pricing, const stage_t *stage, int64_t actor) {
    pto_clocks_t *clocks = &pricing->clocks;
    const pto_machine_t *machine = pricing->asked.machine;
    pto_outflow_t *outflow = &pricing->shared.outflow[pricing->actors.actor[actor].place.node];
    ends_t *ends = &stage->ends[actor % stage->per_node];
    pto_charge_t *out = &ends->out, in;
    if (!takes_any_part(&pricing->actors, stage, actor))
        return;
    clocks->behind[actor] = PTO_BEHIND_NOTHING;
    pto_charge_begin(&in, stage->name, clocks->explain ? &clocks->terms[1] : NULL);
    if (clocks->explain) {
        pto_charge_begin(out, stage->name, &clocks->terms[0]);
        charge_steps(pricing, stage, actor, PTO_STEP_SEND, out, NULL);
    }
    int64_t in_count = charge_steps(pricing, stage, actor, PTO_STEP_RECV, &in, NULL);
    const pto_ledger_t *last = latest_sender(pricing, stage, actor);
    bool early = ends->out_count < 2 && ends->out_count + in_count > 0 && pto_latency_known(machine);
    if (early)
        pto_pricing_begin_early(pricing, actor, stage->messages[0].space);
    if (last)
        pto_pricing_follow(clocks, &clocks->ledger[actor], last);
    pto_time_t out_time = pto_charge_time(out, machine, outflow);
    pto_time_t in_time = pto_charge_time(&in, machine, outflow);
    pto_charge_t *longer = in_time.s > out_time.s ? &in : out;
    pto_charge_settle(longer, machine, outflow);
    pto_occupied_messages(&pricing->outcome, actor, out_time, in_time);
    if (!pto_ledger_add(&clocks->ledger[actor], longer, pto_time_max(out_time, in_time)))
        clocks->out_of_memory = true;
    if (early)
        pto_pricing_follow(clocks, &clocks->ledger[actor], &clocks->before[actor]);
}

static void price_node(pto_pricing_t *pricing, const stage_t *stage, int64_t node) {
    int64_t first = node * stage->per_node, until = first + stage->per_node;
    pricing->shared.outflow[node] = (pto_outflow_t){0};
    for (int64_t actor = first; actor < until; actor++)
        count_sends(pricing, stage, actor);
    for (int64_t actor = first; actor < until; actor++)
        price_process(pricing, stage, actor);
}

static bool sum_tables(const pto_pricing_t *pricing, const pto_stage_t *from, stage_t *stage) {
    bool summed = true;
    for (int i = 0; i < stage->step_count && summed; i++) {
        pto_messages_t *messages = &stage->messages[i];
        *messages = pto_messages_of(&pricing->asked, pto_step_at(pricing->asked.plan, from->step_first + i),
                                    stage->k);
        can_be_summed(messages);
        messages->sums =
            pto_tables_sum(pricing->asked.tables, pto_plan_request(messages->plan), pricing->asked.machine,
                           messages->parts, messages->buffer->blocks == PTO_BLOCKS_ROW);
        summed = messages->sums != NULL;
    }
    return summed;
}

pto_status_t pto_at_once_price(pto_pricing_t *pricing, int node, int64_t k) {
    const pto_stage_t *from =
        pto_stage_at(pricing->asked.plan, pto_node_at(pricing->asked.plan, node)->stage);
    stage_t stage = {.name = from->name,
                     .messages = malloc((size_t)from->step_count * sizeof *stage.messages),
                     .step_count = from->step_count,
                     .k = k,
                     .per_node = pricing->actors.count / pricing->actors.node_count};
    pricing->at.stage = from;
    pto_pricing_remember(&pricing->actors, &pricing->clocks, pricing->clocks.before);
    stage.ends = malloc((size_t)stage.per_node * sizeof *stage.ends);
    stage.latest = calloc((size_t)pricing->actors.per_gpu, sizeof *stage.latest);
    if (!stage.messages || !stage.ends || !stage.latest || !sum_tables(pricing, from, &stage))
        pricing->clocks.out_of_memory = true;
    for (int64_t n = 0; n < pricing->actors.node_count && !pricing->clocks.out_of_memory; n++)
        price_node(pricing, &stage, n);
    if (!pricing->clocks.out_of_memory)
        pto_occupied_stage(pricing);
    free(stage.messages);
    free(stage.ends);
    free(stage.latest);
    return PTO_OK;
}
