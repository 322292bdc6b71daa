/* NCCL's own collectives in a plan: which stages stand for one, and which memory is only theirs. */
#include "plan/plan_internal.h"

static bool is_nccl(const pto_node_t *node) {
    return node->kind == PTO_NODE_COLLECTIVE && node->by == PTO_DONE_BY_NCCL;
}

bool pto_plan_uses_nccl(const pto_plan_t *plan) {
    bool uses = false;
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        uses = uses || is_nccl(pto_plan_node(plan, n));
    return uses;
}

static bool stage_uses(const pto_plan_t *plan, const pto_stage_t *stage, int buffer) {
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(plan, stage->step_first + i);
        if (pto_step_reads(step, buffer) || pto_step_writes(step, buffer))
            return true;
    }
    return false;
}

bool pto_buffer_stands_in(const pto_plan_t *plan, int buffer) {
    if (pto_plan_buffer(plan, buffer)->role != PTO_ROLE_TEMPORARY || !pto_plan_uses_nccl(plan))
        return false;
    for (int n = 0; n < pto_plan_node_count(plan); n++) {
        const pto_node_t *node = pto_plan_node(plan, n);
        if (is_nccl(node))
            n += node->span;
        else if (node->kind == PTO_NODE_STAGE && stage_uses(plan, pto_plan_stage(plan, node->stage), buffer))
            return false;
    }
    return true;
}

bool pto_walk_in_nccl(const pto_walk_t *walk) {
    return walk->collective >= 0 && is_nccl(pto_plan_node(walk->plan, walk->collective));
}

void pto_walk_leave_collective(pto_walk_t *walk) {
    walk->next = walk->collective_end;
    walk->loop = -1;
    walk->k = 0;
}
