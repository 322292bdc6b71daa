/* Properties of the kinds of steps (one table row each), and what costs of copies depend on: the memory
 * spaces of source and target, and the number of contiguous pieces or rows. */
#include "base/names.h"
#include "plan/plan_internal.h"

static const struct {
    const char *name;
    bool reads;   /* has a source */
    bool writes;  /* has a target */
    bool message; /* has peers, which have the matching step in the same stage */
    bool signal;  /* has peers and a flag */
} kinds[] = {
    [PTO_STEP_SEND] = {.name = "send", .reads = true, .message = true},
    [PTO_STEP_RECV] = {.name = "recv", .writes = true, .message = true},
    [PTO_STEP_COPY] = {.name = "copy", .reads = true, .writes = true},
    [PTO_STEP_REDUCE] = {.name = "reduce", .reads = true, .writes = true},
    [PTO_STEP_SIGNAL] = {.name = "signal", .signal = true},
    [PTO_STEP_WAIT] = {.name = "wait", .signal = true},
    [PTO_STEP_LAUNCH] = {.name = "launch"},
};
PTO_EACH_NAMED(kinds, PTO_STEP_COUNT);

const char *pto_step_name(pto_step_kind_t kind) {
    return kind < PTO_STEP_COUNT ? kinds[kind].name : "no step";
}

const pto_slice_t *pto_step_source(const pto_step_t *step) {
    return kinds[step->kind].reads ? &step->source : NULL;
}

const pto_slice_t *pto_step_target(const pto_step_t *step) {
    return kinds[step->kind].writes ? &step->target : NULL;
}

const pto_slice_t *pto_message_slice(const pto_step_t *step) {
    return kinds[step->kind].reads ? &step->source : &step->target;
}

bool pto_step_reads(const pto_step_t *step, int buffer) {
    return kinds[step->kind].reads && step->source.buffer == buffer;
}

bool pto_step_writes(const pto_step_t *step, int buffer) {
    return kinds[step->kind].writes && step->target.buffer == buffer;
}

bool pto_step_is_message(const pto_step_t *step) { return kinds[step->kind].message; }
bool pto_step_is_local(const pto_step_t *step) { return kinds[step->kind].reads && kinds[step->kind].writes; }
bool pto_step_is_signal(const pto_step_t *step) { return kinds[step->kind].signal; }

bool pto_copy_joins_user_buffers(const pto_plan_t *plan, const pto_step_t *step) {
    return plan->request.in_place && step->source.holder == PTO_HOLDER_SELF &&
           step->target.holder == PTO_HOLDER_SELF &&
           pto_plan_buffer(plan, step->source.buffer)->role == PTO_ROLE_IN &&
           pto_plan_buffer(plan, step->target.buffer)->role == PTO_ROLE_OUT;
}

/* Returns whether a copy's source and target are the same memory. That is so if the user's input and output
 * are one buffer and the copy moves all of it. */
static bool is_onto_itself(const pto_plan_t *plan, const pto_action_t *action, int64_t bytes) {
    int source = action->step->source.buffer, target = action->step->target.buffer;
    return pto_copy_joins_user_buffers(plan, action->step) &&
           pto_buffer_is_users(plan, target, action->rank) &&
           bytes == pto_buffer_bytes(plan, source, action->rank) &&
           bytes == pto_buffer_bytes(plan, target, action->rank);
}

int64_t pto_copy_bytes(const pto_plan_t *plan, const pto_action_t *action) {
    int64_t bytes = pto_slice_bytes(plan, &action->step->source, action);
    return is_onto_itself(plan, action, bytes) ? 0 : bytes;
}

pto_copy_kind_t pto_step_copy_kind(const pto_plan_t *plan, const pto_step_t *step) {
    pto_space_t source = pto_plan_buffer(plan, step->source.buffer)->space;
    pto_space_t target = pto_plan_buffer(plan, step->target.buffer)->space;
    if (source == PTO_SPACE_GPU)
        return target == PTO_SPACE_GPU ? PTO_COPY_D2D : PTO_COPY_D2H;
    return target == PTO_SPACE_GPU ? PTO_COPY_H2D : PTO_COPY_H2H;
}

/* Only shares and chunks of several blocks are strided for all processes. Blocks that are dealt out by
 * distance wrap around the end of the buffer, so some process copies a single, contiguous one. */
static bool is_strided(const pto_slice_t *slice, int64_t k, int64_t core) {
    return (slice->share != PTO_SHARE_ALL || slice->chunks > 1) &&
           pto_slice_block_count(slice, k, core, 0) > 1;
}

bool pto_step_is_strided(const pto_step_t *step, int64_t k, int64_t core) {
    return is_strided(&step->source, k, core) || is_strided(&step->target, k, core);
}

static int64_t piece_count(const pto_slice_t *slice, int64_t k, int64_t core) {
    int64_t first = pto_expr_at(&slice->first, k, core, 0), until = pto_expr_at(&slice->until, k, core, 0);
    int64_t run = pto_expr_at(&slice->run, k, core, 0), stride = pto_expr_at(&slice->stride, k, core, 0);
    bool has_gaps = slice->chunks > 1 || (stride > run && until - first > stride);
    int64_t blocks = pto_slice_block_count(slice, k, core, 0);
    return has_gaps && blocks > 1 ? blocks : 1;
}

int64_t pto_step_pieces(const pto_step_t *step, int64_t k, int64_t core) {
    int64_t source = piece_count(&step->source, k, core);
    int64_t target = piece_count(&step->target, k, core);
    return source > target ? source : target;
}

/* Returns the number of contiguous rows of a slice of a halo exchange. Its expressions are constants, and
 * `first` is 0. */
static int64_t row_count(const pto_slice_t *slice) {
    int64_t run = slice->run.constant, stride = slice->stride.constant, until = slice->until.constant;
    int64_t rows = run < stride && until > 0 ? (until - 1) / stride + 1 : 1;
    return slice->repeat > 1 ? rows * slice->repeat : rows;
}

int64_t pto_step_rows(const pto_plan_t *plan, const pto_step_t *step) {
    if (plan->request.collective != PTO_COLLECTIVE_HALO)
        return 1;
    int64_t source = row_count(&step->source), target = row_count(&step->target);
    return source > target ? source : target;
}

bool pto_step_is_pageable(const pto_plan_t *plan, const pto_step_t *step) {
    return pto_plan_buffer(plan, step->source.buffer)->pageable ||
           pto_plan_buffer(plan, step->target.buffer)->pageable;
}
