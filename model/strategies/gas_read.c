/* gas_read: every GPU loads the others' data directly (section 4 of the paper cited in gas.h, listing 4). It
 * takes two flags: no GPU may read before the data is ready, nor overwrite its data before all have read it.
 * All members reduce in member order, so all get the same bits, as `portolan check` proves. In a gather only
 * the root loads; in a scatter all load from the root. */
#include "gas.h"

static void build_reduction(pto_builder_t *builder, const pto_exchange_t *members, bool root_alone) {
    bool scatters = pto_builder_request(builder)->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    int gathered = pto_gas_gathered(builder, members, scatters ? members->out : members->in,
                                    (pto_gas_gathered_t){.stride = root_alone ? members->n : 1});
    pto_build_kernel(builder, members);
    pto_gas_flag(builder, "ready", members, root_alone ? PTO_GAS_OTHERS_TO_ROOT : PTO_GAS_ALL_TO_ALL);
    pto_step_t step = pto_gas_step(members, root_alone ? PTO_GAS_ROOT_TO_OTHERS : PTO_GAS_ALL_TO_ALL);
    const pto_slice_t own =
        scatters ? pto_slice_block(members->in, PTO_ANCHOR_ME) : pto_slice_all(builder, members->in);
    pto_gas_copy(builder, "load from all", members, step,
                 (pto_gas_move_t){pto_slice_of_peer(own), pto_slice_block(gathered, PTO_ANCHOR_PEER)},
                 (pto_gas_move_t){own, pto_slice_block(gathered, PTO_ANCHOR_ME)});
    pto_gas_flag(builder, "loaded", members, root_alone ? PTO_GAS_ROOT_TO_OTHERS : PTO_GAS_ALL_TO_ALL);
    pto_gas_reduce(builder, members, root_alone ? 1 : members->n, gathered,
                   pto_slice_all(builder, members->out));
    pto_build_end(builder);
}

static void build_blocks(pto_builder_t *builder, const pto_exchange_t *members) {
    pto_gas_direction_t direction = pto_gas_direction(pto_builder_request(builder)->collective);
    pto_build_kernel(builder, members);
    pto_gas_flag(builder, "ready", members, direction);
    pto_step_t step = pto_gas_step(members, pto_gas_opposite(direction)); /* the receivers act */
    const pto_slice_t own = pto_slice_block(members->in, PTO_ANCHOR_ME);
    pto_gas_copy(builder, "load from all", members, step,
                 (pto_gas_move_t){pto_slice_of_peer(own), pto_slice_block(members->out, PTO_ANCHOR_PEER)},
                 (pto_gas_move_t){own, pto_slice_block(members->out, PTO_ANCHOR_ME)});
    pto_gas_flag(builder, "loaded", members, pto_gas_opposite(direction));
    pto_build_end(builder);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user(builder, request);
    if (pto_collective_reduces(request->collective))
        build_reduction(builder, &members, request->collective == PTO_COLLECTIVE_REDUCE);
    else
        build_blocks(builder, &members);
}

const pto_strategy_t pto_strategy_gas_read = {
    .name = "gas_read",
    .summary = "one kernel a GPU: each loads the others' data directly",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS | PTO_ROOTED | 1u << PTO_COLLECTIVE_ALLREDUCE |
                   1u << PTO_COLLECTIVE_REDUCE | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_gas_applicable,
    .build = build,
};
