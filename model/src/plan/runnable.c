/* Rules that a plan must follow to be executed, apart from computing the right result. `check` and the
 * executor apply them before they start (pto_plan_runnable). The rest says what memory user buffers may be
 * in. */
#include "plan/plan_internal.h"

static pto_status_t slice_runnable(const pto_plan_t *plan, const pto_stage_t *stage, const pto_step_t *step,
                                   const pto_slice_t *slice, bool in_library, pto_error_t *err) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, slice->buffer);
    if (buffer->double_buffered && !step->in_kernel)
        return pto_error_set(err, PTO_ERR_INVALID_PLAN,
                             "stage '%s' uses the double-buffered '%s' outside of a kernel", stage->name,
                             buffer->name);
    if (!in_library && slice->holder != PTO_HOLDER_SELF && buffer->space != PTO_SPACE_GPU &&
        buffer->role != PTO_ROLE_TEMPORARY)
        return pto_error_set(err, PTO_ERR_INVALID_PLAN,
                             "stage '%s' uses another process's '%s', which is the user's own host memory",
                             stage->name, buffer->name);
    return PTO_OK;
}

static pto_status_t step_runnable(const pto_plan_t *plan, const pto_stage_t *stage, const pto_step_t *step,
                                  bool in_library, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (pto_step_is_message(step) && stage->order != PTO_ORDER_AT_ONCE)
        return pto_error_set(err, PTO_ERR_INVALID_PLAN,
                             "stage '%s' has messages in a sequence, where they can block each other",
                             stage->name);
    if (pto_step_source(step))
        status = slice_runnable(plan, stage, step, &step->source, in_library, err);
    if (status == PTO_OK && pto_step_target(step))
        status = slice_runnable(plan, stage, step, &step->target, in_library, err);
    return status;
}

pto_status_t pto_plan_runnable(const pto_plan_t *plan, pto_error_t *err) {
    pto_status_t status = pto_lanes_check(plan, err);
    if (status != PTO_OK)
        return status;
    for (int b = 0; b < pto_plan_buffer_count(plan); b++) {
        const pto_buffer_t *buffer = pto_plan_buffer(plan, b);
        if (buffer->double_buffered && buffer->role != PTO_ROLE_TEMPORARY)
            return pto_error_set(err, PTO_ERR_INVALID_PLAN,
                                 "buffer '%s' is double-buffered, but the user has only one copy",
                                 buffer->name);
    }
    int library_end = 0; /* the first node after the latest collective that the MPI library runs */
    for (int n = 0; n < pto_plan_node_count(plan); n++) {
        const pto_node_t *node = pto_plan_node(plan, n);
        bool is_library_call = node->kind == PTO_NODE_COLLECTIVE && node->by == PTO_DONE_BY_LIBRARY;
        if (is_library_call)
            library_end = n + 1 + node->span;
        if (is_library_call && node->collective == PTO_COLLECTIVE_BROADCAST && !pto_call_in_place(plan, node))
            return pto_error_set(err, PTO_ERR_INVALID_PLAN,
                                 "the MPI library's broadcast is in place, and the plan's is not");
        if (node->kind != PTO_NODE_STAGE)
            continue;
        const pto_stage_t *stage = pto_plan_stage(plan, node->stage);
        for (int i = 0; i < stage->step_count && status == PTO_OK; i++)
            status =
                step_runnable(plan, stage, pto_plan_step(plan, stage->step_first + i), n < library_end, err);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}

/* Returns whether a stage reads the user's input after an earlier stage began to write the output. The two
 * cannot be the same memory then. A single stage that does both is allowed: in place, it only copies a
 * process's bytes onto themselves. */
static bool reads_after_write(const pto_plan_t *plan) {
    int written_at = pto_plan_node_count(plan); /* the first node that writes the output */
    for (int n = 0; n < pto_plan_node_count(plan); n++) {
        const pto_node_t *node = pto_plan_node(plan, n);
        if (node->kind != PTO_NODE_STAGE)
            continue;
        const pto_stage_t *stage = pto_plan_stage(plan, node->stage);
        for (int i = 0; i < stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, stage->step_first + i);
            const pto_slice_t *source = pto_step_source(step), *target = pto_step_target(step);
            if (n > written_at && source && pto_plan_buffer(plan, source->buffer)->role == PTO_ROLE_IN)
                return true;
            if (n < written_at && target && pto_plan_buffer(plan, target->buffer)->role == PTO_ROLE_OUT)
                written_at = n;
        }
    }
    return false;
}

bool pto_plan_may_be_in_place(const pto_plan_t *plan) {
    return pto_collective_is_vector(plan->request.collective) && !reads_after_write(plan);
}

static bool is_remote_user_buffer(const pto_plan_t *plan, const pto_slice_t *slice) {
    return slice && slice->holder != PTO_HOLDER_SELF &&
           pto_plan_buffer(plan, slice->buffer)->role != PTO_ROLE_TEMPORARY;
}

bool pto_plan_is_private(const pto_plan_t *plan) {
    bool is_private = true;
    for (int i = 0; i < plan->steps.count && is_private; i++) {
        const pto_step_t *step = pto_plan_step(plan, i);
        is_private = !is_remote_user_buffer(plan, pto_step_source(step)) &&
                     !is_remote_user_buffer(plan, pto_step_target(step));
    }
    return is_private;
}

bool pto_plan_is_one_launch(const pto_plan_t *plan) {
    const pto_node_t *first = pto_plan_node_count(plan) > 0 ? pto_plan_node(plan, 0) : NULL;
    bool launches = first && (first->kind == PTO_NODE_KERNEL ||
                              (first->kind == PTO_NODE_COLLECTIVE && first->by == PTO_DONE_BY_NCCL));
    return launches && first->span == pto_plan_node_count(plan) - 1;
}
