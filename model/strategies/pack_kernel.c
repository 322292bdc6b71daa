/* pack_kernel: halo exchange in which a kernel packs the borders that are not contiguous into contiguous GPU
 * memory, from where they are sent, and another one unpacks them (as for derived types in MVAPICH2: Wang et
 * al. 2011; TEMPI: Pearson et al. 2021). Processes that are their own neighbors copy in the first kernel. */
#include "staging.h"

/* The border towards a neighbor, and the halo that comes from the opposite one. */
typedef struct {
    pto_peers_t to;
    pto_peers_t from;
    pto_slice_t border;
    pto_slice_t halo;
    bool own;
    bool packs;
    pto_slice_t packed_out;
    pto_slice_t packed_in;
} side_t;

typedef struct {
    pto_exchange_t who; /* in, out: the packed borders of all phases, one after another */
    int field;
    int count; /* of the phase's sides */
    side_t side[PTO_SHIFTS_MAX];
    bool own; /* any of them */
    bool packs;
} phase_t;

static pto_slice_t packed(int buffer, int64_t first, int64_t cells) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.offset = pto_constant(first);
    slice.run = slice.stride = slice.until = pto_constant(cells);
    return slice;
}

static int64_t cells_of(const pto_slice_t *slice) {
    int64_t rows = (slice->until.constant - 1) / slice->stride.constant + 1;
    return rows * slice->run.constant * (slice->repeat > 1 ? slice->repeat : 1);
}

/* `*packed_cells`: of the phases before, and then of this one too. */
static void find_sides(pto_builder_t *builder, int number, phase_t *phase, int64_t *packed_cells) {
    int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX];
    phase->count = pto_halo_shifts(&pto_builder_request(builder)->halo, number, shift);
    phase->own = phase->packs = false;
    for (int i = 0; i < phase->count; i++) {
        int opposite[PTO_DIMS_MAX] = {-shift[i][0], -shift[i][1], -shift[i][2]};
        side_t side = {.to = pto_peers_cart(builder, shift[i]),
                       .from = pto_peers_cart(builder, opposite),
                       .border = pto_slice_border(builder, phase->field, shift[i]),
                       .halo = pto_slice_halo(builder, phase->field, opposite)};
        int64_t cells = cells_of(&side.border);
        side.own = side.to.kind == PTO_PEERS_NONE;
        side.packs = !side.own && cells > side.border.run.constant;
        side.packed_out = side.packs ? packed(phase->who.out, *packed_cells, cells) : side.border;
        side.packed_in = side.packs ? packed(phase->who.in, *packed_cells, cells) : side.halo;
        *packed_cells += side.packs ? cells : 0;
        phase->own = phase->own || side.own;
        phase->packs = phase->packs || side.packs;
        phase->side[i] = side;
    }
}

static void add_step(pto_builder_t *builder, const phase_t *phase, pto_step_kind_t kind, pto_peers_t peers,
                     pto_slice_t source, pto_slice_t target) {
    pto_step_t step = pto_step_of(kind, &phase->who);
    step.peers = peers;
    if (kind != PTO_STEP_RECV)
        step.source = source;
    if (kind != PTO_STEP_SEND)
        step.target = target;
    pto_build_step(builder, step);
}

static void build_phase(pto_builder_t *builder, const phase_t *phase) {
    const side_t *end = phase->side + phase->count;
    bool messages = false;
    if (phase->own || phase->packs) {
        pto_build_kernel(builder, &phase->who);
        pto_build_stage(builder, "pack", PTO_ORDER_SEQUENCE);
        for (const side_t *side = phase->side; side < end; side++)
            if (side->own || side->packs)
                add_step(builder, phase, PTO_STEP_COPY, side->to, side->border,
                         side->own ? side->halo : side->packed_out);
        pto_build_end(builder);
    }
    for (const side_t *side = phase->side; side < end; side++)
        messages = messages || !side->own;
    if (messages)
        pto_build_stage(builder, "messages", PTO_ORDER_AT_ONCE);
    for (const side_t *side = phase->side; side < end; side++)
        if (!side->own)
            add_step(builder, phase, PTO_STEP_SEND, side->to, side->packed_out, side->packed_in);
    for (const side_t *side = phase->side; side < end; side++)
        if (!side->own)
            add_step(builder, phase, PTO_STEP_RECV, side->from, side->packed_out, side->packed_in);
    if (!phase->packs)
        return;
    pto_build_kernel(builder, &phase->who);
    pto_build_stage(builder, "unpack", PTO_ORDER_SEQUENCE);
    for (const side_t *side = phase->side; side < end; side++)
        if (side->packs)
            add_step(builder, phase, PTO_STEP_COPY, side->from, side->packed_in, side->halo);
    pto_build_end(builder);
}

/* Room for all borders: at most the halo's cells, and corners once for each dimension. */
static int64_t room(const pto_halo_t *halo) {
    int64_t cells = 0;
    for (int d = 0; d < halo->dim_count; d++)
        cells += pto_halo_cells(halo) / (halo->extent[d] + 2 * halo->width) * 2 * halo->width;
    return cells;
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    pto_buffer_t buffer = *pto_builder_buffer(builder, user.out);
    phase_t phase = {.field = user.out,
                     .who = {.group = user.owners,
                             .n = pto_layout_owner_count(&request->layout),
                             .core_count = request->layout.owners_per_gpu}};
    int64_t packed_cells = 0;
    buffer.role = PTO_ROLE_TEMPORARY;
    buffer.block_count = room(&request->halo);
    buffer.name = "packed out";
    phase.who.out = pto_build_buffer(builder, buffer);
    buffer.name = "packed in";
    phase.who.in = pto_build_buffer(builder, buffer);
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
