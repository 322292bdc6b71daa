/* Accessors of a plan's nodes, stages, steps, buffers and groups (portolan/plan.h), and two properties of the
 * whole plan. */
#include "plan/plan_internal.h"

const pto_request_t *pto_plan_request(const pto_plan_t *plan) { return &plan->request; }
int pto_plan_node_count(const pto_plan_t *plan) { return plan->nodes.count; }
const pto_node_t *pto_plan_node(const pto_plan_t *plan, int index) { return pto_node_at(plan, index); }

const pto_call_slices_t *pto_plan_call(const pto_plan_t *plan, int index) {
    return (const pto_call_slices_t *)plan->calls.item + index;
}

const pto_stage_t *pto_plan_stage(const pto_plan_t *plan, int index) { return pto_stage_at(plan, index); }
const pto_step_t *pto_plan_step(const pto_plan_t *plan, int index) { return pto_step_at(plan, index); }
int pto_plan_buffer_count(const pto_plan_t *plan) { return plan->buffers.count; }
const pto_buffer_t *pto_plan_buffer(const pto_plan_t *plan, int index) { return pto_buffer_at(plan, index); }
const pto_group_t *pto_plan_group(const pto_plan_t *plan, int index) { return pto_group_at(plan, index); }
int pto_plan_flag_count(const pto_plan_t *plan) { return plan->flags.count; }

const char *pto_plan_flag_name(const pto_plan_t *plan, int flag) {
    return ((const char *const *)plan->flags.item)[flag];
}

bool pto_plan_has_tables(const pto_plan_t *plan) {
    return plan->request.counts && pto_counts_differ(plan->request.counts);
}

bool pto_plan_uses_peers_memory(const pto_plan_t *plan) {
    for (int i = 0; i < plan->steps.count; i++) {
        const pto_step_t *step = pto_plan_step(plan, i);
        if (step->source.holder == PTO_HOLDER_PEER || step->target.holder == PTO_HOLDER_PEER)
            return true;
    }
    return false;
}
