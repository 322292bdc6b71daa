/* Stages of messages alone, where every process is an actor of its own: those of tables of byte counts, which
 * have a message for each pair of processes. Each message is looked at twice, once at either end, with
 * nothing in between but its bytes and its cost. The sums are those of price.c, in the same order. */
#include <stdlib.h>
#include <string.h>

#include "price/messages.h"

/* --- whether a stage is one ----------------------------------------------------------------------------- */

bool pto_messages_are_apart(const pto_machine_t *machine, const pto_layout_t *layout) {
    const pto_param_t *both_ways = machine->both_ways;
    return pto_links_of(machine, layout).count == 0 && machine->fabric.levels == 0 &&
           !pto_param_known(&both_ways[PTO_SPACE_CPU]) && !pto_param_known(&both_ways[PTO_SPACE_GPU]);
}

/* Links and shared rates need what this file leaves out; so do tapes. */
static bool is_plain(const pto_pricing_t *pricing) {
    return pricing->actors.kind == PTO_ACTORS_RANKS && !pricing->lanes.active && !pto_tape_recording &&
           pto_messages_are_apart(pricing->asked.machine, &pto_plan_request(pricing->asked.plan)->layout);
}

static pto_space_t space_of(const pto_asked_t *asked, const pto_step_t *step) {
    return pto_plan_buffer(asked->plan, pto_message_slice(step)->buffer)->space;
}

/* Messages of two memories may have two latencies, which price.c tells apart. */
bool pto_messages_are_all(const pto_pricing_t *pricing, const pto_stage_t *stage) {
    if (!is_plain(pricing) || stage->order != PTO_ORDER_AT_ONCE || stage->step_count == 0)
        return false;
    const pto_step_t *first = pto_plan_step(pricing->asked.plan, stage->step_first);
    bool latency = pto_latency_known(pricing->asked.machine);
    pto_space_t space = pto_step_is_message(first) ? space_of(&pricing->asked, first) : PTO_SPACE_CPU;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(pricing->asked.plan, stage->step_first + i);
        pto_peers_kind_t peers = step->peers.kind;
        bool counted = peers == PTO_PEERS_SHIFT || peers == PTO_PEERS_XOR || peers == PTO_PEERS_INDEX;
        if (!pto_step_is_message(step) || !counted || (latency && space_of(&pricing->asked, step) != space))
            return false;
    }
    return pto_plan_request(pricing->asked.plan)->collective != PTO_COLLECTIVE_HALO;
}

bool pto_messages_all_cost(const pto_messages_t *messages) {
    bool all = true;
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        all = all && messages->cost[level]->count > 0;
    return all;
}

/* --- the bytes of a message ----------------------------------------------------------------------------- */

/* Ranks from one member of a group to the next. */
static int64_t rank_stride(const pto_layout_t *layout, const pto_group_t *group) {
    unsigned index = pto_group_traits[group->kind].index;
    int64_t per_gpu = pto_group_members_per_gpu(layout, group->kind);
    if (group->fold != 0)
        return 0;
    if (index == PTO_BY_CORE)
        return 1;
    if (index == PTO_BY_NODE)
        return layout->gpus_per_node * layout->procs_per_gpu;
    return per_gpu == 1 ? layout->procs_per_gpu : per_gpu == layout->procs_per_gpu ? 1 : 0;
}

/* Who acts in round k, and with whom. Processes ask for it millions of times. */
static void find_members(pto_messages_t *messages, int64_t k, int64_t core) {
    const pto_step_t *step = messages->step;
    const pto_action_t action = {.step = step, .k = k, .core = core};
    messages->who_first = pto_expr_at(&step->who_first, k, core, 0);
    messages->who_stride = pto_expr_at(&step->who_stride, k, core, 0);
    messages->who_until = pto_expr_at(&step->who_until, k, core, 0);
    messages->peer_first = pto_expr_at(&step->peers.first, k, core, 0);
    messages->peer_stride = pto_expr_at(&step->peers.stride, k, core, 0);
    messages->peer_count = pto_step_peer_count(messages->plan, &action);
}

static bool members_depend_on_core(const pto_step_t *step) {
    const pto_peers_t *peers = &step->peers;
    return step->who_first.core || step->who_stride.core || step->who_until.core || peers->first.core ||
           peers->stride.core || peers->until.core;
}

