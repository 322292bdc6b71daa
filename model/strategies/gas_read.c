/* gas_read: every GPU loads the others' data directly (section 4 of the paper cited in gas.h, listing 4). No
 * GPU may read before the data is ready, nor overwrite its data before all have read it: two flags. All
 * combine in member order, so all get the same bits, as `portolan check` proves. In a gather the root alone
 * loads, in a scatter all load from it. */
#include "gas.h"

static void build_reduction(pto_builder_t *builder, const pto_exchange_t *who, bool root_alone) {
    bool scatters = pto_builder_request(builder)->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    int gathered = pto_gas_gathered(builder, who, scatters ? who->out : who->in,
                                    (pto_gas_gathered_t){.stride = root_alone ? who->n : 1});
    pto_build_kernel(builder, who);
    pto_gas_flag(builder, "ready", who, root_alone ? PTO_GAS_OTHERS_TO_ROOT : PTO_GAS_ALL_TO_ALL);
    pto_step_t step = pto_gas_step(who, root_alone ? PTO_GAS_ROOT_TO_OTHERS : PTO_GAS_ALL_TO_ALL);
    const pto_slice_t own =
        scatters ? pto_slice_block(who->in, PTO_ANCHOR_ME) : pto_slice_all(builder, who->in);
    pto_gas_copy(builder, "load from all", who, step,
                 (pto_gas_move_t){pto_slice_of_peer(own), pto_slice_block(gathered, PTO_ANCHOR_PEER)},
                 (pto_gas_move_t){own, pto_slice_block(gathered, PTO_ANCHOR_ME)});
    pto_gas_flag(builder, "loaded", who, root_alone ? PTO_GAS_ROOT_TO_OTHERS : PTO_GAS_ALL_TO_ALL);
    pto_gas_reduce(builder, who, root_alone ? 1 : who->n, gathered, pto_slice_all(builder, who->out));
    pto_build_end(builder);
}

static void build_blocks(pto_builder_t *builder, const pto_exchange_t *who) {
    pto_gas_way_t way = pto_gas_way(pto_builder_request(builder)->collective);
    pto_build_kernel(builder, who);
    pto_gas_flag(builder, "ready", who, way);
    pto_step_t step = pto_gas_step(who, pto_gas_way_back(way)); /* receivers act: against the data's way */
    const pto_slice_t own = pto_slice_block(who->in, PTO_ANCHOR_ME);
    pto_gas_copy(builder, "load from all", who, step,
                 (pto_gas_move_t){pto_slice_of_peer(own), pto_slice_block(who->out, PTO_ANCHOR_PEER)},
                 (pto_gas_move_t){own, pto_slice_block(who->out, PTO_ANCHOR_ME)});
    pto_gas_flag(builder, "loaded", who, pto_gas_way_back(way));
    pto_build_end(builder);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = pto_route_user(builder, request);
    if (pto_collective_reduces(request->collective))
        build_reduction(builder, &who, request->collective == PTO_COLLECTIVE_REDUCE);
    else
        build_blocks(builder, &who);
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
