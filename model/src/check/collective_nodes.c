/* Checks collective nodes before the walk: each names a collective that exists, and its stages use only the
 * node's group, cores and buffers. collective.c proves that the stages perform the collective. */
#include "check/check_internal.h"
#include "plan/plan_internal.h"

/* A phase of a halo exchange must be one stage of messages, which is all that the MPI library's call does. No
 * proof of the call is needed then: the stage is walked as any other. */
static bool check_phase(pto_checker_t *checker, int node_number) {
    const pto_node_t *node = pto_plan_node(checker->plan, node_number);
    const pto_stage_t *stage = node->span == 1 ? pto_node_stage(checker->plan, node_number + 1) : NULL;
    if (!stage || node->by == PTO_DONE_BY_NCCL)
        return pto_check_fail(checker, 0, "a phase of messages is not one stage");
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(checker->plan, stage->step_first + i);
        const pto_slice_t *slice = step->kind == PTO_STEP_SEND ? &step->source : &step->target;
        const pto_call_slices_t *call = pto_plan_call(checker->plan, node->call);
        if (!pto_step_is_message(step) || step->peers.kind != PTO_PEERS_CART || step->group != node->group ||
            slice->holder != PTO_HOLDER_SELF ||
            slice->buffer != (step->kind == PTO_STEP_SEND ? call->in.buffer : call->out.buffer) ||
            step->core_first < node->core_first ||
            step->core_first + step->core_count > node->core_first + node->core_count)
            return pto_check_fail(checker, 0, "a phase of messages has a step that is not part of its call");
    }
    return true;
}

static bool check_call(pto_checker_t *checker, const pto_node_t *node) {
    if (node->by < 0 || node->by >= PTO_DONE_BY_COUNT || node->collective < 0 ||
        node->collective >= PTO_COLLECTIVE_COUNT)
        return pto_check_fail(checker, 0, "a collective node names an unknown collective");
    if (node->call < 0 || node->call >= checker->plan->calls.count)
        return pto_check_fail(checker, 0, "a collective node names call %d of %d", node->call,
                              checker->plan->calls.count);
    if (node->group < 0 || node->group >= checker->plan->groups.count ||
        pto_plan_group(checker->plan, node->group)->fold != 0)
        return pto_check_fail(checker, 0, "a collective is of group %d, which is not a whole group",
                              node->group);
    if (node->core_first < 0 || node->core_count < 0 ||
        node->core_first + node->core_count > checker->request->layout.procs_per_gpu)
        return pto_check_fail(checker, 0, "a collective is on cores that don't exist");
    const pto_call_slices_t *call = pto_plan_call(checker->plan, node->call);
    if (pto_call_in_place(checker->plan, node) && !pto_collective_is_vector(node->collective) &&
        node->collective != PTO_COLLECTIVE_HALO)
        return pto_check_fail(checker, 0, "an in-place %s is not supported in plans",
                              pto_collective_name(node->collective));
    if (call->in.holder != PTO_HOLDER_SELF || call->out.holder != PTO_HOLDER_SELF)
        return pto_check_fail(checker, 0, "a collective names another process's buffer");
    return pto_check_slice_named(checker, &call->in) && pto_check_slice_named(checker, &call->out);
}

/* Checks that a stage of a node uses only the node's input and output, and temporaries that belong to it. */
static bool check_slice(pto_checker_t *checker, int node_number, const pto_slice_t *slice, bool write) {
    const pto_call_slices_t *call =
        pto_plan_call(checker->plan, pto_plan_node(checker->plan, node_number)->call);
    const char *name = pto_check_buffer_name(checker, slice->buffer);
    if (slice->holder != PTO_HOLDER_SELF && slice->holder != PTO_HOLDER_PEER)
        return pto_check_fail(checker, 0, "a collective's stage uses '%s' of a process that is not a peer",
                              name);
    if (slice->buffer == call->out.buffer)
        return true;
    if (slice->buffer == call->in.buffer && write)
        return pto_check_fail(checker, 0, "a collective's stage writes '%s', which is its input", name);
    if (slice->buffer != call->in.buffer && pto_buffer_home(checker->plan, slice->buffer) != node_number)
        return pto_check_fail(checker, 0,
                              "a collective's stage uses '%s', which is not the collective's alone", name);
    return true;
}

