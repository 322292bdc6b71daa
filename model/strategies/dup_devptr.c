/* dup_devptr: every process of a GPU copies its own share from the owner's device memory through a shared
 * device pointer. The k-th processes of all GPUs run the collective on their shares, and each copies its
 * share back (Bienz et al., arXiv:2010.10378, section IV and option 4 of section VI). The owner signals that
 * its input may be read, and finishes once all have signalled that its output is written.
 *
 * In a halo exchange, the processes divide the cells of each border among themselves. If the exchange has
 * several phases, each phase does all of this, because one process sends corners that another one has
 * received. */
#include "plan/sides.h"
#include "staging.h"

typedef struct {
    pto_exchange_t members;        /* in, out: a process's units of borders and of halos, one after another */
    int field;                     /* the user's buffer */
    int gpu;                       /* the group of one GPU's processes */
    int count;                     /* entries of `side` */
    int begin[PTO_SHIFTS_MAX + 1]; /* index in `side` of each border's first entry; then `count` */
    pto_side_t side[2 * PTO_SHIFTS_MAX];
} phase_t;

/* Adds a border, of which each process moves one unit (pto_halo_units). All units of equal size are one entry
 * of `side`. The last unit has an entry of its own if it is smaller. The units are packed from cell
 * `first_cell` on. */
static void share_border(pto_builder_t *builder, phase_t *phase, const int *shift, int64_t first_cell) {
    const pto_request_t *request = pto_builder_request(builder);
    int64_t parts = request->layout.procs_per_gpu;
    pto_units_t units = pto_halo_units(&request->halo, shift, parts);
    int64_t equal_count = units.last_cells == units.cells ? units.count : units.count - 1;
    for (int last = 0; last < 2; last++) {
        pto_expr_t unit = last ? pto_constant(units.count - 1) : (pto_expr_t){.core = 1};
        int64_t cells = last ? units.last_cells : units.cells;
        int64_t core_count = last ? units.count - equal_count : equal_count;
        if (core_count == 0)
            continue;
        pto_side_t side = pto_side_towards(builder, phase->field, shift, parts, unit);
        side.core_first = last ? units.count - 1 : 0;
        side.core_count = core_count;
        side.border.holder = side.halo.holder = PTO_HOLDER_OWNER;
        side.packs = !side.own;
        side.packed_out = pto_side_packed(phase->members.in, pto_constant(first_cell), cells);
        side.packed_in = pto_side_packed(phase->members.out, pto_constant(first_cell), cells);
        phase->side[phase->count++] = side;
    }
}

typedef void (*copy_sides_t)(pto_builder_t *, const pto_exchange_t *, const pto_side_t *, int);

/* One stage for each border, because the copies of one stage are priced as concurrent. */
static void build_copies(pto_builder_t *builder, const phase_t *phase, int borders, const char *name,
                         copy_sides_t copy) {
    for (int i = 0; i < borders; i++) {
        const pto_side_t *first = &phase->side[phase->begin[i]];
        if (!first->packs && copy == pto_sides_unpack)
            continue;
        pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
        copy(builder, &phase->members, first, phase->begin[i + 1] - phase->begin[i]);
    }
}

static void build_phase(pto_builder_t *builder, phase_t *phase, int number) {
    const pto_request_t *request = pto_builder_request(builder);
    int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX];
    int borders = pto_halo_shifts(&request->halo, number, shift);
    int64_t cells = 0;
    phase->count = 0;
    for (int i = 0; i < borders; i++) {
        phase->begin[i] = phase->count;
        share_border(builder, phase, shift[i], cells);
        cells += pto_halo_units(&request->halo, shift[i], request->layout.procs_per_gpu).cells;
    }
    phase->begin[borders] = phase->count;
    pto_route_signal(builder, phase->gpu, "borders ready", false);
    build_copies(builder, phase, borders, "copy shares to host", pto_sides_pack);
    pto_sides_exchange(builder, &phase->members, "messages", phase->side, phase->count);
    build_copies(builder, phase, borders, "copy shares to device", pto_sides_unpack);
    pto_route_signal(builder, phase->gpu, "halos written", true);
}

/* The maximum number of cells that one process has in a phase. */
static int64_t max_cells(const pto_request_t *request) {
    int64_t max = 0;
    for (int number = 0; number < pto_halo_phases(&request->halo); number++) {
        int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX];
        int64_t cells = 0;
        for (int i = pto_halo_shifts(&request->halo, number, shift) - 1; i >= 0; i--)
            cells += pto_halo_units(&request->halo, shift[i], request->layout.procs_per_gpu).cells;
        max = cells > max ? cells : max;
    }
    return max;
}

static void build_halo(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request);
    pto_buffer_t buffer = pto_temporary_like(builder, user.out, "share");
    int cores = pto_build_group(builder, PTO_GROUP_CORES, 0);
    phase_t phase = {.field = user.out,
                     .gpu = pto_build_group(builder, PTO_GROUP_GPU, 0),
                     .members = {.group = cores,
                                 .n = pto_builder_group(builder, cores)->size,
                                 .core_count = request->layout.procs_per_gpu}};
    buffer.space = PTO_SPACE_CPU;
    buffer.group = PTO_GROUP_CORES;
    buffer.core_count = request->layout.procs_per_gpu;
    buffer.block_count = max_cells(request);
    phase.members.in = pto_build_buffer(builder, buffer);
    buffer.name = "share out";
    phase.members.out = pto_build_buffer(builder, buffer);
    for (int number = 0; number < pto_halo_phases(&request->halo); number++)
        build_phase(builder, &phase, number);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    if (request->collective == PTO_COLLECTIVE_HALO) {
        build_halo(builder, request);
        return;
    }
    pto_exchange_t user = pto_route_user(builder, request);
    pto_shares_t shares = pto_route_shares(builder, request, &user);
    pto_slice_t in = pto_route_owners_share(builder, &shares, user.in, shares.members.in);
    pto_slice_t out = pto_route_owners_share(builder, &shares, user.out, shares.members.out);
    pto_route_signal(builder, shares.gpu, "input ready", false);
    pto_route_chunks(builder, shares.chunks);
    pto_build_copy(builder, "copy shares to host", &shares.members, in,
                   pto_route_share(builder, &shares, shares.members.in));
    pto_build_exchange(builder, request, &shares.members);
    pto_build_copy(builder, "copy shares to device", &shares.members,
                   pto_route_share(builder, &shares, shares.members.out), out);
    pto_route_end_chunks(builder, shares.chunks);
    pto_route_signal(builder, shares.gpu, "output written", true);
}

const pto_strategy_t pto_strategy_dup_devptr = {
    .name = "dup_devptr",
    .summary = "every process of a GPU copies its own share through a shared device pointer",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE |
                   1u << PTO_COLLECTIVE_MESSAGES | 1u << PTO_COLLECTIVE_HALO |
                   1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .splits = true,
    .chunked = true,
    .joins = true,
    .collective_space = PTO_SPACE_CPU,
    .build = build,
};
