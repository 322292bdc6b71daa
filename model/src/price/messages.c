/* The messages of one step that exchanges a table of byte counts (messages.h). */
#include "price/messages.h"

bool pto_messages_are_apart(const pto_machine_t *machine, const pto_layout_t *layout) {
    const pto_param_t *both_ways = machine->both_ways;
    return pto_links_of(machine, layout).count == 0 && machine->fabric.levels == 0 &&
           !pto_param_known(&both_ways[PTO_SPACE_CPU]) && !pto_param_known(&both_ways[PTO_SPACE_GPU]);
}

bool pto_messages_are_plain(const pto_pricing_t *pricing) {
    return pricing->actors.kind == PTO_ACTORS_RANKS && !pricing->lanes.active && !pto_tape_recording &&
           !pto_messages_are_mixed(pricing->plan) &&
           pto_messages_are_apart(pricing->machine, &pto_plan_request(pricing->plan)->layout);
}

bool pto_messages_all_cost(const pto_messages_t *messages) {
    bool all = true;
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        all = all && messages->cost[level]->count > 0;
    return all;
}

/* Returns the number of ranks from one member of a group to the next; 0: it varies. */
static int64_t rank_stride(const pto_layout_t *layout, const pto_group_t *group) {
    unsigned index = pto_group_traits[group->kind].index;
    int64_t per_gpu = pto_group_members_per_gpu(layout, group->kind);
    if (group->fold != 0)
        return 0;
    if (index == PTO_BY_CORE)
        return 1;
    if (index == PTO_BY_NODE)
        return layout->gpus_per_node * layout->procs_per_gpu;
    if (per_gpu == 1)
        return layout->procs_per_gpu;
    return per_gpu == layout->procs_per_gpu ? 1 : 0;
}

void pto_messages_find_members(pto_messages_t *messages, int64_t k, int64_t core) {
    const pto_step_t *step = messages->step;
    const pto_action_t action = {.step = step, .k = k, .core = core};
    messages->who_first = pto_expr_at(&step->who_first, k, core, 0);
    messages->who_stride = pto_expr_at(&step->who_stride, k, core, 0);
    messages->who_until = pto_expr_at(&step->who_until, k, core, 0);
    messages->peer_first = pto_expr_at(&step->peers.first, k, core, 0);
    messages->peer_stride = pto_expr_at(&step->peers.stride, k, core, 0);
    messages->peer_count = pto_step_peer_count(messages->plan, &action);
}

pto_messages_t pto_messages_of(const pto_pricing_t *pricing, const pto_step_t *step, int64_t k) {
    const pto_plan_t *plan = pricing->plan;
    const pto_request_t *request = pto_plan_request(plan);
    pto_messages_t messages = {.plan = plan,
                               .step = step,
                               .group = pto_plan_group(plan, step->group),
                               .slice = pto_message_slice(step),
                               .by_core = pto_step_depends_on_core(step),
                               .in_one_order = pto_step_is_in_one_order(plan, step)};
    pto_messages_find_members(&messages, k, 0);
    messages.buffer = pto_plan_buffer(plan, messages.slice->buffer);
    messages.space = messages.buffer->space;
    messages.per_index = rank_stride(&request->layout, messages.group);
    pto_blocks_t blocks = messages.buffer->blocks;
    messages.of_pairs =
        pto_slice_is_peers_block(messages.slice) && messages.slice->holder == PTO_HOLDER_SELF &&
        messages.group->fold == 0 && messages.buffer->group == messages.group->kind &&
        (blocks == PTO_BLOCKS_ROW || blocks == PTO_BLOCKS_COLUMN) &&
        !pto_role_is_host(messages.buffer->role) && messages.buffer->block_count >= messages.group->size;
    messages.is_skewed = messages.of_pairs && pto_buffer_is_skewed(plan, messages.buffer, &messages.skew);
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        bool falls_back =
            level == PTO_LEVEL_ON_GPU && pricing->machine->messages[messages.space][level].count == 0;
        messages.cost[level] =
            &pricing->machine->messages[messages.space][falls_back ? PTO_LEVEL_ON_SOCKET : level];
        messages.cell[level] = &pricing->machine->messages[messages.space][level];
        messages.gap[level] = pto_machine_gap(pricing->machine, messages.space, (pto_level_t)level);
    }
    return messages;
}

/* Returns whether a core's buffer has a peer's block: not always, if blocks are cyclic over the cores. */
static bool has_block(const pto_messages_t *messages, int64_t me, int64_t peer, int64_t core) {
    const pto_buffer_t *buffer = messages->buffer;
    int64_t ahead = peer - me, distance = peer;
    if (buffer->cyclic == PTO_CYCLIC_NONE)
        return true;
    if (buffer->cyclic != PTO_CYCLIC_ORDINAL)
        distance =
            pto_messages_wrap(buffer->cyclic == PTO_CYCLIC_FORWARD ? ahead : -ahead, messages->group->size);
    /* Process counts fit in 32 bits, and such a division takes half the time. */
    return (int64_t)((uint32_t)distance % (uint32_t)buffer->cyclic_count) == core;
}

int64_t pto_messages_pair_bytes(const pto_messages_t *messages, const pto_action_t *action) {
    const pto_buffer_t *buffer = messages->buffer;
    bool row = buffer->blocks == PTO_BLOCKS_ROW;
    if (!has_block(messages, action->me, action->peer, action->core))
        return 0;
    int64_t from = row ? action->me : action->peer, to = row ? action->peer : action->me;
    int64_t whole = messages->is_skewed ? pto_skew_bytes(&messages->skew, from, to)
                                        : pto_request_bytes(pto_plan_request(messages->plan), from, to);
    return buffer->split > 1 ? pto_share_bytes(whole, buffer->granularity_bytes, buffer->split, action->core)
                             : whole;
}

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
