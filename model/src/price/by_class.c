/* Counts and charges the messages of actors that represent several processes (a class, or one process of each
 * node), by arithmetic instead of peer by peer. price.c calls it by pto_messages_by_class.
 *
 * An actor is charged as much as its most expensive process. Example: in a ring on nodes of four processes,
 * three send within the node, and one sends to the next node. traffic.c returns both mixes of messages by
 * level. The actor is charged the mix that takes longer, and one message leaves its node. */
#include <math.h>
#include <stdlib.h>

#include "price/pricing.h"

int64_t pto_class_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action) {
    const pto_buffer_t *buffer = pto_buffer_at(plan, slice->buffer);
    int64_t core = action->core;
    int64_t blocks = pto_slice_block_count(slice, action->k, core, action->peer);
    int64_t bytes = buffer->block_bytes;
    if (slice->bundle > 1)
        blocks *= slice->bundle;
    /* Blocks numbered below `fold` count twice. The member with the most has as many of them as possible: */
    blocks += blocks < slice->fold ? blocks : slice->fold;
    if (buffer->blocks == PTO_BLOCKS_SHARE)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes,
                                pto_group_shape(&plan->request.layout, buffer->group).size, 0);
    if (buffer->split > 1)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes, buffer->split, core);
    if (slice->share != PTO_SHARE_ALL)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes, slice->share_count,
                                slice->share == PTO_SHARE_MINE ? core : action->peer);
    if (slice->parts > 0) /* whole blocks, and the first parts of one more */
        return blocks / slice->parts * bytes +
               pto_share_offset(bytes, buffer->granularity_bytes, slice->parts, blocks % slice->parts);
    bool one_block = slice->anchor == PTO_ANCHOR_PEER || slice->anchor == PTO_ANCHOR_ME;
    if (buffer->cyclic != PTO_CYCLIC_NONE && one_block && action->ordinal % buffer->cyclic_count != core)
        return 0;
    if (slice->chunks > 1)
        bytes = pto_chunk_bytes_at(bytes, slice->chunks, action->k);
    return blocks * bytes;
}

int64_t pto_class_copy_bytes(const pto_plan_t *plan, const pto_action_t *action) {
    const pto_buffer_t *source = pto_buffer_at(plan, action->step->source.buffer);
    const pto_buffer_t *target = pto_buffer_at(plan, action->step->target.buffer);
    int64_t bytes = pto_class_slice_bytes(plan, &action->step->source, action);
    bool whole_buffers = bytes == source->block_bytes * source->block_count &&
                         bytes == target->block_bytes * target->block_count;
    bool onto_itself =
        pto_copy_joins_user_buffers(plan, action->step) && target->user_stride <= 1 && whole_buffers;
    return onto_itself ? 0 : bytes;
}

/* --- neighbors on a grid -------------------------------------------------------------------------------- */

/* At most 5 coordinates in each of 3 dimensions. */
enum { GRID_COORDINATES = 5, GRID_NODES_MAX = 125 };

/* Lists nodes that include the busiest one: all nodes if they fit. Otherwise the nodes of the owners whose
 * coordinate in each dimension is one of the first two, the middle one, or one of the last two. */
static int grid_nodes(const pto_plan_t *plan, int64_t per_node, int64_t node[GRID_NODES_MAX]) {
    const pto_halo_t *grid = &plan->request.halo;
    int64_t nodes = plan->request.layout.nodes;
    int count = 0;
    for (; nodes <= GRID_NODES_MAX && count < nodes; count++)
        node[count] = count;
    for (int number = 0; nodes > GRID_NODES_MAX && number < GRID_NODES_MAX; number++) {
        int64_t owner = 0, rest = number; /* each digit to the base 5 chooses a coordinate */
        for (int d = 0; d < grid->dim_count; d++, rest /= GRID_COORDINATES) {
            const int64_t coordinate[GRID_COORDINATES] = {0, 1, grid->dims[d] / 2, grid->dims[d] - 2,
                                                          grid->dims[d] - 1};
            owner = owner * grid->dims[d] + pto_floor_mod(coordinate[rest % GRID_COORDINATES], grid->dims[d]);
        }
        if (rest == 0) /* there are no more digits than dimensions */
            node[count++] = owner / per_node;
    }
    return count;
}

