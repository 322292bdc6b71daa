/* Halo exchange by messages, in place: one dimension after another, so that corners arrive in two hops (as in
 * SHOC's Stencil2D), or all at once. In a dimension of size 2 that wraps, both neighbors are the same
 * process. Messages between two processes match in order, so sends are posted in the receives' order. */
#include "algorithms.h"
#include "plan/sides.h"

/* Processes that are their own neighbors copy their borders, one after another. */
static void build_phase(pto_builder_t *builder, const pto_exchange_t *exchange, int phase) {
    static const char *const name[] = {"messages", "messages, 2nd dimension", "messages, 3rd dimension"};
    int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX] = {{0}};
    int count = pto_halo_shifts(&pto_builder_request(builder)->halo, phase, shift);
    pto_side_t side[PTO_SHIFTS_MAX];
    for (int i = 0; i < count; i++)
        side[i] = pto_side_towards(builder, exchange->out, shift[i], 1, pto_constant(0));
    pto_sides_own(builder, exchange, side, count);
    pto_sides_exchange(builder, exchange, name[phase % PTO_DIMS_MAX], side, count);
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
