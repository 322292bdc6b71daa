/* Plans at random, and random changes of plans; most are wrong. */
#ifndef PTO_TEST_RANDOM_PLANS_H
#define PTO_TEST_RANDOM_PLANS_H

#include "../chance.h"
#include "plan/plan_internal.h"
#include "portolan/strategy.h"

/* --- random plans --------------------------------------------------------------------------------------- */

static inline int64_t some_count(const pto_request_t *request, int64_t owners) {
    const pto_layout_t *layout = &request->layout;
    return ONE_OF(1, 2, owners, owners, owners / layout->nodes, layout->nodes, 2 * owners, 3 * layout->nodes,
                  4, 6, layout->procs_per_gpu);
}

static inline pto_expr_t some_number(int64_t bound) {
    pto_expr_t expr = pto_constant(one_in(3) ? below(bound + 1) : 0);
    if (one_in(12))
        expr.loop = ONE_OF(1, 2, -1);
    if (one_in(12))
        expr.core = ONE_OF(1, 2);
    if (one_in(15))
        expr.peer = ONE_OF(1, -1, 2);
    return expr;
}

static inline pto_slice_t some_slice(const pto_builder_t *builder, int buffers) {
    int buffer = (int)below(buffers);
    int64_t count = pto_builder_buffer(builder, buffer)->block_count;
    pto_slice_t slice = one_in(3) ? pto_slice_all(builder, buffer)
                                  : pto_slice_block(buffer, (pto_anchor_t)below(PTO_ANCHOR_COUNT));
    if (one_in(3))
        slice.anchor = (pto_anchor_t)below(PTO_ANCHOR_COUNT);
    slice.offset = some_number(count);
    if (one_in(4)) { /* runs, in rounds or not */
        slice.stride = pto_constant(1 + below(count));
        slice.run = pto_constant(1 + below(one_in(2) ? count : slice.stride.constant));
        slice.until = pto_constant(one_in(3) ? 1 + below(count) : count);
    }
    if (one_in(8))
        slice.first = some_number(2);
    if (one_in(6))
        slice.anchor_step = below(4);
    if (one_in(5) && count % 2 == 0)
        slice.bundle = 2, slice.until = pto_constant(one_in(2) ? 1 : count / 2);
    else if (one_in(5) && count % 3 == 0)
        slice.bundle = 3, slice.until = pto_constant(one_in(2) ? 1 : count / 3);
    if (one_in(12))
        slice.align = pto_constant(below(4));
    slice.reversed = one_in(10);
    if (one_in(20))
        slice.reverse_bits = 1 + below(3);
    if (one_in(12))
        slice.parts = below(4);
    if (one_in(20))
        slice.fold = below(3);
    if (one_in(12))
        slice.share = (pto_share_t)below(PTO_SHARE_KIND_COUNT), slice.share_count = 1 + below(3);
    if (one_in(12))
        slice.repeat = 1 + below(3), slice.repeat_stride = below(count + 1);
    return slice;
}

static inline pto_peers_t some_peers(int64_t size) {
    pto_peers_t peers = {.kind = (pto_peers_kind_t)ONE_OF(PTO_PEERS_SHIFT, PTO_PEERS_SHIFT, PTO_PEERS_INDEX,
                                                          PTO_PEERS_INDEX, PTO_PEERS_TORUS, PTO_PEERS_XOR)};
    peers.sign = one_in(2) ? 1 : -1;
    peers.node_shift = below(3);
    peers.stride = pto_constant(one_in(8) ? 2 : 1);
    if (one_in(2)) {
        peers.first = pto_constant(below(size + 1));
        peers.until = pto_constant(peers.first.constant + 1);
    } else {
        peers.first = pto_constant(one_in(2) ? 0 : 1);
        peers.until = pto_constant(one_in(8) ? size - 1 : size);
    }
    if (one_in(8))
        peers.first.loop = peers.until.loop = 1;
    return peers;
}

static inline pto_step_t some_step(pto_builder_t *builder, int groups, int buffers, int flag) {
    const pto_request_t *request = pto_builder_request(builder);
    int group = (int)below(groups);
    int64_t size = pto_builder_group(builder, group)->size;
    pto_step_t step = {.kind = (pto_step_kind_t)ONE_OF(PTO_STEP_COPY, PTO_STEP_COPY, PTO_STEP_COPY,
                                                       PTO_STEP_REDUCE, PTO_STEP_SIGNAL, PTO_STEP_WAIT),
                       .group = group,
                       .who_stride = pto_constant(1),
                       .who_until = pto_constant(size),
                       .flag = flag};
    step.core_count = one_in(3) ? 1 : request->layout.procs_per_gpu;
    if (one_in(6))
        step.who_first = pto_constant(below(2)), step.who_until = pto_constant(below(size + 1));
    step.fresh = step.kind == PTO_STEP_REDUCE && one_in(2);
    if (!pto_step_is_local(&step) || one_in(2))
        step.peers = some_peers(size);
    step.source = some_slice(builder, buffers);
    step.target = some_slice(builder, buffers);
    if (one_in(3)) { /* of as many bytes, maybe in rounds */
        int other = step.target.buffer;
        step.target = step.source;
        step.target.buffer = one_in(2) ? other : step.source.buffer;
        step.target.offset = some_number(3);
    }
    if (one_in(4)) { /* rounds of another cut */
        step.target = some_slice(builder, buffers);
        step.source.anchor = step.target.anchor = PTO_ANCHOR_ABSOLUTE;
        if (one_in(2))
            step.source = pto_slice_all(builder, step.source.buffer);
    }
    for (int i = 0; i < 2 && one_in(3); i++)
        (i ? &step.source : &step.target)->holder =
            step.peers.kind != PTO_PEERS_NONE ? PTO_HOLDER_PEER : PTO_HOLDER_OWNER;
    return step;
}