/* Returns the level of an owner's message to a neighbor; PTO_LEVEL_COUNT: none. */
static pto_level_t neighbor_level(const pto_plan_t *plan, int64_t owner, const int *shift) {
    const pto_layout_t *layout = &plan->request.layout;
    int64_t peer = pto_halo_peer(&plan->request.halo, owner, shift), cores = layout->owners_per_gpu;
    if (peer < 0 || peer == owner)
        return PTO_LEVEL_COUNT;
    pto_rank_t from = {owner / cores / layout->gpus_per_node, owner / cores % layout->gpus_per_node,
                       owner % cores};
    pto_rank_t to = {peer / cores / layout->gpus_per_node, peer / cores % layout->gpus_per_node,
                     peer % cores};
    return pto_layout_level(layout, from, to);
}

/* Returns the number of the step's messages that leave the busiest node. */
static int64_t neighbors_off_node(const pto_plan_t *plan, const pto_step_t *step) {
    int64_t per_node = pto_group_at(plan, step->group)->members_per_node, largest = 0;
    int64_t node[GRID_NODES_MAX];
    int nodes = grid_nodes(plan, per_node, node);
    for (int n = 0; n < nodes; n++) {
        int64_t leaving = 0;
        for (int64_t i = 0; i < per_node; i++)
            leaving += neighbor_level(plan, node[n] * per_node + i, step->peers.shift) == PTO_LEVEL_OFF_NODE;
        largest = leaving > largest ? leaving : largest;
    }
    return largest;
}

/* Returns whether a step has the same kind as the action's step, and the action's core takes part in it. */
static bool is_same_kind(const pto_step_t *step, const pto_action_t *action) {
    return step->kind == action->step->kind && action->core >= step->core_first &&
           action->core < step->core_first + step->core_count;
}

/* Returns whether a step sends to grid neighbors, or receives from them, as the action's step does. */
static bool is_same_exchange(const pto_step_t *step, const pto_action_t *action) {
    return step->peers.kind == PTO_PEERS_CART && is_same_kind(step, action);
}

/* Charges all messages of an owner to grid neighbors in the stage or, if `first` receives, from them. */
static pto_status_t charge_neighbors(const pto_pricing_t *pricing, int64_t owner, const pto_action_t *first,
                                     pto_charge_t *charge) {
    const pto_stage_t *stage = pricing->at.stage;
    const pto_plan_t *plan = pricing->plan;
    pto_status_t status = PTO_OK;
    for (int i = stage->step_first; i < stage->step_first + stage->step_count && status == PTO_OK; i++) {
        pto_action_t action = *first;
        action.step = pto_step_at(plan, i);
        if (!is_same_exchange(action.step, first))
            continue;
        const pto_slice_t *slice = pto_message_slice(action.step);
        pto_level_t level = neighbor_level(plan, owner, action.step->peers.shift);
        int64_t bytes = pto_class_slice_bytes(plan, slice, &action);
        pto_space_t space = pto_buffer_at(plan, slice->buffer)->space;
        if (level == PTO_LEVEL_COUNT || bytes == 0)
            continue;
        status = pto_charge_messages(charge, pricing->machine, space, level, bytes, 1, pricing->err);
        pto_charge_message_rows(charge, pricing->machine, space, pto_step_rows(plan, action.step));
    }
    return status;
}

/* Returns whether the action's step is the first of its stage for which is_same_exchange holds. */
static bool is_first(const pto_pricing_t *pricing, const pto_action_t *action) {
    int i = pricing->at.stage->step_first;
    while (pto_step_at(pricing->plan, i) != action->step &&
           !is_same_exchange(pto_step_at(pricing->plan, i), action))
        i++;
    return pto_step_at(pricing->plan, i) == action->step;
}

static void add_share(pto_time_t *time, const pto_param_t *share, pto_time_t of_time) {
    if (pto_param_known(share))
        *time = pto_time_add(*time, pto_time_multiply(of_time, pto_time_of(share, 1)));
}

