/* gas_split: every GPU stores a share of its vector to each other GPU, reduces its own share, and stores the
 * result to the GPUs that need it (section 4 of the paper cited in gas.h, "all-to-all/allgather"). It needs
 * two flags but moves each byte only once, so it suits large data. A reduce-scatter is the first half of it,
 * with blocks as shares and one flag. In an alltoall, allgather, gather or scatter, blocks are stored at
 * their final position after the receivers have signalled that it may be written.
 *
 * A GPU that has received the share of another one knows that the other has begun its run, so it may write
 * the other's output. In a reduce and a reduce-scatter, members do not learn when the others have finished
 * reducing. The buffer for the shares is therefore double-buffered, as in gas_allgather. */
#include "gas.h"

static void build_results(pto_builder_t *builder, const pto_exchange_t *members, pto_slice_t part,
                          bool root_alone) {
    const pto_gas_direction_t direction = root_alone ? PTO_GAS_OTHERS_TO_ROOT : PTO_GAS_ALL_TO_ALL;
    pto_build_local(builder, "store results", pto_gas_step(members, direction), part,
                    pto_slice_of_peer(part));
    pto_gas_flag(builder, "results stored", members, direction);
}

static void build_reduction(pto_builder_t *builder, const pto_request_t *request) {
    bool root_alone = request->collective == PTO_COLLECTIVE_REDUCE;
    pto_exchange_t members = pto_route_user_in_place(builder, request);
    bool scatters = request->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    bool double_buffered = root_alone || scatters;
    int gathered = pto_gas_shares(builder, &members, scatters, double_buffered);
    pto_build_kernel(builder, &members);
    pto_slice_t own_part = pto_gas_reduce_shares(builder, &members, scatters, gathered);
    if (!scatters)
        build_results(builder, &members, own_part, root_alone);
    pto_build_end(builder);
}

/* A slice's block index is modulo the buffer's block count. Every index therefore means the only block of a
 * gather's or allgather's input, and of a scatter's output. */
static void build_blocks(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user(builder, request);
    pto_gas_direction_t direction = pto_gas_direction(request->collective);
    pto_build_kernel(builder, &members);
    pto_gas_flag(builder, "ready", &members, pto_gas_opposite(direction));
    const pto_slice_t place = pto_slice_block(members.out, PTO_ANCHOR_ME);
    pto_gas_copy(builder, "store to all", &members, pto_gas_step(&members, direction),
                 (pto_gas_move_t){pto_slice_block(members.in, PTO_ANCHOR_PEER), pto_slice_of_peer(place)},
                 (pto_gas_move_t){pto_slice_block(members.in, PTO_ANCHOR_ME), place});
    pto_gas_flag(builder, "stored", &members, direction);
    pto_build_end(builder);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    if (pto_collective_reduces(request->collective))
        build_reduction(builder, request);
    else
        build_blocks(builder, request);
}

const pto_strategy_t pto_strategy_gas_split = {
    .name = "gas_split",
    .summary = "one kernel a GPU: each reduces a share of the vector and stores it to all",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS | PTO_ROOTED | 1u << PTO_COLLECTIVE_ALLREDUCE |
                   1u << PTO_COLLECTIVE_REDUCE | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .granularity_bytes = 16, /* bytes that a thread loads and stores at a time */
    .applicable = pto_gas_applicable,
    .build = build,
};
