/* gas_halo: a halo exchange in one kernel on each GPU, by the means of gas.h. Every GPU stores its borders,
 * rows and columns and corners at once, straight into the halos of its neighbors, which first signal that
 * their halos may be written.
 *
 * Corners do not take two hops as they do with messages: a diagonal store costs no more than its bytes, while
 * a second phase would cost two flags. */
#include "gas.h"

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = pto_route_user(builder, request);
    pto_step_t store = pto_step_of(PTO_STEP_COPY, &who);
    store.peers = pto_peers_grid();
    store.source = pto_slice_cells(builder, who.out, PTO_CELLS_BORDER);
    store.target = pto_slice_of_peer(pto_slice_cells(builder, who.out, PTO_CELLS_HALO));
    pto_build_kernel(builder, &who);
    pto_flag_among(builder, "ready", &who, pto_peers_grid());
    pto_build_stage(builder, "store to neighbors", PTO_ORDER_SEQUENCE);
    pto_build_own_cells(builder, store);
    pto_build_step(builder, store);
    pto_flag_among(builder, "stored", &who, pto_peers_grid());
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