/* Returns `time` with the slowdowns of on-node messages: `both_ways` and, in lanes, `staged_message`. */
static pto_time_t slowed(const pto_pricing_t *pricing, const pto_charge_t *charge, pto_time_t time) {
    const pto_machine_t *machine = pricing->machine;
    for (int space = 0; space < PTO_SPACE_COUNT && pricing->at.both_ways; space++)
        add_share(&time, &machine->both_ways[space], charge->within[space]);
    if (pricing->lanes.active)
        add_share(&time, &machine->staged_message, charge->within[PTO_SPACE_CPU]);
    return time;
}

/* Returns a member's time, with that of shared resources. A class is charged as its slowest member. */
static pto_time_t member_time(const pto_pricing_t *pricing, const pto_charge_t *charge) {
    return slowed(pricing, charge, pto_charge_time(charge, pricing->machine, pricing->shared.outflow));
}

static pto_time_t cpu_time(const pto_pricing_t *pricing, const pto_charge_t *charge) {
    return slowed(pricing, charge, pto_charge_by_cpu(charge));
}

/* Charges the messages of the most expensive owner with grid neighbors. Each neighbor has a step of its own;
 * the first of these steps is charged the messages of all, and the others are charged nothing. */
static pto_status_t charge_costliest_owner(const pto_pricing_t *pricing, const pto_action_t *action,
                                           pto_charge_t *charge) {
    int64_t per_node = pto_group_at(pricing->plan, action->step->group)->members_per_node, costliest = 0;
    int64_t node[GRID_NODES_MAX];
    pto_time_t largest = {.s = -1};
    if (!is_first(pricing, action))
        return PTO_OK;
    int nodes = grid_nodes(pricing->plan, per_node, node);
    for (int n = 0; n < nodes; n++)
        for (int64_t owner = node[n] * per_node; owner < (node[n] + 1) * per_node; owner++) {
            pto_charge_t tried = *charge;
            tried.terms = NULL;
            pto_status_t status = charge_neighbors(pricing, owner, action, &tried);
            if (status != PTO_OK)
                return status;
            pto_time_t tried_time = member_time(pricing, &tried);
            if (pto_time_less(largest, tried_time)) {
                largest = tried_time;
                costliest = owner;
            }
        }
    return charge_neighbors(pricing, costliest, action, charge);
}

/* --- messages ----------------------------------------------------------------------------------------- */

/* Returns whether message sizes differ by peer, such as the shares that a process sends within its GPU. */
static bool differ_by_peer(const pto_plan_t *plan, const pto_step_t *step) {
    return step->peers.kind == PTO_PEERS_INDEX && pto_group_is_on_gpu(pto_group_at(plan, step->group)->kind);
}

/* Returns the counts of a step's messages, valid until the next call; NULL: none. Sets the bytes of each. */
static const pto_traffic_t *traffic_of(const pto_pricing_t *pricing, pto_action_t *action, int64_t *bytes) {
    const pto_step_t *step = action->step;
    action->ordinal = pto_expr_at(&step->peers.first, action->k, action->core, 0);
    *bytes = pto_class_slice_bytes(pricing->plan, pto_message_slice(step), action);
    return *bytes == 0 && !step->send_empty
               ? NULL
               : pto_traffic_count(pricing->plan, step, action->k, action->core, pricing->cache->traffic);
}

/* Returns the number of groups of a node that are counted at an actor; each is counted at one actor only. If
 * each GPU has groups of its own, an actor counts those of its GPUs; if not, the actor on GPU 0 counts. The
 * same holds for cores. */
static int64_t groups_per_node(const pto_pricing_t *pricing, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    const pto_actor_t *actor = &pricing->actors.actor[action->rank];
    unsigned color = pto_group_traits[pto_group_at(pricing->plan, step->group)->kind].color;
    int64_t gpu_groups = color & PTO_BY_GPU ? actor->gpus : actor->place.gpu == 0;
    int64_t core_groups = color & PTO_BY_CORE ? actor->cores : actor->place.core == step->core_first;
    return gpu_groups * core_groups;
}

/* --- alternative steps --------------------------------------------------------------------------------- */

