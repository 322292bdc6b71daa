/* Collective nodes of a plan: their members, the temporaries that only one of them uses, and the nodes that
 * NCCL runs instead of the plan's stages. */
#include "plan/plan_internal.h"

int64_t pto_collective_member(const pto_plan_t *plan, const pto_node_t *node, int64_t rank) {
    int64_t core = rank % plan->request.layout.procs_per_gpu;
    if (core < node->core_first || core >= node->core_first + node->core_count)
        return -1;
    return pto_group_index(plan, pto_plan_group(plan, node->group), rank);
}

static bool step_uses(const pto_step_t *step, int buffer) {
    return pto_step_reads(step, buffer) || pto_step_writes(step, buffer);
}

static bool stage_uses(const pto_plan_t *plan, const pto_stage_t *stage, int buffer) {
    for (int i = 0; i < stage->step_count; i++)
        if (step_uses(pto_plan_step(plan, stage->step_first + i), buffer))
            return true;
    return false;
}

static bool is_in_or_out(const pto_call_slices_t *call, int buffer) {
    return call->in.buffer == buffer || call->out.buffer == buffer;
}

int pto_buffer_home(const pto_plan_t *plan, int buffer) {
    int home = -1;
    int collective = -1, end = 0; /* the latest collective node, and the number of the first node after it */
    if (pto_plan_buffer(plan, buffer)->role != PTO_ROLE_TEMPORARY)
        return -1;
    for (int n = 0; n < pto_plan_node_count(plan); n++) {
        const pto_node_t *node = pto_plan_node(plan, n);
        if (node->kind == PTO_NODE_COLLECTIVE) {
            if (is_in_or_out(pto_plan_call(plan, node->call), buffer))
                return -1;
            collective = n;
            end = n + 1 + node->span;
        }
        if (node->kind != PTO_NODE_STAGE || !stage_uses(plan, pto_plan_stage(plan, node->stage), buffer))
            continue;
        if (n >= end || (home >= 0 && home != collective)) /* used outside collectives, or in two of them */
            return -1;
        home = collective;
    }
    return home;
}

static bool is_nccl(const pto_node_t *node) {
    return node->kind == PTO_NODE_COLLECTIVE && node->by == PTO_DONE_BY_NCCL;
}

bool pto_plan_uses_nccl(const pto_plan_t *plan) {
    bool uses = false;
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        uses = uses || is_nccl(pto_plan_node(plan, n));
    return uses;
}

bool pto_buffer_stands_in(const pto_plan_t *plan, int buffer) {
    if (pto_plan_buffer(plan, buffer)->role != PTO_ROLE_TEMPORARY || !pto_plan_uses_nccl(plan))
        return false;
    int home = pto_buffer_home(plan, buffer);
    return home >= 0 && is_nccl(pto_plan_node(plan, home));
}

bool pto_walk_in_nccl(const pto_walk_t *walk) {
    return walk->collective >= 0 && is_nccl(pto_plan_node(walk->plan, walk->collective));
}

void pto_walk_leave_collective(pto_walk_t *walk) {
    walk->next = walk->collective_end;
    walk->loop = -1;
    walk->k = 0;
}
