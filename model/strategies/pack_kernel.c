/* pack_kernel: a halo exchange in which a kernel packs non-contiguous borders into contiguous GPU memory.
 * They are sent from there, and another kernel unpacks them (as for derived types in MVAPICH2: Wang et al.
 * 2011; TEMPI: Pearson et al. 2021). Processes that are their own neighbors copy in the first kernel. */
#include "plan/sides.h"
#include "staging.h"

typedef struct {
    pto_exchange_t members; /* out, in: the packed borders and halos of all phases, one after another */
    int field;              /* the user's buffer */
    int count;              /* entries of `side` */
    pto_side_t side[PTO_SHIFTS_MAX];
    bool own;   /* any side is `own`: a process is its own neighbor */
    bool packs; /* any side packs */
} phase_t;

/* Finds the sides of phase `number`. Adds their packed cells to `*packed_cells`, the total of all phases. */
static void find_sides(pto_builder_t *builder, int number, phase_t *phase, int64_t *packed_cells) {
    const pto_halo_t *grid = &pto_builder_request(builder)->halo;
    int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX];
    phase->count = pto_halo_shifts(grid, number, shift);
    phase->own = phase->packs = false;
    for (int i = 0; i < phase->count; i++) {
        pto_side_t side = pto_side_towards(builder, phase->field, shift[i], 1, pto_constant(0));
        int64_t cells = pto_halo_units(grid, shift[i], 1).last_cells;
        side.packs = !side.own && cells > side.border.run.constant; /* not contiguous */
        side.packed_out = pto_side_packed(phase->members.out, pto_constant(*packed_cells), cells);
        side.packed_in = pto_side_packed(phase->members.in, pto_constant(*packed_cells), cells);
        *packed_cells += side.packs ? cells : 0;
        phase->own = phase->own || side.own;
        phase->packs = phase->packs || side.packs;
        phase->side[i] = side;
    }
}

static void build_phase(pto_builder_t *builder, const phase_t *phase) {
    if (phase->own || phase->packs) {
        pto_build_kernel(builder, &phase->members);
        pto_build_stage(builder, "pack", PTO_ORDER_SEQUENCE);
        pto_sides_pack(builder, &phase->members, phase->side, phase->count);
        pto_build_end(builder);
    }
    pto_sides_exchange(builder, &phase->members, "messages", phase->side, phase->count);
    if (!phase->packs)
        return;
    pto_build_kernel(builder, &phase->members);
    pto_build_stage(builder, "unpack", PTO_ORDER_SEQUENCE);
    pto_sides_unpack(builder, &phase->members, phase->side, phase->count);
    pto_build_end(builder);
}

/* Returns an upper bound of the packed cells: all halo cells, with corners counted once for each dimension.
 */
static int64_t packed_cells_max(const pto_halo_t *halo) {
    int64_t cells = 0;
    for (int d = 0; d < halo->dim_count; d++)
        cells += pto_halo_cells(halo) / (halo->extent[d] + 2 * halo->width) * 2 * halo->width;
    return cells;
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request);
    pto_buffer_t buffer = pto_temporary_like(builder, user.out, "packed out");
    phase_t phase = {.field = user.out, .members = user};
    int64_t packed_cells = 0;
    buffer.block_count = packed_cells_max(&request->halo);
    phase.members.out = pto_build_buffer(builder, buffer);
    buffer.name = "packed in";
    phase.members.in = pto_build_buffer(builder, buffer);
    for (int number = 0; number < pto_halo_phases(&request->halo); number++) {
        find_sides(builder, number, &phase, &packed_cells);
        build_phase(builder, &phase);
    }
}

const pto_strategy_t pto_strategy_pack_kernel = {
    .name = "pack_kernel",
    .summary = "kernels pack borders into contiguous GPU memory and unpack halos from it",
    .collectives = 1u << PTO_COLLECTIVE_HALO,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .build = build,
};
