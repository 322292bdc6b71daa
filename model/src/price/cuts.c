/* Which cores of a GPU a plan treats alike, and what a slice comes to for them. */
#include <stdlib.h>

#include "plan/plan_internal.h"
#include "price/copies.h"

static bool depends_on_core(const pto_step_t *step) {
    const pto_expr_t expr[] = {step->peers.first,  step->peers.until,   step->source.first,
                               step->target.first, step->source.offset, step->target.offset};
    for (size_t i = 0; i < sizeof expr / sizeof *expr; i++)
        if (expr[i].core)
            return true;
    return false;
}

/* Mark the cores at which shares change size: the larger ones end, and the last may take what makes no grain.
 */
static void cut_shares(bool *cut, int64_t cores, int64_t bytes, int64_t grain_bytes, int64_t shares) {
    if (shares != cores)
        return;
    cut[bytes / grain_bytes % shares] = true;
    if (bytes % grain_bytes)
        cut[shares - 1] = true;
}

/* Copies that queue end one after another, so that no two of a GPU's processes are alike. */
bool pto_step_queues(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step) {
    return step->kind == PTO_STEP_COPY && pto_copy_is_queued(machine, pto_step_copy_kind(plan, step)) &&
           !pto_step_is_pageable(plan, step);
}

static void find_cuts(const pto_plan_t *plan, const pto_machine_t *machine, bool *cut) {
    int64_t cores = plan->request.layout.cores_per_gpu;
    cut[0] = true;
    for (int i = 0; i < plan->steps.count; i++) {
        const pto_step_t *step = pto_plan_step(plan, i);
        cut[step->core_first] = true;
        if (step->core_first + step->core_count < cores)
            cut[step->core_first + step->core_count] = true;
        bool queued = step->core_count > 1 && pto_step_queues(plan, machine, step);
        for (int64_t core = 0; core < cores && (queued || depends_on_core(step)); core++)
            cut[core] = true;
    }
    for (int i = 0; i < plan->buffers.count; i++) {
        const pto_buffer_t *buffer = pto_plan_buffer(plan, i);
        if (buffer->split > 1)
            cut_shares(cut, cores, buffer->block_bytes, buffer->grain_bytes, buffer->split);
    }
}

int64_t *pto_core_classes(const pto_plan_t *plan, const pto_machine_t *machine, int *class_count) {
    int64_t cores = plan->request.layout.cores_per_gpu;
    bool *cut = calloc((size_t)cores + 1, sizeof *cut);
    int64_t *first = malloc(((size_t)cores + 1) * sizeof *first);
    if (!cut || !first) {
        free(cut);
        free(first);
        return NULL;
    }
    int count = 0;
    find_cuts(plan, machine, cut);
    for (int64_t core = 0; core < cores; core++)
        if (cut[core])
            first[count++] = core;
    first[count] = cores;
    free(cut);
    *class_count = count;
    return first;
}

int64_t pto_class_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, int64_t k, int64_t core,
                              int64_t peer, int64_t distance) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, slice->buffer);
    int64_t blocks = pto_slice_block_count(slice, k, core, peer);
    int64_t bytes = buffer->block_bytes;
    if (slice->bundle > 1)
        blocks *= slice->bundle;
    if (buffer->blocks == PTO_BLOCKS_SHARE)
        bytes = pto_share_bytes(bytes, buffer->grain_bytes,
                                pto_group_shape(&plan->request.layout, buffer->group).size, 0);
    if (buffer->split > 1)
        bytes = pto_share_bytes(bytes, buffer->grain_bytes, buffer->split, core);
    if (slice->parts > 0)
        return pto_share_offset(bytes, buffer->grain_bytes, slice->parts, blocks);
    bool one_block = slice->anchor == PTO_ANCHOR_PEER || slice->anchor == PTO_ANCHOR_ME;
    if (buffer->dealt != PTO_DEAL_NONE && one_block && distance % buffer->deal != core)
        return 0;
    if (slice->share != PTO_SHARE_ALL)
        bytes = pto_share_bytes(bytes, buffer->grain_bytes, slice->share_count,
                                slice->share == PTO_SHARE_MINE ? core : peer);
    return blocks * bytes;
}
