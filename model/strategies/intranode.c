/* Building blocks for processes of one node that share memory (intranode.h). */
#include "intranode.h"

pto_buffer_t pto_intranode_shape(const pto_builder_t *builder, const pto_exchange_t *members, int like,
                                 const char *name, int64_t blocks, int64_t stride) {
    pto_buffer_t buffer = pto_temporary_like(builder, like, name);
    buffer.core_first = members->core_first;
    buffer.core_count = members->core_count;
    buffer.group = pto_builder_group(builder, members->group)->kind;
    buffer.held_stride = stride;
    if (buffer.blocks == PTO_BLOCKS_ROW && blocks != buffer.block_count)
        buffer.blocks = PTO_BLOCKS_MEMBERS; /* of an allgatherv: the contributions of several members */
    buffer.block_count = blocks;
    return buffer;
}

int pto_intranode_buffer(pto_builder_t *builder, const pto_exchange_t *members, int like, const char *name,
                         int64_t blocks, int64_t stride) {
    return pto_build_buffer(builder, pto_intranode_shape(builder, members, like, name, blocks, stride));
}

int pto_intranode_host_buffer(pto_builder_t *builder, const pto_exchange_t *members, int like,
                              const char *name, int64_t blocks) {
    pto_buffer_t host = pto_intranode_shape(builder, members, like, name, blocks, members->n);
    host.space = PTO_SPACE_CPU;
    return pto_build_buffer(builder, host);
}

pto_step_t pto_intranode_root_alone(pto_step_kind_t kind, const pto_exchange_t *members) {
    pto_step_t step = pto_step_of_root(kind, members);
    step.peers.kind = PTO_PEERS_NONE;
    return step;
}

void pto_intranode_copy_in(pto_builder_t *builder, const pto_exchange_t *members, pto_slice_t source,
                           pto_slice_t target) {
    pto_build_local(builder, "gather", pto_intranode_root_alone(PTO_STEP_COPY, members), source, target);
    if (members->n > 1)
        pto_build_move(builder, pto_step_of_others(PTO_STEP_COPY, members), source,
                       pto_slice_of_peer(target));
}

void pto_intranode_copy_out(pto_builder_t *builder, const pto_exchange_t *members, pto_slice_t source,
                            pto_slice_t target) {
    pto_build_local(builder, "copy out", pto_intranode_root_alone(PTO_STEP_COPY, members), source, target);
    if (members->n > 1)
        pto_build_move(builder, pto_step_of_others(PTO_STEP_COPY, members), pto_slice_of_peer(source),
                       target);
}

void pto_intranode_build(pto_builder_t *builder, const pto_request_t *request,
                         const pto_intranode_t *inside) {
    pto_exchange_t members = pto_route_user(builder, request);
    if (request->collective == PTO_COLLECTIVE_REDUCE) {
        inside->reduce(builder, &members, members.in, members.out, PTO_RUN_LOOSE);
    } else if (pto_collective_is_from_root(request->collective)) {
        inside->broadcast(builder, &members, members.in, members.out, PTO_RUN_LOOSE);
    } else if (request->collective == PTO_COLLECTIVE_GATHER) {
        inside->gather(builder, &members, members.in, members.out);
    } else if (pto_collective_is_allgather(request->collective)) {
        inside->allgather(builder, &members, members.in, members.out);
    } else {
        int reduced = inside->reduce(builder, &members, members.in, -1, PTO_RUN_ORDERED);
        inside->broadcast(builder, &members, reduced, members.out, PTO_RUN_ORDERED);
    }
}

pto_status_t pto_intranode_applicable(const pto_request_t *request, pto_error_t *err) {
    const pto_layout_t *layout = &request->layout;
    if (layout->nodes > 1)
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "%s shares GPU memory, which works only within a node, and the layout has %lld nodes",
            request->strategy->name, (long long)layout->nodes);
    if (pto_layout_owner_count(layout) == 1)
        return pto_route_refuse(request, "needs several processes that hold data, and there is only one",
                                err);
    return PTO_OK;
}
