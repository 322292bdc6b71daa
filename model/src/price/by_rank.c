/* Counts and charges the messages of actors that are single processes: peer by peer or, if the table of byte
 * counts is sparse, only with the peers whose messages may have bytes. */
#include "price/pricing.h"

/* The messages of one process in a step. */
typedef struct {
    const pto_slice_t *slice; /* what each message sends or receives */
    pto_held_t held;          /* the buffer of the slice, as its holder has it */
    bool peers_block;         /* pto_slice_is_peers_block of `slice` */
    bool of_lines;            /* the slice is a row or column of a table, or a part of one */
    int64_t peers;            /* number of peers of the step */
    const int64_t *partner;   /* of a sparse table: the peers with bytes; NULL: any peer may have some */
    int64_t partner_count;
    int64_t partner_first; /* the first partner from the process's own index on */
} messages_t;

/* Returns whether each message is the peer's block, or a part of that block. */
static bool is_of_peers_block(pto_slice_t slice) {
    slice.share = PTO_SHARE_ALL;
    slice.chunks = 1;
    return slice.holder == PTO_HOLDER_SELF && pto_slice_is_peers_block(&slice);
}

static messages_t messages_of(const pto_pricing_t *pricing, const pto_action_t *action) {
    const pto_plan_t *plan = pricing->plan;
    const pto_slice_t *slice = pto_message_slice(action->step);
    messages_t messages = {.slice = slice,
                           .held = pto_held_by(plan, slice->buffer, pto_slice_holder(plan, slice, action)),
                           .peers_block = pto_slice_is_peers_block(slice),
                           .of_lines = pricing->tables && !pto_tape_recording &&
                                       !pto_slice_is_peers_block(slice) && pto_slice_is_of_lines(plan, slice),
                           .peers = pto_step_peer_count(plan, action)};
    if (messages.peers < 2 || action->step->peers.kind != PTO_PEERS_SHIFT || action->step->send_empty ||
        !is_of_peers_block(*slice) ||
        pto_plan_group(plan, action->step->group)->size != messages.held.buffer->block_count ||
        !pto_tables_partners(pricing->tables, &messages.held, &messages.partner, &messages.partner_count))
        return messages;
    while (messages.partner_first < messages.partner_count &&
           messages.partner[messages.partner_first] < action->me)
        messages.partner_first++;
    return messages;
}

/* Finds the next partner that is a peer of the step, in the order of its shifts. False: there is none. */
static bool next_partner(const pto_pricing_t *pricing, const messages_t *messages, int64_t *next,
                         pto_action_t *action) {
    const pto_peers_t *peers = &action->step->peers;
    int64_t count = messages->partner_count, size = messages->held.buffer->block_count;
    int64_t first = pto_expr_at(&peers->first, action->k, action->core, 0);
    int64_t stride = pto_expr_at(&peers->stride, action->k, action->core, 0);
    while (*next < count) {
        int64_t ahead = peers->sign > 0 ? *next : -1 - *next;
        int64_t peer = messages->partner[pto_floor_mod(messages->partner_first + ahead, count)];
        int64_t beyond_first = pto_floor_mod(peers->sign * (peer - action->me), size) - first;
        (*next)++;
        if (beyond_first >= 0 && beyond_first % stride == 0 && beyond_first / stride < messages->peers &&
            pto_step_peer(pricing->plan, beyond_first / stride, action))
            return true;
    }
    return false;
}

/* Finds the step's next peer or, in a sparse table, partner. `*next` is 0 at first. False: there is none. */
static bool next_peer(const pto_pricing_t *pricing, const messages_t *messages, int64_t *next,
                      pto_action_t *action) {
    if (messages->partner)
        return next_partner(pricing, messages, next, action);
    while (*next < messages->peers)
        if (pto_step_peer(pricing->plan, (*next)++, action))
            return true;
    return false;
}

static int64_t message_bytes(const pto_pricing_t *pricing, messages_t *messages, const pto_action_t *action) {
    if (messages->of_lines)
        return pto_tables_slice_bytes(pricing->tables, pricing->plan, pricing->machine, messages->slice,
                                      action);
    return messages->peers_block && action->peer < messages->held.buffer->block_count
               ? pto_held_block_bytes(&messages->held, action->peer)
               : pto_held_slice_bytes(messages->slice, action, &messages->held);
}

static int64_t messages_off_node(const pto_pricing_t *pricing, pto_action_t action) {
    const pto_actor_t *actor = pricing->actors.actor;
    int64_t node = actor[action.rank].place.node, count = 0;
    messages_t messages = messages_of(pricing, &action);
    for (int64_t next = 0; next_peer(pricing, &messages, &next, &action);)
        if (actor[action.peer_rank].place.node != node &&
            (action.step->send_empty || message_bytes(pricing, &messages, &action) > 0))
            count++;
    return count;
}

static void count_sends(pto_pricing_t *pricing, pto_action_t *action) {
    int64_t node = pto_actor_node(pricing, action->rank);
    messages_t messages = messages_of(pricing, action);
    for (int64_t next = 0; next_peer(pricing, &messages, &next, action);) {
        bool within = pto_actor_node(pricing, action->peer_rank) == node;
        if (within && pricing->shared.loads.links.count == 0)
            continue;
        int64_t bytes = message_bytes(pricing, &messages, action);
        pto_links_count_message(pricing, action, bytes);
        if (!within && (bytes > 0 || action->step->send_empty))
            pto_outflow_add(&pricing->shared.outflow[node], pricing->plan, action->step, 1, (double)bytes);
    }
}

static pto_status_t charge_messages(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge,
                                    pto_busiest_links_t *busiest) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    messages_t messages = messages_of(pricing, action);
    pto_space_t space = messages.held.buffer->space;
    pto_price_visits += messages.partner ? messages.partner_count : messages.peers;
    for (int64_t next = 0; next_peer(pricing, &messages, &next, action);) {
        int64_t bytes = message_bytes(pricing, &messages, action);
        if (bytes == 0 && !action->step->send_empty)
            continue;
        pto_level_t level = pto_layout_level(layout, pricing->actors.actor[action->rank].place,
                                             pricing->actors.actor[action->peer_rank].place);
        pto_status_t status =
            pto_charge_messages(charge, pricing->machine, space, level, bytes, 1, pricing->err);
        if (status != PTO_OK)
            return status;
        pto_charge_message_rows(charge, pricing->machine, space, pto_step_rows(pricing->plan, action->step));
        pto_links_busiest_of_message(pricing, action, busiest);
        if (action->step->kind == PTO_STEP_RECV)
            pto_pricing_follow(pricing, &pricing->clocks.ledger[action->rank],
                               &pricing->clocks.before[action->peer_rank]);
    }
    charge->max_on_node = charge->on_node;
    return PTO_OK;
}

const pto_message_rules_t pto_messages_by_rank = {
    .count = count_sends, .off_node = messages_off_node, .charge = charge_messages};