/* Checks that only the node's stages use the flag: another implementation of the call does not raise it. */
static bool check_flag(pto_checker_t *checker, int node_number, const pto_step_t *signal) {
    int end = node_number + pto_plan_node(checker->plan, node_number)->span;
    for (int n = 0; n < pto_plan_node_count(checker->plan); n++) {
        const pto_stage_t *stage = pto_node_stage(checker->plan, n);
        for (int i = 0; stage && (n < node_number || n > end) && i < stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(checker->plan, stage->step_first + i);
            if (pto_step_is_signal(step) && step->flag == signal->flag)
                return pto_check_fail(checker, 0,
                                      "a collective's stage uses flag '%s', which is used outside",
                                      pto_plan_flag_name(checker->plan, step->flag));
        }
    }
    return true;
}

static bool check_step(pto_checker_t *checker, int node_number, const pto_step_t *step) {
    const pto_node_t *node = pto_plan_node(checker->plan, node_number);
    const pto_group_t *group = pto_plan_group(checker->plan, node->group);
    if (step->core_count <= 0)
        return true;
    if (step->kind == PTO_STEP_LAUNCH)
        return pto_check_fail(checker, 0, "a collective's stage launches a kernel");
    if (pto_step_is_signal(step) && !check_flag(checker, node_number, step))
        return false;
    if (!pto_group_is_level_of(pto_plan_group(checker->plan, step->group)->kind, group->kind))
        return pto_check_fail(checker, 0, "a collective's stage acts in another group than the collective");
    if (step->core_first < node->core_first ||
        step->core_first + step->core_count > node->core_first + node->core_count)
        return pto_check_fail(checker, 0, "a collective's stage acts on cores outside of the collective");
    return (!pto_step_source(step) || check_slice(checker, node_number, &step->source, false)) &&
           (!pto_step_target(step) || check_slice(checker, node_number, &step->target, true));
}

/* Returns whether the walk visits any of the node's stages. */
static bool has_stages(const pto_plan_t *plan, int node_number) {
    int end = node_number + 1 + pto_plan_node(plan, node_number)->span;
    for (int n = node_number + 1; n < end; n++) {
        const pto_node_t *node = pto_plan_node(plan, n);
        if (node->kind == PTO_NODE_STAGE)
            return true;
        if (node->kind == PTO_NODE_LOOP && node->from >= node->to)
            n += node->span;
    }
    return false;
}

static bool check_body(pto_checker_t *checker, int node_number) {
    const pto_node_t *node = pto_plan_node(checker->plan, node_number);
    bool ok = true;
    for (int n = node_number + 1; n <= node_number + node->span && ok; n++) {
        const pto_node_t *inner = pto_plan_node(checker->plan, n);
        if (inner->kind == PTO_NODE_COLLECTIVE || inner->kind == PTO_NODE_KERNEL)
            return pto_check_fail(checker, 0, "a collective contains another one, or a kernel");
        if (inner->kind != PTO_NODE_STAGE)
            continue;
        const pto_stage_t *stage = pto_plan_stage(checker->plan, inner->stage);
        checker->walk.stage = stage;
        for (int i = 0; i < stage->step_count && ok; i++)
            ok = check_step(checker, node_number, pto_plan_step(checker->plan, stage->step_first + i));
    }
    if (!ok)
        return false;
    checker->walk.stage = NULL;
    bool does_nothing =
        pto_call_in_place(checker->plan, node) && pto_plan_group(checker->plan, node->group)->size == 1;
    return has_stages(checker->plan, node_number) || does_nothing ||
           pto_check_fail(checker, 0, "a collective contains no stages");
}

bool pto_check_collectives(pto_checker_t *checker) {
    int loop_end = 0;
    for (int n = 0; n < pto_plan_node_count(checker->plan); n++) {
        const pto_node_t *node = pto_plan_node(checker->plan, n);
        if (node->kind == PTO_NODE_LOOP)
            loop_end = n + 1 + node->span;
        if (node->kind != PTO_NODE_COLLECTIVE)
            continue;
        if (n < loop_end)
            return pto_check_fail(checker, 0, "a collective is inside a loop");
        if (!check_call(checker, node))
            return false;
        if (!(node->collective == PTO_COLLECTIVE_HALO ? check_phase(checker, n) : check_body(checker, n)))
            return false;
    }
    return true;
}
