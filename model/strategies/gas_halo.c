/* gas_halo: a halo exchange in one kernel on each GPU (gas.h). Every GPU stores its borders, sides and
 * corners at once, directly into the halos of its neighbors, which first signal that their halos may be
 * written.
 *
 * Corners do not take two hops as they do with messages: a diagonal store only costs its bytes, while a
 * second phase would cost two flags. */
#include "gas.h"

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user(builder, request);
    pto_step_t store = pto_step_of(PTO_STEP_COPY, &members);
    store.peers = pto_peers_grid();
    store.source = pto_slice_cells(builder, members.out, PTO_CELLS_BORDER);
    store.target = pto_slice_of_peer(pto_slice_cells(builder, members.out, PTO_CELLS_HALO));
    pto_build_kernel(builder, &members);
    pto_flag_among(builder, "ready", &members, pto_peers_grid());
    pto_build_stage(builder, "store to neighbors", PTO_ORDER_SEQUENCE);
    pto_build_own_cells(builder, store);
    pto_build_step(builder, store);
    pto_flag_among(builder, "stored", &members, pto_peers_grid());
    pto_build_end(builder);
}

const pto_strategy_t pto_strategy_gas_halo = {
    .name = "gas_halo",
    .summary = "one kernel a GPU: each stores its borders in the halos of its neighbors",
    .collectives = 1u << PTO_COLLECTIVE_HALO,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_gas_applicable,
    .build = build,
};
