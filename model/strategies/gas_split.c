/* gas_split: every GPU stores a share of its vector to each other GPU, reduces its own share, and stores the
 * result where it is needed (section 4 of the paper cited in gas.h, "all-to-all/allgather"). It needs two
 * flags but moves each byte only once, so it suits large data. A reduce-scatter is the first half of it, with
 * blocks as shares and one flag. In an alltoall, allgather, gather or scatter blocks are stored at their
 * final position, once all receivers have signalled that they may be.
 *
 * A GPU that has received a share from another knows that the other has begun its run, so it may write the
 * other's output. In a reduce and a reduce-scatter the others do not signal that they have reduced, so the
 * buffer that receives the shares is double-buffered, as in gas_allgather. */
#include "gas.h"

static void build_results(pto_builder_t *builder, const pto_exchange_t *who, pto_slice_t part,
                          bool root_alone) {
    const pto_gas_way_t way = root_alone ? PTO_GAS_OTHERS_TO_ROOT : PTO_GAS_ALL_TO_ALL;
    pto_build_local(builder, "store results", pto_gas_step(who, way), part, pto_slice_of_peer(part));
    pto_gas_flag(builder, "results stored", who, way);
}

static void build_reduction(pto_builder_t *builder, const pto_request_t *request) {
    bool root_alone = request->collective == PTO_COLLECTIVE_REDUCE;
    pto_exchange_t who = pto_route_user_in_place(builder, request);
    bool scatters = request->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    int gathered = pto_gas_shares(builder, &who, scatters, root_alone || scatters);
    pto_build_kernel(builder, &who);
    pto_slice_t own_part = pto_gas_reduce_shares(builder, &who, scatters, gathered);
    if (!scatters)
        build_results(builder, &who, own_part, root_alone);
    pto_build_end(builder);
}

static void build_blocks(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = pto_route_user(builder, request);
    pto_gas_way_t way = pto_gas_way(request->collective);
    pto_build_kernel(builder, &who);
    pto_gas_flag(builder, "ready", &who, pto_gas_way_back(way));
    const pto_slice_t place = pto_slice_block(who.out, PTO_ANCHOR_ME);
    pto_gas_copy(builder, "store to all", &who, pto_gas_step(&who, way),
                 (pto_gas_move_t){pto_slice_block(who.in, PTO_ANCHOR_PEER), pto_slice_of_peer(place)},
                 (pto_gas_move_t){pto_slice_block(who.in, PTO_ANCHOR_ME), place});
    pto_gas_flag(builder, "stored", &who, way);
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