/* Blocks that are dealt out by distance are those of one core in a round of shifts. */
static int64_t find_dealt_to(const pto_messages_t *messages) {
    const pto_buffer_t *buffer = messages->buffer;
    const pto_peers_t *peers = &messages->step->peers;
    bool forward = buffer->cyclic == PTO_CYCLIC_FORWARD;
    if ((!forward && buffer->cyclic != PTO_CYCLIC_BACKWARD) || peers->kind != PTO_PEERS_SHIFT ||
        messages->peer_count != 1 || messages->by_core)
        return -1;
    int64_t ahead = peers->sign * messages->peer_first;
    return pto_floor_mod(forward ? ahead : -ahead, messages->group->size) % buffer->cyclic_count;
}

pto_messages_t pto_messages_of(const pto_asked_t *asked, const pto_step_t *step, int64_t k) {
    const pto_plan_t *plan = asked->plan;
    const pto_request_t *request = pto_plan_request(plan);
    pto_messages_t messages = {.plan = plan,
                               .step = step,
                               .group = pto_plan_group(plan, step->group),
                               .slice = pto_message_slice(step),
                               .by_core = members_depend_on_core(step),
                               .in_one_order = pto_step_is_in_one_order(plan, step)};
    find_members(&messages, k, 0);
    messages.buffer = pto_plan_buffer(plan, messages.slice->buffer);
    messages.space = messages.buffer->space;
    messages.dealt_to = find_dealt_to(&messages);
    messages.per_index = rank_stride(&request->layout, messages.group);
    pto_blocks_t blocks = messages.buffer->blocks;
    messages.of_pairs =
        pto_slice_is_peers_block(messages.slice) && messages.slice->holder == PTO_HOLDER_SELF &&
        messages.group->fold == 0 && messages.buffer->group == messages.group->kind &&
        (blocks == PTO_BLOCKS_ROW || blocks == PTO_BLOCKS_COLUMN) &&
        !pto_role_is_host(messages.buffer->role) && messages.buffer->block_count >= messages.group->size;
    messages.of_lines = !messages.of_pairs && !pto_slice_is_peers_block(messages.slice) &&
                        pto_slice_is_of_lines(plan, messages.slice);
    messages.is_skewed = messages.of_pairs && pto_buffer_is_skewed(plan, messages.buffer, &messages.skew);
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        bool falls_back =
            level == PTO_LEVEL_ON_GPU && asked->machine->messages[messages.space][level].count == 0;
        messages.cost[level] =
            &asked->machine->messages[messages.space][falls_back ? PTO_LEVEL_ON_SOCKET : level];
        messages.place[level] = &asked->machine->messages[messages.space][level];
        messages.gap[level] = pto_machine_gap(asked->machine, messages.space, (pto_level_t)level);
    }
    return messages;
}

int64_t pto_messages_pair_bytes(const pto_messages_t *messages, const pto_action_t *action) {
    const pto_buffer_t *buffer = messages->buffer;
    bool row = buffer->blocks == PTO_BLOCKS_ROW;
    if (!pto_messages_have(messages, action->me, action->peer, action->core))
        return 0;
    int64_t from = row ? action->me : action->peer, to = row ? action->peer : action->me;
    int64_t whole = messages->is_skewed ? pto_skew_bytes(&messages->skew, from, to)
                                        : pto_request_bytes(pto_plan_request(messages->plan), from, to);
    return buffer->split > 1 ? pto_share_bytes(whole, buffer->granularity_bytes, buffer->split, action->core)
                             : whole;
}

/* `held`: the buffer of the action's process, unless the bytes are of pairs or lines. */
static int64_t bytes_of(const pto_asked_t *asked, const pto_messages_t *messages, const pto_action_t *action,
                        pto_held_t *held) {
    if (messages->of_pairs)
        return pto_messages_pair_bytes(messages, action);
    if (messages->of_lines)
        return pto_tables_slice_bytes(asked->tables, asked->plan, asked->machine, messages->slice, action);
    return pto_held_slice_bytes(messages->slice, action, held);
}

/* --- what they cost ------------------------------------------------------------------------------------- */

void pto_messages_enter(const pto_messages_t *messages, pto_explained_t *explained, pto_charge_t *charge) {
    for (int i = 0; i < explained->count; i++) {
        const pto_alike_messages_t *alike = &explained->item[i];
        pto_charge_enter_postal(
            charge,
            (pto_entry_t){.place = alike->cost, .space = messages->space, .off_node = alike->off_node},
            alike->postal, alike->starts, alike->bytes);
    }
    explained->count = 0;
}

