/* Building blocks of the gas strategies, whose kernels use each other's memory (gas.h). */
#include "gas.h"

/* Two kernels on one GPU that wait for each other would be time-sliced, so each would poll in vain for a
 * whole time slice. */
pto_status_t pto_gas_applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.owners_per_gpu > 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s has kernels wait for each other, so a GPU can have one, and %lld processes "
                             "hold data on each (owners_per_gpu)",
                             request->strategy->name, (long long)request->layout.owners_per_gpu);
    return pto_intranode_applicable(request, err);
}

int pto_gas_gathered(pto_builder_t *builder, const pto_exchange_t *members, int like,
                     pto_gas_gathered_t how) {
    pto_buffer_t buffer = pto_intranode_shape(builder, members, like, "gathered", members->n, how.stride);
    if (how.blocks != PTO_BLOCKS_EQUAL)
        buffer.blocks = how.blocks;
    buffer.double_buffered = how.double_buffered;
    return pto_build_buffer(builder, buffer);
}

void pto_gas_flag(pto_builder_t *builder, const char *name, const pto_exchange_t *members,
                  pto_gas_direction_t direction) {
    if (direction == PTO_GAS_ALL_TO_ALL)
        pto_flag_barrier(builder, name, members);
    else if (direction == PTO_GAS_ROOT_TO_OTHERS)
        pto_flag_to_others(builder, name, members);
    else
        pto_flag_to_root(builder, name, members);
}

pto_gas_direction_t pto_gas_direction(pto_collective_t collective) {
    if (pto_collective_is_to_root(collective))
        return PTO_GAS_OTHERS_TO_ROOT;
    return pto_collective_is_from_root(collective) ? PTO_GAS_ROOT_TO_OTHERS : PTO_GAS_ALL_TO_ALL;
}

pto_gas_direction_t pto_gas_opposite(pto_gas_direction_t direction) {
    if (direction == PTO_GAS_ALL_TO_ALL)
        return direction;
    return direction == PTO_GAS_ROOT_TO_OTHERS ? PTO_GAS_OTHERS_TO_ROOT : PTO_GAS_ROOT_TO_OTHERS;
}

pto_step_t pto_gas_step(const pto_exchange_t *members, pto_gas_direction_t direction) {
    if (direction == PTO_GAS_ALL_TO_ALL)
        return pto_step_of_all(PTO_STEP_COPY, members);
    return direction == PTO_GAS_ROOT_TO_OTHERS ? pto_step_of_root(PTO_STEP_COPY, members)
                                               : pto_step_of_others(PTO_STEP_COPY, members);
}

void pto_gas_own_copy(pto_builder_t *builder, const pto_exchange_t *members, pto_slice_t source,
                      pto_slice_t target) {
    pto_step_t own = pto_step_of(PTO_STEP_COPY, members);
    if (pto_builder_buffer(builder, source.buffer)->held_stride > 1 ||
        pto_builder_buffer(builder, target.buffer)->held_stride > 1)
        own.who_until = pto_constant(1);
    pto_build_move(builder, own, source, target);
}

void pto_gas_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *members, pto_step_t step,
                  pto_gas_move_t move, pto_gas_move_t own) {
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    pto_gas_own_copy(builder, members, own.source, own.target);
    pto_build_move(builder, step, move.source, move.target);
}

void pto_gas_reduce(pto_builder_t *builder, const pto_exchange_t *members, int64_t until, int gathered,
                    pto_slice_t target) {
    pto_step_t step = pto_step_of(PTO_STEP_REDUCE, members);
    step.who_until = pto_constant(until);
    step.fresh = true;
    pto_build_local(builder, "reduce", step, pto_slice_all(builder, gathered), target);
}

int pto_gas_shares(pto_builder_t *builder, const pto_exchange_t *members, bool scatters,
                   bool double_buffered) {
    return pto_gas_gathered(builder, members, scatters ? members->out : members->in,
                            (pto_gas_gathered_t){.blocks = scatters ? PTO_BLOCKS_EQUAL : PTO_BLOCKS_SHARE,
                                                 .double_buffered = double_buffered});
}

pto_slice_t pto_gas_reduce_shares(pto_builder_t *builder, const pto_exchange_t *members, bool scatters,
                                  int gathered) {
    const int64_t parts = scatters ? 0 : members->n; /* of each block of the input */
    const pto_slice_t peers = pto_slice_part(members->in, parts, PTO_ANCHOR_PEER, pto_constant(0));
    const pto_slice_t place = pto_slice_block(gathered, PTO_ANCHOR_ME);
    pto_slice_t part = pto_slice_part(members->in, parts, PTO_ANCHOR_ME, pto_constant(0));
    pto_gas_copy(builder, "store shares", members, pto_step_of_all(PTO_STEP_COPY, members),
                 (pto_gas_move_t){peers, pto_slice_of_peer(place)}, (pto_gas_move_t){part, place});
    pto_gas_flag(builder, "shares stored", members, PTO_GAS_ALL_TO_ALL);
    part.buffer = members->out;
    pto_gas_reduce(builder, members, members->n, gathered, part);
    return part;
}
