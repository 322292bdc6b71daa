/* What a plan does, as one number, to tell plans apart. */
#ifndef PTO_TEST_PLAN_DEEDS_H
#define PTO_TEST_PLAN_DEEDS_H

#include "plan/plan_internal.h"

/* Everything that a plan does as one number: who, with whom, which bytes of whose buffers. Within a stage of
 * one rank it does not count in which order things are done at once. */
typedef struct {
    const pto_plan_t *plan;
    uint64_t hash;
} deeds_t;

static void add_deed(deeds_t *deeds, int64_t value) {
    deeds->hash = (deeds->hash ^ (uint64_t)value) * 0x100000001b3u;
    deeds->hash ^= deeds->hash >> 31;
}

static bool add_range(void *context, int64_t offset_bytes, int64_t bytes) {
    add_deed(context, offset_bytes);
    add_deed(context, bytes);
    return true;
}

/* One action's number; 0 where it comes to nothing. */
static uint64_t deed_of(const pto_plan_t *plan, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    const pto_slice_t *slice[] = {pto_step_source(step), pto_step_target(step)};
    deeds_t deed = {.plan = plan, .hash = 0xcbf29ce484222325u};
    add_deed(&deed, step->kind);
    add_deed(&deed, pto_step_is_local(step) ? -1 : action->peer_rank);
    add_deed(&deed, pto_step_is_signal(step) ? step->flag : -1);
    add_deed(&deed, step->kind == PTO_STEP_REDUCE && step->fresh);
    int64_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        if (!slice[i])
            continue;
        add_deed(&deed, slice[i]->buffer);
        add_deed(&deed, pto_slice_holder(plan, slice[i], action));
        pto_slice_visit(plan, slice[i], action, add_range, &deed);
        bytes += pto_slice_bytes(plan, slice[i], action);
    }
    bool counts = bytes > 0 || pto_step_is_signal(step) || (step->send_empty && pto_step_is_message(step));
    return counts ? deed.hash : 0;
}

static uint64_t deeds_in_step(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k) {
    pto_action_t action;
    if (!pto_step_acts(plan, step, rank, k, &action))
        return 0;
    if (step->peers.kind == PTO_PEERS_NONE)
        return deed_of(plan, &action);
    uint64_t sum = 0, last = 0;
    int64_t count = pto_step_peer_count(plan, &action);
    for (int64_t j = 0; j < count; j++) {
        if (!pto_step_peer(plan, j, &action))
            continue;
        uint64_t deed = deed_of(plan, &action);
        if (step->kind != PTO_STEP_COPY || deed != last) /* a copy made twice is the same copy */
            sum += deed;
        last = deed;
    }
    return sum;
}

static void add_stage(deeds_t *deeds, const pto_walk_t *walk, int64_t rank) {
    uint64_t sum = 0;
    for (int i = 0; i < walk->stage->step_count; i++) {
        uint64_t step = deeds_in_step(deeds->plan, pto_plan_step(deeds->plan, walk->stage->step_first + i),
                                      rank, walk->k);
        if (walk->stage->order == PTO_ORDER_SEQUENCE && step)
            add_deed(deeds, (int64_t)step);
        else
            sum += step;
    }
    if (sum)
        add_deed(deeds, (int64_t)sum);
}

/* What the call of a collective node reads and writes of one member's memory, for or from each other one. */
static void add_call(deeds_t *deeds, const pto_node_t *node, int64_t rank) {
    const pto_plan_t *plan = deeds->plan;
    const pto_call_slices_t *slices = pto_plan_call(plan, node->call);
    const pto_group_t *group = pto_plan_group(plan, node->group);
    bool alone = group->size == 1; /* who has only itself to give to gets what it gives, by any name */
    bool messages = !alone && node->collective == PTO_COLLECTIVE_MESSAGES;
    bool vector = alone || pto_collective_is_vector(node->collective);
    pto_action_t action = {.rank = rank, .core = rank % plan->request.layout.procs_per_gpu};
    action.me = pto_collective_member(plan, node, rank);
    add_deed(deeds, action.me);
    if (action.me < 0)
        return;
    bool alltoallv = node->collective == PTO_COLLECTIVE_ALLTOALLV;
    bool allgather = pto_collective_is_allgather(node->collective);
    pto_collective_t meant = alltoallv   ? PTO_COLLECTIVE_ALLTOALL
                             : allgather ? PTO_COLLECTIVE_ALLGATHER
                                         : node->collective;
    add_deed(deeds, alone ? PTO_COLLECTIVE_COUNT : meant);
    add_deed(deeds, group->size);
    for (int64_t j = 0; j < (messages ? plan->request.messages : vector ? 1 : group->size); j++) {
        action.peer = action.ordinal = j;
        action.peer_rank = messages ? -1 : pto_group_rank(plan, group, rank, j);
        add_deed(deeds, slices->in.buffer);
        if (vector || action.me == 0 || !pto_collective_is_from_root(node->collective))
            pto_slice_visit(plan, &slices->in, &action, add_range, deeds);
        add_deed(deeds, slices->out.buffer);
        if (vector || action.me == 0 || !pto_collective_is_to_root(node->collective))
            pto_slice_visit(plan, &slices->out, &action, add_range, deeds);
    }
}

static void add_calls(deeds_t *deeds) {
    for (int n = 0; n < pto_plan_node_count(deeds->plan); n++)
        for (int64_t rank = 0; rank < pto_layout_rank_count(&deeds->plan->request.layout); rank++)
            if (pto_plan_node(deeds->plan, n)->kind == PTO_NODE_COLLECTIVE)
                add_call(deeds, pto_plan_node(deeds->plan, n), rank);
}

/* Of one rank alone. */
static inline uint64_t deeds_of_rank(const pto_plan_t *plan, int64_t rank) {
    deeds_t deeds = {.plan = plan, .hash = 0xcbf29ce484222325u};
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        add_stage(&deeds, &walk, rank);
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        if (pto_plan_node(plan, n)->kind == PTO_NODE_COLLECTIVE)
            add_call(&deeds, pto_plan_node(plan, n), rank);
    return deeds.hash;
}

static inline uint64_t deeds_of(const pto_plan_t *plan) {
    deeds_t deeds = {.plan = plan, .hash = 0xcbf29ce484222325u};
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int64_t rank = 0; rank < pto_layout_rank_count(&plan->request.layout); rank++)
            add_stage(&deeds, &walk, rank);
    add_calls(&deeds);
    return deeds.hash;
}

#endif
