/* Whether the machine lacks the cost of a copy between processes that a plan is sure to make. Such a plan is
 * refused before it is walked: walks that ended at that copy took nearly as long as all other prices of a
 * scenario together. */
#include "price/pricing.h"

static bool is_between_processes(const pto_pricing_t *pricing, const pto_step_t *step) {
    return step->kind == PTO_STEP_COPY && !step->in_kernel &&
           (step->source.holder != PTO_HOLDER_SELF || step->target.holder != PTO_HOLDER_SELF) &&
           pto_actors_are_exact(pricing, step);
}

/* The processes of the first node: those of others are refused by the walk, if only they make such a copy. */
static pto_status_t check_stage(const pto_pricing_t *pricing, const pto_stage_t *stage, int64_t k) {
    pto_status_t status = PTO_OK;
    for (int i = stage->step_first; i < stage->step_first + stage->step_count; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, i);
        pto_action_t action;
        int64_t actors = is_between_processes(pricing, step) ? pricing->actor_count / pricing->node_count : 0;
        for (int64_t actor = 0; status == PTO_OK && actor < actors; actor++)
            if (pto_actor_acts(pricing, step, actor, k, &action))
                status = pto_copies_check(pricing->plan, pricing->machine, &action, pricing->err);
    }
    return status;
}

/* Nodes [first, first + count), of loops their first iteration. */
static pto_status_t check_nodes(const pto_pricing_t *pricing, int first, int count, int64_t k) {
    pto_status_t status = PTO_OK;
    for (int i = first; i < first + count && status == PTO_OK; i++) {
        const pto_node_t *node = pto_node_at(pricing->plan, i);
        if (node->kind == PTO_NODE_STAGE) {
            status = check_stage(pricing, pto_stage_at(pricing->plan, node->stage), k);
        } else if (node->kind == PTO_NODE_LOOP || node->kind == PTO_NODE_PIPELINE) {
            if (node->from < node->to)
                status = check_nodes(pricing, i + 1, node->span, node->from);
            i += node->span;
        } else if (node->by == PTO_DONE_BY_NCCL) {
            i += node->span;
        }
    }
    return status;
}

pto_status_t pto_pricing_check_costs(const pto_pricing_t *pricing) {
    const pto_machine_t *machine = pricing->machine;
    bool lacks_any = !pto_postal_known(&machine->peer[PTO_REACH_ON_SOCKET]) ||
                     !pto_postal_known(&machine->copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET]) ||
                     !pto_postal_known(&machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET]);
    if (pricing->kind == PTO_ACTORS_CLASSES || !lacks_any)
        return PTO_OK;
    return check_nodes(pricing, 0, pto_plan_node_count(pricing->plan), 0);
}