/* In a tree, the root may send from one buffer and the others from another, so that members of one class take
 * part in different steps of a stage: some in steps {1, 2}, others in step {3}. The class is charged the
 * steps of one member: of the one whose steps have the largest sum of a measure, such as their time. */

/* Returns the measure of one step. */
typedef pto_time_t (*measure_t)(pto_pricing_t *pricing, pto_action_t action);

/* Returns whether members that take part in the action's step also take part in this one. */
static bool share_members(const pto_step_t *step, const pto_action_t *action) {
    return step == action->step || pto_steps_share_members(step, action->step, action->k, action->core);
}

/* Returns the sum of the measure over all steps of the action's members. Sets `*first` to the first one. */
static pto_time_t measure_all(pto_pricing_t *pricing, const pto_action_t *action, measure_t measure,
                              int *first) {
    const pto_stage_t *stage = pricing->at.stage;
    pto_time_t sum = {.s = 0};
    *first = -1;
    for (int i = stage->step_first; i < stage->step_first + stage->step_count; i++) {
        pto_action_t other = *action;
        other.step = pto_step_at(pricing->plan, i);
        if (!is_same_kind(other.step, action) || !share_members(other.step, action))
            continue;
        sum = pto_time_add(sum, measure(pricing, other));
        *first = *first < 0 ? i : *first;
    }
    return sum;
}

/* Returns whether the action's members have the largest sum. Of equal sums, that with the first step wins. */
static bool is_costliest(pto_pricing_t *pricing, const pto_action_t *action, measure_t measure) {
    const pto_stage_t *stage = pricing->at.stage;
    int first, other_first;
    pto_time_t own = measure_all(pricing, action, measure, &first);
    for (int i = stage->step_first; i < stage->step_first + stage->step_count; i++) {
        pto_action_t other = *action;
        other.step = pto_step_at(pricing->plan, i);
        if (!is_same_kind(other.step, action) || share_members(other.step, action))
            continue;
        pto_time_t others = measure_all(pricing, &other, measure, &other_first);
        if (pto_time_less(own, others) || (other_first < first && !pto_time_less(others, own)))
            return false;
    }
    return true;
}

/* Returns the bytes that leave the busiest node, as a measure. */
static pto_time_t measure_sends(pto_pricing_t *pricing, pto_action_t action) {
    int64_t bytes;
    const pto_traffic_t *traffic = traffic_of(pricing, &action, &bytes);
    return (pto_time_t){.s = traffic ? (double)(traffic->off_per_node * bytes) : 0};
}

/* Returns whether other members of the class take part in another step of the same kind. */
static bool has_alternative(const pto_pricing_t *pricing, const pto_action_t *action) {
    const pto_stage_t *stage = pricing->at.stage;
    for (int i = stage->step_first; i < stage->step_first + stage->step_count; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, i);
        if (is_same_kind(step, action) && !share_members(step, action))
            return true;
    }
    return false;
}

