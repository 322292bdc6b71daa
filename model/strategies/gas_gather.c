/* gas_gather: every GPU stores its vector in the root's memory. The root reduces, and stores the result in
 * the output of all others (section 4 of the paper cited in gas.h, figure 3b).
 *
 * In an allreduce a GPU that stores has already received the root's result of the previous run, so the root's
 * buffer is free. In a reduce it receives nothing from the root, so the root signals first that the buffer is
 * free. */
#include "gas.h"

static void build_broadcast(pto_builder_t *builder, const pto_exchange_t *members, int out) {
    const pto_slice_t result = pto_slice_all(builder, out);
    pto_build_local(builder, "store to all", pto_step_of_root(PTO_STEP_COPY, members), result,
                    pto_slice_of_peer(result));
    pto_gas_flag(builder, "complete", members, PTO_GAS_ROOT_TO_OTHERS);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user(builder, request);
    int gathered = pto_gas_gathered(builder, &members, members.in, (pto_gas_gathered_t){.stride = members.n});
    pto_build_kernel(builder, &members);
    if (request->collective == PTO_COLLECTIVE_REDUCE)
        pto_gas_flag(builder, "free", &members, PTO_GAS_ROOT_TO_OTHERS);
    const pto_slice_t in = pto_slice_all(builder, members.in),
                      place = pto_slice_block(gathered, PTO_ANCHOR_ME);
    pto_gas_copy(builder, "store to root", &members, pto_step_of_others(PTO_STEP_COPY, &members),
                 (pto_gas_move_t){in, pto_slice_of_peer(place)}, (pto_gas_move_t){in, place});
    pto_gas_flag(builder, "stored", &members, PTO_GAS_OTHERS_TO_ROOT);
    pto_gas_reduce(builder, &members, 1, gathered, pto_slice_all(builder, members.out));
    if (request->collective == PTO_COLLECTIVE_ALLREDUCE)
        build_broadcast(builder, &members, members.out);
    pto_build_end(builder);
}

const pto_strategy_t pto_strategy_gas_gather = {
    .name = "gas_gather",
    .summary = "one kernel a GPU: all store to the root's memory, the root reduces and stores to all",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_gas_applicable,
    .build = build,
};