static void explain(const pto_messages_t *messages, pto_alike_messages_t one, pto_explained_t *explained,
                    pto_charge_t *charge) {
    int i = 0;
    while (i < explained->count &&
           (explained->item[i].postal != one.postal || explained->item[i].cost != one.cost))
        i++;
    if (i == PTO_EXPLAINED_MAX) {
        pto_messages_enter(messages, explained, charge);
        i = 0;
    }
    if (i == explained->count) {
        explained->item[explained->count++] = one;
        return;
    }
    explained->item[i].starts += one.starts;
    explained->item[i].bytes += one.bytes;
}

void pto_messages_charge(const pto_messages_t *messages, pto_level_t level, int64_t each_bytes, pto_sum_t sum,
                         pto_charge_t *charge, pto_explained_t *explained) {
    const pto_cost_table_t *gap = charge->moved[level] ? messages->gap[level] : NULL;
    const pto_cost_table_t *cost = gap ? gap : messages->cost[level];
    const pto_postal_t *postal = pto_messages_postal(cost, each_bytes);
    double count = (double)sum.messages, bytes = (double)sum.bytes;
    if (charge->terms) {
        cost = gap ? gap : messages->place[level];
        explain(messages, (pto_alike_messages_t){cost, postal, level == PTO_LEVEL_OFF_NODE, count, bytes},
                explained, charge);
    }
    double alpha = count * postal->alpha_s.value, beta = bytes * postal->beta_s_per_byte.value;
    charge->moved[level] = true;
    charge->alpha.s += alpha;
    if (level == PTO_LEVEL_OFF_NODE) {
        charge->off_node_count += sum.messages;
        charge->off_node_alpha.s += alpha;
        charge->off_node.s += beta;
    } else {
        charge->on_node.s += beta;
    }
}

/* --- one process ---------------------------------------------------------------------------------------- */

/* pto_step_peer for the kinds of peers that this file takes. */
bool pto_messages_to_peer(const pto_messages_t *messages, int64_t value, int64_t first_rank,
                          pto_action_t *action) {
    const pto_peers_t *peers = &messages->step->peers;
    action->ordinal = value;
    if (peers->kind == PTO_PEERS_SHIFT)
        action->peer = pto_messages_wrap(action->me + peers->sign * value, messages->group->size);
    else
        action->peer = peers->kind == PTO_PEERS_XOR ? action->me ^ value : value;
    action->peer_rank = messages->per_index > 0
                            ? first_rank + action->peer * messages->per_index
                            : pto_group_rank(messages->plan, messages->group, action->rank, action->peer);
    return action->peer != action->me;
}

/* Charge all messages of one process in one step, at its own end. `last` becomes the latest of the processes
 * that it receives from. */
static pto_status_t charge_process(pto_pricing_t *pricing, const pto_messages_t *messages,
                                   pto_action_t *action, pto_charge_t *charge, pto_outflow_t *outflow,
                                   const pto_ledger_t **last) {
    const pto_layout_t *layout = &pto_plan_request(pricing->asked.plan)->layout;
    const pto_step_t *step = messages->step;
    pto_rank_t place = pricing->actors.actor[action->rank].place;
    pto_explained_t explained;
    pto_held_t held; /* not read where the bytes are of pairs or lines */
    explained.count = 0;
    if (!messages->of_pairs && !messages->of_lines)
        held = pto_held_by(pricing->asked.plan, messages->slice->buffer,
                           pto_slice_holder(pricing->asked.plan, messages->slice, action));
    int64_t count = messages->peer_count, value = messages->peer_first;
    pto_price_visits += 1 + count;
    int64_t first_rank = action->rank - action->me * messages->per_index;
    for (int64_t j = 0; j < count; j++, value += messages->peer_stride) {
        if (!pto_messages_to_peer(messages, value, first_rank, action))
            continue;
        int64_t bytes = bytes_of(&pricing->asked, messages, action, &held);
        if (bytes == 0 && !step->send_empty)
            continue;
        const pto_rank_t *other = &pricing->actors.actor[action->peer_rank].place;
        pto_level_t level =
            other->node != place.node ? PTO_LEVEL_OFF_NODE : pto_layout_level(layout, place, *other);
        if (messages->cost[level]->count == 0)
            return pto_charge_messages(charge, pricing->asked.machine, messages->space, level, bytes, 1,
                                       pricing->asked.err); /* refused */
        pto_messages_charge(messages, level, bytes, (pto_sum_t){1, bytes}, charge, &explained);
        const pto_ledger_t *peer = &pricing->clocks.before[action->peer_rank];
        if (last && (!*last || peer->time.s > (*last)->time.s))
            *last = peer;
        if (outflow && level == PTO_LEVEL_OFF_NODE)
            pto_outflow_add_sum(outflow, messages->space, step->peers.kind, messages->in_one_order,
                                layout->nodes, 1, (double)bytes);
    }
    if (charge->terms)
        pto_messages_enter(messages, &explained, charge);
    return PTO_OK;
}