/* A send and a receive that may match: opposite peers. */
static inline void build_message(pto_builder_t *builder, pto_step_t step, int buffers) {
    step.source.holder = step.target.holder = PTO_HOLDER_SELF;
    if (step.peers.kind == PTO_PEERS_NONE)
        step.peers = some_peers(pto_builder_group(builder, step.group)->size);
    step.kind = PTO_STEP_SEND;
    pto_build_step(builder, step);
    step.kind = PTO_STEP_RECV;
    if (one_in(4))
        step.target = some_slice(builder, buffers);
    if (step.peers.kind == PTO_PEERS_SHIFT || step.peers.kind == PTO_PEERS_TORUS)
        step.peers.sign = -step.peers.sign, step.peers.node_shift = -step.peers.node_shift;
    pto_build_step(builder, step);
}

static inline void build_some_stage(pto_builder_t *builder, int groups, int buffers, int flag) {
    bool at_once = one_in(2);
    pto_build_stage(builder, "some stage", at_once ? PTO_ORDER_AT_ONCE : PTO_ORDER_SEQUENCE);
    for (int64_t i = 1 + below(2); i > 0; i--) {
        pto_step_t step = some_step(builder, groups, buffers, flag);
        if (at_once && one_in(2))
            build_message(builder, step, buffers);
        else
            pto_build_step(builder, step);
    }
}

static inline pto_buffer_t some_buffer(const pto_request_t *request, pto_role_t role) {
    int64_t owners = pto_layout_owner_count(&request->layout);
    bool is_user = role != PTO_ROLE_TEMPORARY;
    pto_buffer_t buffer = {.name = is_user ? "user's" : "temporary",
                           .role = role,
                           .space = PTO_SPACE_GPU,
                           .core_count =
                               is_user ? request->layout.owners_per_gpu : request->layout.procs_per_gpu,
                           .group = is_user ? PTO_GROUP_OWNERS : (pto_group_kind_t)below(PTO_GROUP_COUNT),
                           .block_count = is_user ? 1 : some_count(request, owners),
                           .block_bytes = request->bytes,
                           .granularity_bytes = 1};
    if (is_user)
        buffer.block_count = role == PTO_ROLE_IN ? pto_collective_blocks_in(request->collective, owners)
                                                 : pto_collective_blocks_out(request->collective, owners);
    if (is_user)
        return buffer;
    if (one_in(4))
        buffer.block_bytes *= ONE_OF(2, 3, 4);
    if (one_in(20))
        buffer.held_stride = 2, buffer.held_first = below(2);
    if (one_in(20))
        buffer.cyclic = (pto_cyclic_t)below(PTO_CYCLIC_COUNT), buffer.cyclic_count = 1 + below(2);
    if (one_in(20))
        buffer.split = 1 + below(2);
    if (one_in(20))
        buffer.blocks = PTO_BLOCKS_SHARE;
    if (one_in(20))
        buffer.chunks = 2, buffer.slots = 1 + below(2);
    if (buffer.block_count < 1)
        buffer.block_count = 1;
    return buffer;
}

static inline void build_at_random(pto_builder_t *builder, const pto_request_t *request) {
    int buffers = 0, groups = 1 + (int)below(2), flag = pto_build_flag(builder, "flag");
    pto_build_buffer(builder, some_buffer(request, PTO_ROLE_IN)), buffers++;
    pto_build_buffer(builder, some_buffer(request, PTO_ROLE_OUT)), buffers++;
    for (int64_t more = below(3); more > 0; more--)
        pto_build_buffer(builder, some_buffer(request, PTO_ROLE_TEMPORARY)), buffers++;
    for (int group = 0; group < groups; group++)
        pto_build_group(builder, (pto_group_kind_t)below(PTO_GROUP_COUNT), one_in(15));
    bool loops = one_in(3), chunks = !loops && one_in(4);
    if (loops)
        pto_build_loop(builder, below(2), 1 + below(3), false);
    if (chunks)
        pto_build_chunks(builder, 2, 1 + below(2));
    for (int64_t stages = 1 + below(3); stages > 0; stages--)
        build_some_stage(builder, groups, buffers, flag);
    if (loops || chunks)
        pto_build_end(builder);
}

