/* Halo exchange by messages, in place: one dimension after another, so that corners arrive in two hops (as in
 * SHOC's Stencil2D), or all at once. A neighbor may be met twice, in a dimension of size 2 that wraps:
 * messages between two processes match in order, so each stage posts its sends in the order of their
 * receives. */
#include "algorithms.h"

static void add_step(pto_builder_t *builder, const pto_exchange_t *exchange, pto_step_kind_t kind,
                     const int *shift) {
    int opposite[PTO_DIMS_MAX] = {-shift[0], -shift[1], -shift[2]};
    pto_step_t step = pto_step_of(kind, exchange);
    if (kind != PTO_STEP_RECV)
        step.source = pto_slice_border(builder, exchange->in, shift);
    if (kind != PTO_STEP_SEND)
        step.target = pto_slice_halo(builder, exchange->out, opposite);
    step.peers = pto_peers_cart(builder, kind == PTO_STEP_RECV ? opposite : shift);
    pto_build_step(builder, step);
}

/* Processes that are their own neighbors copy their borders, one after another. */
static void build_phase(pto_builder_t *builder, const pto_exchange_t *exchange, int phase) {
    static const char *const name[] = {"messages", "messages, 2nd dimension", "messages, 3rd dimension"};
    int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX] = {{0}}, others = 0;
    int count = pto_halo_shifts(&pto_builder_request(builder)->halo, phase, shift);
    for (int i = 0; i < count; i++) {
        bool own = pto_peers_cart(builder, shift[i]).kind == PTO_PEERS_NONE;
        others += !own;
        if (!own)
            continue;
        pto_build_stage(builder, "own border", PTO_ORDER_SEQUENCE);
        add_step(builder, exchange, PTO_STEP_COPY, shift[i]);
    }
    if (others == 0)
        return;
    pto_build_messages(builder, exchange, name[phase % PTO_DIMS_MAX]);
    for (int i = 0; i < 2 * count; i++)
        if (pto_peers_cart(builder, shift[i % count]).kind != PTO_PEERS_NONE)
            add_step(builder, exchange, i < count ? PTO_STEP_SEND : PTO_STEP_RECV, shift[i % count]);
    pto_build_end_messages(builder);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    for (int phase = 0; phase < pto_halo_phases(&pto_builder_request(builder)->halo); phase++)
        build_phase(builder, exchange, phase);
}

const pto_algorithm_t pto_algorithm_neighbors = {
    .name = "neighbors",
    .summary = "messages between neighbors on a grid, dimension by dimension or all at once",
    .collectives = 1u << PTO_COLLECTIVE_HALO,
    .build = build,
};
