/* The messages and bytes of many processes at once: of a class, or of a place on all nodes. */
#include "price/pricing.h"

/* --- bytes -------------------------------------------------------------------------------------------- */

int64_t pto_class_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, slice->buffer);
    int64_t core = action->core;
    int64_t blocks = pto_slice_block_count(slice, action->k, core, action->peer);
    int64_t bytes = buffer->block_bytes;
    if (slice->bundle > 1)
        blocks *= slice->bundle;
    if (buffer->blocks == PTO_BLOCKS_SHARE)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes,
                                pto_group_shape(&plan->request.layout, buffer->group).size, 0);
    if (buffer->split > 1)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes, buffer->split, core);
    if (slice->parts > 0)
        return pto_share_offset(bytes, buffer->granularity_bytes, slice->parts, blocks);
    bool one_block = slice->anchor == PTO_ANCHOR_PEER || slice->anchor == PTO_ANCHOR_ME;
    if (buffer->cyclic != PTO_CYCLIC_NONE && one_block && action->ordinal % buffer->cyclic_count != core)
        return 0;
    if (slice->share != PTO_SHARE_ALL)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes, slice->share_count,
                                slice->share == PTO_SHARE_MINE ? core : action->peer);
    if (slice->chunks > 1)
        bytes = pto_chunk_bytes_at(bytes, slice->chunks, action->k);
    return blocks * bytes;
}

/* --- messages ----------------------------------------------------------------------------------------- */

/* Whether message sizes differ by peer, as those of the shares that one process hands to the others of its
 * GPU. */
static bool differ_by_peer(const pto_plan_t *plan, const pto_step_t *step) {
    return step->peers.kind == PTO_PEERS_INDEX &&
           pto_group_is_on_gpu(pto_plan_group(plan, step->group)->kind);
}

/* The bytes of each message of the step, and the levels that the messages cross; NULL where there are none.
 */
static const pto_traffic_t *traffic_of(pto_pricing_t *pricing, pto_action_t *action, int64_t *bytes) {
    const pto_step_t *step = action->step;
    action->ordinal = pto_expr_value(step->peers.first, action->k, action->core, 0);
    *bytes = pto_class_slice_bytes(pricing->plan, pto_message_slice(step), action);
    if (*bytes == 0 && !step->send_empty)
        return NULL;
    return pto_traffic_count(pricing->plan, step, action->k, action->core, &pricing->traffic);
}

/* How many groups of a step's partition on one node an actor counts for: each group counts once, for the
 * actor of its first member. */
static int64_t groups_per_node(const pto_pricing_t *pricing, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    const pto_actor_t *actor = &pricing->actor[action->rank];
    unsigned color = pto_group_traits[pto_plan_group(pricing->plan, step->group)->kind].color;
    int64_t gpus = pricing->plan->request.layout.gpus_per_node / pricing->gpu_count;
    int64_t gpu_groups = color & PTO_BY_GPU ? gpus : actor->place.gpu == 0;
    int64_t core_groups = color & PTO_BY_CORE ? actor->cores : actor->place.core == step->core_first;
    return gpu_groups * core_groups;
}

void pto_class_count_sends(pto_pricing_t *pricing, pto_action_t *action) {
    if (differ_by_peer(pricing->plan, action->step))
        return;
    int64_t bytes;
    const pto_traffic_t *traffic = traffic_of(pricing, action, &bytes);
    if (traffic)
        pto_outflow_add(pricing->outflow, pricing->plan, action->step,
                        (double)(traffic->off_per_node * groups_per_node(pricing, action)), (double)bytes);
}

static pto_status_t charge_mix(const pto_pricing_t *pricing, const pto_mix_t *mix, pto_space_t space,
                               int64_t bytes, pto_charge_t *charge) {
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        if (mix->messages[level] == 0)
            continue;
        pto_status_t status = pto_charge_messages(charge, pricing->machine, space, (pto_level_t)level, bytes,
                                                  mix->messages[level], pricing->err);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}