static inline pto_layout_t some_layout(void) {
    pto_layout_t layout = {
        .nodes = 2 + below(3), .gpus_per_node = 1 + below(3), .procs_per_gpu = 1 + below(3)};
    layout.owners_per_gpu = one_in(2) ? 1 : layout.procs_per_gpu;
    layout.gpus_per_socket = layout.gpus_per_node;
    return layout;
}

/* Of those whose nodes may all do the same. */
static inline pto_collective_t some_collective(void) {
    return (pto_collective_t)ONE_OF(
        PTO_COLLECTIVE_ALLTOALL, PTO_COLLECTIVE_ALLTOALL, PTO_COLLECTIVE_ALLGATHER, PTO_COLLECTIVE_ALLTOALLV,
        PTO_COLLECTIVE_ALLGATHERV, PTO_COLLECTIVE_REDUCE_SCATTER, PTO_COLLECTIVE_ALLREDUCE);
}

/* --- registered plans, changed in a few places ---------------------------------------------------------- */

static inline int64_t some_change(int64_t value) {
    return one_in(3) ? ONE_OF(0, 1, 2, 3, 4) : value + ONE_OF(1, -1, 1, -1, 2, -2, 3);
}

static inline void change_number(pto_expr_t *expr) {
    int64_t *const part[] = {&expr->constant, &expr->constant, &expr->constant, &expr->loop,
                             &expr->power,    &expr->core,     &expr->peer,     &expr->inverse};
    int64_t *value = part[below(8)];
    *value = some_change(*value);
}

static inline void change_slice(pto_slice_t *slice, int buffers) {
    pto_expr_t *const number[] = {&slice->offset, &slice->align,  &slice->first,
                                  &slice->run,    &slice->stride, &slice->until};
    int64_t *const value[] = {&slice->anchor_step, &slice->bundle,        &slice->fold,       &slice->parts,
                              &slice->repeat,      &slice->repeat_stride, &slice->share_count};
    switch (below(9)) {
    case 0:
        slice->buffer = (int)below(buffers);
        break;
    case 1:
    case 2:
        slice->anchor = (pto_anchor_t)below(PTO_ANCHOR_COUNT);
        break;
    case 3:
        slice->holder = (pto_holder_t)below(PTO_HOLDER_COUNT);
        break;
    case 4:
        slice->reversed = !slice->reversed;
        break;
    case 5:
        slice->share = (pto_share_t)below(PTO_SHARE_KIND_COUNT);
        break;
    case 6: {
        int64_t *which = value[below(7)];
        *which = some_change(*which);
        break;
    }
    default:
        change_number(number[below(6)]);
    }
}

static inline void change_step(pto_plan_t *plan) {
    pto_step_t *step = (pto_step_t *)plan->steps.item + below(plan->steps.count);
    pto_expr_t *const number[] = {&step->who_first,   &step->who_stride,   &step->who_until,
                                  &step->peers.first, &step->peers.stride, &step->peers.until};
    switch (below(10)) {
    case 0:
        step->group = (int)below(plan->groups.count);
        break;
    case 1:
        step->peers.kind = (pto_peers_kind_t)below(PTO_PEERS_CART);
        break;
    case 2:
        step->peers.sign = -step->peers.sign;
        break;
    case 3:
        step->peers.node_shift = some_change(step->peers.node_shift);
        break;
    case 4:
        change_number(number[below(6)]);
        break;
    case 5:
        step->core_count = one_in(4) ? 0 : some_change(step->core_count);
        break;
    case 6:
    case 7:
        change_slice(&step->source, plan->buffers.count);
        break;
    default:
        change_slice(&step->target, plan->buffers.count);
    }
}

static inline void change_buffer(pto_plan_t *plan) {
    pto_buffer_t *buffer = (pto_buffer_t *)plan->buffers.item + below(plan->buffers.count);
    switch (below(6)) {
    case 0:
        buffer->group = (pto_group_kind_t)below(PTO_GROUP_COUNT);
        break;
    case 1:
        buffer->held_stride = 1 + below(3);
        buffer->held_first = below(2);
        break;
    case 2:
        buffer->block_count = 1 + below(2 * buffer->block_count + 1);
        break;
    case 3:
        buffer->cyclic = (pto_cyclic_t)below(PTO_CYCLIC_COUNT);
        buffer->cyclic_count = 1 + below(3);
        break;
    case 4:
        buffer->split = below(4);
        break;
    default:
        buffer->blocks = one_in(2) ? PTO_BLOCKS_EQUAL : PTO_BLOCKS_SHARE;
    }
}

/* Of the plan's own lists; names and sizes of lists stay. */
static inline void change(pto_plan_t *plan) {
    pto_group_t *group = (pto_group_t *)plan->groups.item + below(plan->groups.count);
    if (plan->calls.count > 0 && one_in(5)) {
        pto_call_slices_t *call = (pto_call_slices_t *)plan->calls.item + below(plan->calls.count);
        change_slice(one_in(2) ? &call->in : &call->out, plan->buffers.count);
    } else if (one_in(12)) {
        change_buffer(plan);
    } else if (one_in(20)) {
        *group = pto_group_shape(&plan->request.layout, (pto_group_kind_t)below(PTO_GROUP_COUNT));
    } else {
        change_step(plan);
    }
}

#endif
