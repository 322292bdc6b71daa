/* Recognises plans in which all nodes do the same: cyclic renumbering of the nodes leaves the plan unchanged.
 * Then each rank does the same as the rank at its place on node 0, at the same time. For each message that
 * node 0 receives from another node, it sends a like one. So it is enough to simulate one node (size.c). */
#include "simulate/simulate_internal.h"

/* Returns whether the slice has the same number of bytes on all nodes: its blocks are equal, and their number
 * does not depend on the rank or its peer. */
static bool is_even(const pto_plan_t *plan, const pto_slice_t *slice) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, slice->buffer);
    return buffer->blocks == PTO_BLOCKS_EQUAL && buffer->cyclic == PTO_CYCLIC_NONE &&
           buffer->held_stride <= 1 && slice->parts == 0 && slice->fold == 0 &&
           slice->cells == PTO_CELLS_NONE && slice->share == PTO_SHARE_ALL && !slice->first.peer &&
           !slice->run.peer && !slice->stride.peer && !slice->until.peer;
}

static bool step_is_alike(const pto_plan_t *plan, const pto_step_t *step) {
    bool has_source = step->kind == PTO_STEP_SEND || pto_step_is_local(step);
    bool has_target = step->kind == PTO_STEP_RECV || pto_step_is_local(step);
    return pto_step_is_alike_on_nodes(plan, step, true) && (!has_source || is_even(plan, &step->source)) &&
           (!has_target || is_even(plan, &step->target));
}

bool pto_sim_nodes_act_alike(const pto_plan_t *plan, const pto_machine_t *machine) {
    const pto_request_t *request = &plan->request;
    if (request->layout.nodes < 2 || machine->fabric.levels > 0 || pto_plan_has_tables(plan) ||
        pto_plan_either_count(plan, plan->nodes.count) > 0 || pto_plan_uses_nccl(plan))
        return false;
    for (int i = 0; i < plan->steps.count; i++)
        if (!step_is_alike(plan, pto_plan_step(plan, i)))
            return false;
    return true;
}
