/* A plan's collective nodes (members.h). */
#include "members.h"

bool pto_runs_by_library(const pto_exec_t *exec, const pto_node_t *node) {
    return node->kind == PTO_NODE_COLLECTIVE && node->by == PTO_DONE_BY_LIBRARY &&
           !exec->options.own_algorithms;
}

bool pto_walk_in_library(const pto_exec_t *exec, const pto_walk_t *walk) {
    return walk->collective >= 0 && pto_runs_by_library(exec, pto_plan_node(exec->plan, walk->collective));
}

/* For pto_slice_visit_by: keeps the slice's only range. */
static bool note_block(void *context, int64_t offset_bytes, int64_t bytes) {
    *(pto_nccl_block_t *)context = (pto_nccl_block_t){offset_bytes, bytes};
    return true;
}

pto_nccl_block_t pto_exec_block(const pto_exec_t *exec, const pto_slice_t *slice, int64_t peer) {
    pto_action_t action = {.rank = exec->job.logical, .peer = peer};
    action.core = action.rank % pto_plan_request(exec->plan)->layout.procs_per_gpu;
    pto_nccl_block_t block = {0};
    pto_slice_visit_by(exec->plan, exec->offsets, slice, &action, note_block, &block);
    return block;
}

pto_membership_t pto_find_membership(const pto_exec_t *exec, int node_index) {
    const pto_node_t *node = pto_plan_node(exec->plan, node_index);
    const int index = (int)pto_collective_member(exec->plan, node, exec->job.logical);
    return (pto_membership_t){
        .node = node, .group = pto_plan_group(exec->plan, node->group), .index = index, .acts = index >= 0};
}