static void count_sends(pto_pricing_t *pricing, pto_action_t *action) {
    if (has_alternative(pricing, action) && !is_costliest(pricing, action, measure_sends))
        return;
    if (differ_by_peer(pricing->plan, action->step))
        return;
    if (action->step->peers.kind == PTO_PEERS_CART) {
        int64_t leaving = neighbors_off_node(pricing->plan, action->step) * groups_per_node(pricing, action);
        pto_outflow_add(pricing->shared.outflow, pricing->plan, action->step, (double)leaving,
                        (double)pto_class_slice_bytes(pricing->plan, &action->step->source, action));
        return;
    }
    int64_t bytes;
    const pto_traffic_t *traffic = traffic_of(pricing, action, &bytes);
    if (traffic)
        pto_outflow_add(pricing->shared.outflow, pricing->plan, action->step,
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

/* Charges the messages of a process within its GPU, whose sizes differ by peer. */
static pto_status_t charge_by_peer(const pto_pricing_t *pricing, pto_action_t *action, pto_space_t space,
                                   pto_charge_t *charge) {
    const pto_peers_t *peers = &action->step->peers;
    int64_t until = pto_expr_at(&peers->until, action->k, action->core, 0);
    int64_t stride = pto_expr_at(&peers->stride, action->k, action->core, 0);
    action->peer = pto_expr_at(&peers->first, action->k, action->core, 0);
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

/* Finds the mix that takes the longest. The charge's max_on_node and max_by_cpu each grow by their own
 * maximum over all mixes, which may be that of another mix. */
static pto_status_t find_costliest(const pto_pricing_t *pricing, const pto_traffic_t *traffic,
                                   pto_space_t space, int64_t bytes, pto_charge_t *charge,
                                   const pto_mix_t **costliest) {
    pto_time_t largest = {.s = -1}, on_node = {0}, by_cpu = {0};
    for (int i = 0; i < traffic->mix_count; i++) {
        pto_charge_t mix = *charge;
        mix.terms = NULL;
        pto_status_t status = charge_mix(pricing, &traffic->mix[i], space, bytes, &mix);
        if (status != PTO_OK)
            return status;
        on_node = pto_time_max(on_node, pto_time_subtract(mix.on_node, charge->on_node));
        by_cpu = pto_time_max(by_cpu, pto_time_subtract(cpu_time(pricing, &mix), cpu_time(pricing, charge)));
        pto_time_t mix_time = member_time(pricing, &mix);
        if (pto_time_less(largest, mix_time)) {
            largest = mix_time;
            *costliest = &traffic->mix[i];
        }
    }
    charge->max_on_node = pto_time_add(charge->max_on_node, on_node);
    charge->max_by_cpu = pto_time_add(charge->max_by_cpu, by_cpu);
    return PTO_OK;
}

static pto_status_t charge_costliest(const pto_pricing_t *pricing, const pto_traffic_t *traffic,
                                     pto_space_t space, int64_t bytes, pto_charge_t *charge) {
    pto_time_t before = charge->on_node;
    pto_status_t status = PTO_OK;
    bool one = traffic->mix_count == 1;
    const pto_mix_t *costliest = one ? &traffic->mix[0] : NULL;
    if (!one)
        status = find_costliest(pricing, traffic, space, bytes, charge, &costliest);
    if (status == PTO_OK && costliest)
        status = charge_mix(pricing, costliest, space, bytes, charge);
    if (one)
        charge->max_on_node = pto_time_add(charge->max_on_node, pto_time_subtract(charge->on_node, before));
    return status;
}

/* --- senders ------------------------------------------------------------------------------------------ */

/* Returns the actor of the class that has a core. */
static int64_t class_of(const pto_pricing_t *pricing, int64_t core) {
    int64_t actor = pricing->actors.count - 1;
    while (pricing->actors.actor[actor].place.core > core)
        actor--;
    return actor;
}

static void follow_sender(pto_pricing_t *pricing, int64_t actor, int64_t sender) {
    pto_pricing_follow(pricing, &pricing->clocks.ledger[actor], &pricing->clocks.before[sender]);
}

/* Follows the actors that may contain a sender of the step. Places follow all priced actors, unless the peers
 * have the same place on other nodes. Classes follow those of the cores that its peers may have. In all other
 * groups, the peers have the action's own core, so that the actor follows itself. */
static void follow_senders(pto_pricing_t *pricing, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    pto_group_kind_t kind = pto_group_at(pricing->plan, step->group)->kind;
    unsigned index = pto_group_traits[kind].index;
    int64_t first = action->rank, last = first;
    if (pricing->actors.kind == PTO_ACTORS_PLACES && index != PTO_BY_NODE) {
        for (int64_t i = 0; i < pricing->actors.priced_count; i++)
            follow_sender(pricing, action->rank, pricing->actors.priced[i]);
        return;
    }
    if (pricing->actors.kind == PTO_ACTORS_CLASSES && index == PTO_BY_CORE) {
        first = class_of(pricing, pto_expr_at(&step->peers.first, action->k, 0, 0));
        last = class_of(pricing, pto_expr_at(&step->peers.until, action->k, 0, 0) - 1);
    } else if (pricing->actors.kind == PTO_ACTORS_CLASSES && index & PTO_BY_CORE) {
        first = class_of(pricing, step->core_first);
        last = class_of(pricing, step->core_first + step->core_count - 1);
    }
    for (int64_t sender = first; sender <= last; sender++)
        follow_sender(pricing, action->rank, sender);
}

static pto_status_t charge_all(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge) {
    pto_space_t space = pto_buffer_at(pricing->plan, pto_message_slice(action->step)->buffer)->space;
    if (action->step->peers.kind == PTO_PEERS_CART)
        return charge_costliest_owner(pricing, action, charge);
    if (differ_by_peer(pricing->plan, action->step))
        return charge_by_peer(pricing, action, space, charge);
    int64_t bytes;
    const pto_traffic_t *traffic = traffic_of(pricing, action, &bytes);
    return traffic ? charge_costliest(pricing, traffic, space, bytes, charge) : PTO_OK;
}

static pto_time_t measure_messages(pto_pricing_t *pricing, pto_action_t action) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    charge.at_once = pricing->at.stage->order == PTO_ORDER_AT_ONCE;
    pto_charge_mixed(&charge, pricing->plan);
    /* An error is set when the step itself is charged. */
    if (charge_all(pricing, &action, &charge) != PTO_OK)
        return (pto_time_t){.s = INFINITY};
    return member_time(pricing, &charge);
}

static pto_status_t charge_messages(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge,
                                    pto_busiest_links_t *busiest) {
    pto_status_t status = PTO_OK;
    if (action->step->kind == PTO_STEP_RECV)
        follow_senders(pricing, action);
    if (!has_alternative(pricing, action) || is_costliest(pricing, action, measure_messages))
        status = charge_all(pricing, action, charge);
    if (pto_time_positive(charge->max_on_node))
        pto_links_busiest_of_all(pricing, PTO_LOAD_MESSAGES, pto_message_end(action->step),
                                 &busiest->on_node);
    return status;
}

/* --- both ways ------------------------------------------------------------------------------------------ */

/* Returns the distance from each member to its only peer; 0: it has several peers, or none at a distance. */
static int64_t only_shift(const pto_plan_t *plan, const pto_step_t *step, int64_t k) {
    const pto_peers_t *peers = &step->peers;
    const pto_action_t action = {.step = step, .k = k};
    bool one =
        peers->kind == PTO_PEERS_SHIFT && peers->first.core == 0 && pto_step_peer_count(plan, &action) == 1;
    return one ? peers->sign * pto_expr_at(&peers->first, k, 0, 0) : 0;
}

/* Returns whether some process takes part in both steps with peers on its own node. In a ring on nodes of two
 * processes there is none: each has one of its neighbors on another node. */
static bool meet_within(const pto_plan_t *plan, const pto_step_t *send, const pto_step_t *recv, int64_t k) {
    const pto_group_t *group = pto_group_at(plan, send->group);
    int64_t to = only_shift(plan, send, k), from = only_shift(plan, recv, k), members = 0;
    if (!pto_steps_share_members(send, recv, k, 0))
        return false;
    if (to == 0 || from == 0 || send->group != recv->group || group->fold != 0)
        return true;
    for (int64_t i = 0; i < group->members_per_node; i++)
        members += pto_floor_mod(i + to, group->size) < group->members_per_node &&
                   pto_floor_mod(i + from, group->size) < group->members_per_node;
    return members > 0;
}

/* Returns whether a process may send and receive within its node. Compares steps, since a class may contain
 * some processes that only send and others that only receive. */
static bool both_ways(const pto_plan_t *plan, const pto_stage_t *stage, int64_t k) {
    for (int i = stage->step_first; i < stage->step_first + stage->step_count; i++) {
        const pto_step_t *send = pto_step_at(plan, i);
        for (int j = stage->step_first; j < stage->step_first + stage->step_count; j++) {
            const pto_step_t *recv = pto_step_at(plan, j);
            if (send->kind == PTO_STEP_SEND && recv->kind == PTO_STEP_RECV &&
                meet_within(plan, send, recv, k))
                return true;
        }
    }
    return false;
}

const pto_message_rules_t pto_messages_by_class = {.count_step = pto_links_count_step,
                                                   .both_ways = both_ways,
                                                   .count = count_sends,
                                                   .charge = charge_messages};
