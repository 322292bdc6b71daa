/* Builds the steps of halo exchanges, one side at a time (plan/sides.h). */
#include "plan/sides.h"

pto_side_t pto_side_towards(const pto_builder_t *builder, int field, const int shift[PTO_DIMS_MAX],
                            int64_t parts, pto_expr_t unit) {
    int opposite[PTO_DIMS_MAX] = {-shift[0], -shift[1], -shift[2]};
    pto_side_t side = {.core_count = pto_builder_request(builder)->layout.owners_per_gpu,
                       .to = pto_peers_cart(builder, shift),
                       .from = pto_peers_cart(builder, opposite),
                       .border = pto_slice_border_unit(builder, field, shift, parts, unit),
                       .halo = pto_slice_halo_unit(builder, field, opposite, parts, unit)};
    side.own = side.to.kind == PTO_PEERS_NONE;
    return side;
}

pto_slice_t pto_side_packed(int buffer, pto_expr_t first, int64_t cells) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.offset = first;
    slice.run = slice.stride = slice.until = pto_constant(cells);
    return slice;
}

static void add_step(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side,
                     pto_step_kind_t kind, pto_peers_t peers, pto_slice_t source, pto_slice_t target) {
    pto_step_t step = pto_step_of(kind, who);
    step.core_first = side->core_first;
    step.core_count = side->core_count;
    step.peers = peers;
    if (kind != PTO_STEP_RECV)
        step.source = source;
    if (kind != PTO_STEP_SEND)
        step.target = target;
    pto_build_step(builder, step);
}

void pto_sides_pack(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count) {
    for (const pto_side_t *end = side + count; side < end; side++)
        if (side->own || side->packs)
            add_step(builder, who, side, PTO_STEP_COPY, side->to, side->border,
                     side->own ? side->halo : side->packed_out);
}

void pto_sides_own(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count) {
    for (const pto_side_t *end = side + count; side < end; side++)
        if (side->own) {
            pto_build_stage(builder, "own border", PTO_ORDER_SEQUENCE);
            pto_sides_pack(builder, who, side, 1);
        }
}

void pto_sides_exchange(pto_builder_t *builder, const pto_exchange_t *who, const char *name,
                        const pto_side_t *side, int count) {
    const pto_side_t *end = side + count;
    bool messages = false;
    for (const pto_side_t *s = side; s < end; s++)
        messages = messages || !s->own;
    if (!messages)
        return;
    pto_build_messages(builder, who, name);
    for (const pto_side_t *s = side; s < end; s++)
        if (!s->own)
            add_step(builder, who, s, PTO_STEP_SEND, s->to, s->packs ? s->packed_out : s->border, s->halo);
    for (const pto_side_t *s = side; s < end; s++)
        if (!s->own)
            add_step(builder, who, s, PTO_STEP_RECV, s->from, s->border, s->packs ? s->packed_in : s->halo);
    pto_build_end_messages(builder);
}

void pto_sides_unpack(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count) {
    for (const pto_side_t *end = side + count; side < end; side++)
        if (side->packs)
            add_step(builder, who, side, PTO_STEP_COPY, side->from, side->packed_in, side->halo);
}
