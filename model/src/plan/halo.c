/* What a halo exchange asks of plans: its phases, and the slices of borders and halos. */
#include "plan/plan_internal.h"
#include "portolan/builder.h"

/* Whether anyone has such a neighbor, and whether everyone is its own. */
static bool has_neighbor(const pto_halo_t *grid, const int *shift) {
    bool any = false;
    for (int d = 0; d < grid->dim_count; d++) {
        if (shift[d] != 0 && grid->dims[d] == 1 && !grid->wrap[d])
            return false;
        any = any || shift[d] != 0;
    }
    return any;
}

static bool is_self(const pto_halo_t *grid, const int *shift) {
    for (int d = 0; d < grid->dim_count; d++)
        if (shift[d] != 0 && grid->dims[d] > 1)
            return false;
    return true;
}

int pto_halo_phases(const pto_halo_t *grid) {
    return grid->corners == PTO_CORNERS_TWO_PHASE ? grid->dim_count : 1;
}

int pto_halo_shifts(const pto_halo_t *grid, int phase, int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX]) {
    int count = 0;
    for (int number = 0; number < PTO_SHIFTS_MAX; number++) {
        int tried[PTO_DIMS_MAX] = {number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1}, moved = 0;
        bool in_phase = grid->corners != PTO_CORNERS_TWO_PHASE || tried[phase] != 0;
        for (int d = 0; d < PTO_DIMS_MAX; d++)
            moved += tried[d] != 0;
        if ((grid->dim_count < 3 && tried[2] != 0) || !in_phase || !has_neighbor(grid, tried) ||
            (moved > 1 && grid->corners != PTO_CORNERS_DIAGONAL))
            continue;
        for (int d = 0; d < PTO_DIMS_MAX; d++)
            shift[count][d] = tried[d];
        count++;
    }
    return count;
}

pto_peers_t pto_peers_cart(const pto_builder_t *builder, const int shift[PTO_DIMS_MAX]) {
    pto_peers_t peers = {.kind = PTO_PEERS_NONE};
    if (is_self(&pto_builder_request(builder)->halo, shift))
        return peers;
    peers.kind = PTO_PEERS_CART;
    for (int d = 0; d < PTO_DIMS_MAX; d++)
        peers.shift[d] = shift[d];
    return peers;
}

/* --- slices --------------------------------------------------------------------------------------------- */

/* The cells [first, first + count) along each dimension. Dimensions that are taken whole are merged with the
 * one before, so that at most one dimension remains to be repeated besides runs and strides. */
static pto_slice_t box(const pto_halo_t *grid, int buffer, const int64_t *first, const int64_t *count) {
    int64_t pitch[PTO_DIMS_MAX] = {1, 1, 1}, offset = 0;
    for (int d = grid->dim_count - 1; d >= 0; d--) {
        if (d < grid->dim_count - 1)
            pitch[d] = pitch[d + 1] * (grid->extent[d + 1] + 2 * grid->width);
        offset += first[d] * pitch[d];
    }
    int last = grid->dim_count - 1;
    int64_t run = count[last];
    while (last > 0 && run == pitch[last - 1])
        run *= count[--last];
    int64_t rows = last > 0 ? count[last - 1] : 1, stride = last > 0 ? pitch[last - 1] : run;
    pto_slice_t slice = {.buffer = buffer,
                         .offset = pto_constant(offset),
                         .run = pto_constant(run),
                         .stride = pto_constant(stride)};
    bool whole = last == 2 && rows * stride == pitch[0];
    if (whole)
        rows *= count[0];
    slice.until = pto_constant((rows - 1) * stride + run);
    if (last == 2 && !whole && count[0] > 1) {
        slice.repeat = count[0];
        slice.repeat_stride = pitch[0];
    }
    return slice;
}

/* The border (inside) or the halo (outside) towards `shift`. In a phase of its own, a dimension takes the
 * others with their halos: those of earlier phases carry the corners, those of later ones keep the slices
 * contiguous and are overwritten. */
static pto_slice_t side(const pto_builder_t *builder, int buffer, const int *shift, bool inside) {
    const pto_halo_t *grid = &pto_builder_request(builder)->halo;
    int64_t first[PTO_DIMS_MAX] = {0}, count[PTO_DIMS_MAX] = {1, 1, 1};
    for (int d = 0; d < grid->dim_count; d++) {
        int64_t width = grid->width, extent = grid->extent[d];
        bool two_phase = grid->corners == PTO_CORNERS_TWO_PHASE;
        if (shift[d] == 0) {
            first[d] = two_phase ? 0 : width;
            count[d] = two_phase ? extent + 2 * width : extent;
            continue;
        }
        first[d] = shift[d] > 0 ? extent + (inside ? 0 : width) : inside ? width : 0;
        count[d] = width;
    }
    return box(grid, buffer, first, count);
}

pto_slice_t pto_slice_border(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX]) {
    return side(builder, buffer, shift, true);
}

pto_slice_t pto_slice_halo(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX]) {
    return side(builder, buffer, shift, false);
}