/* --- the stage ------------------------------------------------------------------------------------------ */

/* What one process sends and receives. */
typedef struct {
    pto_charge_t out;
    pto_charge_t in;
} ends_t;

typedef struct {
    pto_messages_t *messages; /* of each step */
    int step_count;
    pto_space_t space; /* of the first step's */
    int64_t k;
    int64_t core_first; /* the cores that act */
    int64_t core_until;
    const char *name;
    int64_t per_node;     /* processes */
    ends_t *ends;         /* of each process of the current node */
    pto_latest_t *latest; /* of each core */
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
static bool takes_part(const pto_actors_t *actors, const stage_t *stage, int step, int64_t actor,
                       pto_step_kind_t kind, pto_action_t *action) {
    pto_messages_t *messages = &stage->messages[step];
    if (messages->step->kind != kind)
        return false;
    if (messages->by_core)
        find_members(messages, stage->k, actors->actor[actor].place.core);
    if (messages->by_core && messages->sums)
        messages->part = actors->actor[actor].place.core;
    return acts(actors, messages, actor, stage->k, action);
}

/* Whether the latest of all whose messages are charged by sums is known without a look at each. */
static bool find_latest(const pto_pricing_t *pricing, const stage_t *stage, int64_t actor,
                        const pto_ledger_t **last) {
    bool found = false;
    for (int i = 0; i < stage->step_count && !found; i++) {
        pto_action_t action;
        if (takes_part(&pricing->actors, stage, i, actor, PTO_STEP_RECV, &action) && stage->messages[i].sums)
            found = pto_messages_find_latest(&pricing->asked, &pricing->clocks, &stage->messages[i], &action,
                                             stage->latest, last);
    }
    return found;
}

/* Charge the sends, or the receives, of one process, and find the latest that it receives from. */
static pto_status_t charge_steps(pto_pricing_t *pricing, const stage_t *stage, int64_t actor,
                                 pto_step_kind_t kind, pto_charge_t *charge, pto_outflow_t *outflow,
                                 const pto_ledger_t **last) {
    pto_status_t status = PTO_OK;
    bool found = last && find_latest(pricing, stage, actor, last);
    for (int i = 0; i < stage->step_count && status == PTO_OK; i++) {
        pto_messages_t *messages = &stage->messages[i];
        pto_action_t action;
        if (!takes_part(&pricing->actors, stage, i, actor, kind, &action))
            continue;
        pricing->clocks.behind[actor] = PTO_BEHIND_NOTHING;
        if (!messages->sums) {
            status = charge_process(pricing, messages, &action, charge, outflow, last);
            continue;
        }
        pto_messages_charge_sums(&pricing->actors, messages, &action, charge, outflow);
        if (last && !found)
            pto_messages_see_latest(&pricing->clocks, messages, &action, last);
    }
    return status;
}

static pto_status_t count_sends(pto_pricing_t *pricing, const stage_t *stage, int64_t actor) {
    ends_t *ends = &stage->ends[actor % stage->per_node];
    pto_charge_t *out = &ends->out;
    *ends = (ends_t){.out.stage = stage->name, .in.stage = stage->name};
    return charge_steps(pricing, stage, actor, PTO_STEP_SEND, out,
                        &pricing->shared.outflow[pricing->actors.actor[actor].place.node], NULL);
}

/* Once it is known what its node sends, which may limit all of its messages. An explanation keeps none of
 * the sends, so it takes them again. */
static pto_status_t price_process(pto_pricing_t *pricing, const stage_t *stage, int64_t actor) {
    pto_outflow_t *outflow = &pricing->shared.outflow[pricing->actors.actor[actor].place.node];
    pto_charge_t *out = &stage->ends[actor % stage->per_node].out;
    pto_charge_t *in = &stage->ends[actor % stage->per_node].in;
    pto_ledger_t *mine = &pricing->clocks.ledger[actor];
    const pto_ledger_t *before = &pricing->clocks.before[actor], *last = NULL;
    pto_status_t status = PTO_OK;
    if (pricing->clocks.explain) {
        pto_charge_begin(out, stage->name, &pricing->clocks.terms[0]);
        status = charge_steps(pricing, stage, actor, PTO_STEP_SEND, out, NULL, NULL);
    }
    in->terms = pricing->clocks.explain ? &pricing->clocks.terms[1] : NULL;
    pricing->clocks.terms[1].entry_count = 0;
    if (status == PTO_OK)
        status = charge_steps(pricing, stage, actor, PTO_STEP_RECV, in, NULL, &last);
    bool early = out->off_node_count < 2 && out->off_node_count + in->off_node_count > 0 &&
                 pto_latency_known(pricing->asked.machine);
    if (early)
        pto_pricing_begin_early(pricing, actor, stage->space);
    if (last)
        pto_pricing_follow(&pricing->clocks, mine, last);
    pto_time_t out_time = pto_charge_time(out, pricing->asked.machine, outflow);
    pto_time_t in_time = pto_charge_time(in, pricing->asked.machine, outflow);
    pto_charge_t *longer = in_time.s > out_time.s ? in : out;
    pto_charge_settle(longer, pricing->asked.machine, outflow);
    pto_occupied_messages(&pricing->outcome, actor, out_time, in_time);
    if (!pto_ledger_add(mine, longer, pto_time_max(out_time, in_time)))
        pricing->clocks.out_of_memory = true;
    if (early)
        pto_pricing_follow(&pricing->clocks, mine, before);
    return status;
}

static pto_status_t each_process(pto_pricing_t *pricing, const stage_t *stage, int64_t node,
                                 pto_status_t (*act)(pto_pricing_t *, const stage_t *, int64_t)) {
    pto_status_t status = PTO_OK;
    int64_t first = node * stage->per_node, until = first + stage->per_node;
    for (int64_t gpu = first; gpu < until && status == PTO_OK; gpu += pricing->actors.per_gpu)
        for (int64_t core = stage->core_first; core < stage->core_until && status == PTO_OK; core++)
            status = act(pricing, stage, gpu + core);
    return status;
}

static pto_status_t price_node(pto_pricing_t *pricing, const stage_t *stage, int64_t node) {
    pricing->shared.outflow[node] = (pto_outflow_t){0};
    pto_status_t status = each_process(pricing, stage, node, count_sends);
    return status == PTO_OK ? each_process(pricing, stage, node, price_process) : status;
}

pto_status_t pto_messages_price(pto_pricing_t *pricing, const pto_stage_t *plan_stage, int64_t k) {
    pto_messages_t *messages = malloc((size_t)plan_stage->step_count * sizeof *messages);
    stage_t stage = {.messages = messages,
                     .step_count = plan_stage->step_count,
                     .k = k,
                     .core_first = pricing->actors.per_gpu,
                     .name = plan_stage->name,
                     .per_node = pricing->actors.count / pricing->actors.node_count};
    pto_status_t status = PTO_OK;
    pto_pricing_remember(&pricing->actors, &pricing->clocks, pricing->clocks.before);
    stage.ends = malloc((size_t)stage.per_node * sizeof *stage.ends);
    stage.latest = calloc((size_t)pricing->actors.per_gpu, sizeof *stage.latest);
    pricing->clocks.out_of_memory =
        pricing->clocks.out_of_memory || !messages || !stage.ends || !stage.latest;
    for (int i = 0; i < stage.step_count && !pricing->clocks.out_of_memory; i++) {
        const pto_step_t *step = pto_plan_step(pricing->asked.plan, plan_stage->step_first + i);
        int64_t until = step->core_first + step->core_count;
        messages[i] = pto_messages_of(&pricing->asked, step, k);
        pto_messages_find_sums(&pricing->asked, &pricing->clocks, &messages[i]);
        stage.space = i == 0 ? messages[i].space : stage.space;
        stage.core_first = step->core_first < stage.core_first ? step->core_first : stage.core_first;
        stage.core_until = until > stage.core_until ? until : stage.core_until;
    }
    for (int64_t node = 0;
         node < pricing->actors.node_count && status == PTO_OK && !pricing->clocks.out_of_memory; node++)
        status = price_node(pricing, &stage, node);
    if (!pricing->clocks.out_of_memory && status == PTO_OK)
        pto_occupied_stage(pricing);
    free(messages);
    free(stage.ends);
    free(stage.latest);
    return status;
}