/* Within a GPU, peer by peer. */
static pto_status_t charge_by_peer(const pto_pricing_t *pricing, pto_action_t *action, pto_space_t space,
                                   pto_charge_t *charge) {
    const pto_peers_t *peers = &action->step->peers;
    int64_t until = pto_expr_value(peers->until, action->k, action->core, 0);
    int64_t stride = pto_expr_value(peers->stride, action->k, action->core, 0);
    action->peer = pto_expr_value(peers->first, action->k, action->core, 0);
    for (; action->peer < until; action->peer += stride) {
        int64_t bytes = pto_class_slice_bytes(pricing->plan, pto_message_slice(action->step), action);
        if (action->peer == action->core || (bytes == 0 && !action->step->send_empty))
            continue;
        pto_status_t status =
            pto_charge_messages(charge, pricing->machine, space, PTO_LEVEL_ON_GPU, bytes, 1, pricing->err);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}

/* Charge the most expensive mix of the step's members. */
static pto_status_t charge_costliest(const pto_pricing_t *pricing, const pto_traffic_t *traffic,
                                     pto_space_t space, int64_t bytes, pto_charge_t *charge) {
    const pto_mix_t *costliest = NULL;
    double costliest_s = -1;
    if (traffic->mix_count == 1)
        return charge_mix(pricing, &traffic->mix[0], space, bytes, charge);
    for (int i = 0; i < traffic->mix_count; i++) {
        pto_charge_t mix = *charge;
        mix.terms = NULL;
        pto_status_t status = charge_mix(pricing, &traffic->mix[i], space, bytes, &mix);
        if (status != PTO_OK)
            return status;
        double mix_s = pto_charge_seconds(&mix, pricing->machine, pricing->outflow);
        if (mix_s > costliest_s) {
            costliest_s = mix_s;
            costliest = &traffic->mix[i];
        }
    }
    return costliest ? charge_mix(pricing, costliest, space, bytes, charge) : PTO_OK;
}

/* --- senders ------------------------------------------------------------------------------------------ */

static int64_t class_of(const pto_pricing_t *pricing, int64_t core) {
    int64_t actor = pricing->actor_count - 1;
    while (pricing->actor[actor].place.core > core)
        actor--;
    return actor;
}

/* The actors that a receive may depend on: those of the cores that its peers may have. */
static void follow_senders(pto_pricing_t *pricing, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    pto_group_kind_t kind = pto_plan_group(pricing->plan, step->group)->kind;
    unsigned index = pto_group_traits[kind].index;
    int64_t first = action->rank, last = first;
    if (pricing->kind == PTO_ACTORS_PLACES && index != PTO_BY_NODE) {
        first = 0;
        last = pricing->actor_count - 1;
    } else if (pricing->kind == PTO_ACTORS_CLASSES && index == PTO_BY_CORE) {
        first = class_of(pricing, pto_expr_value(step->peers.first, action->k, 0, 0));
        last = class_of(pricing, pto_expr_value(step->peers.until, action->k, 0, 0) - 1);
    } else if (pricing->kind == PTO_ACTORS_CLASSES && index & PTO_BY_CORE) {
        first = class_of(pricing, step->core_first);
        last = class_of(pricing, step->core_first + step->core_count - 1);
    }
    for (int64_t sender = first; sender <= last; sender++)
        pto_pricing_follow(pricing, &pricing->ledger[action->rank], &pricing->before[sender]);
}

pto_status_t pto_class_charge_messages(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge) {
    pto_space_t space = pto_plan_buffer(pricing->plan, pto_message_slice(action->step)->buffer)->space;
    if (action->step->kind == PTO_STEP_RECV)
        follow_senders(pricing, action);
    if (differ_by_peer(pricing->plan, action->step))
        return charge_by_peer(pricing, action, space, charge);
    int64_t bytes;
    const pto_traffic_t *traffic = traffic_of(pricing, action, &bytes);
    return traffic ? charge_costliest(pricing, traffic, space, bytes, charge) : PTO_OK;
}
