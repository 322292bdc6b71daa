/* The grid of a halo exchange: its shape, and who meets whom, as arithmetic. */
#include "base/checked.h"
#include "base/names.h"
#include "portolan/scenario.h"

PTO_NAME_FUNCTION(pto_corners_name, pto_corners_t, PTO_CORNERS_COUNT, "no corners",
                  {[PTO_CORNERS_TWO_PHASE] = "two_phase",
                   [PTO_CORNERS_DIAGONAL] = "diagonal",
                   [PTO_CORNERS_NONE] = "none"});

/* --- its shape ------------------------------------------------------------------------------------------ */

static pto_status_t check_shape(const pto_halo_t *grid, pto_error_t *err) {
    if (grid->dim_count < 2 || grid->dim_count > PTO_DIMS_MAX)
        return pto_error_set(err, PTO_ERR_RANGE, "a grid has 2 or 3 dimensions, not %d", grid->dim_count);
    if (grid->width < 1)
        return pto_error_set(err, PTO_ERR_RANGE, "a halo must be 1 cell wide or more, not %lld",
                             (long long)grid->width);
    if (grid->corners >= PTO_CORNERS_COUNT)
        return pto_error_set(err, PTO_ERR_RANGE, "corners %d is not one of the enumerators",
                             (int)grid->corners);
    int64_t cells = 1;
    for (int d = 0; d < grid->dim_count; d++) {
        if (grid->dims[d] < 0)
            return pto_error_set(err, PTO_ERR_RANGE, "dims must be 0 or more, not %lld",
                                 (long long)grid->dims[d]);
        if (grid->extent[d] == 0)
            return pto_error_set(err, PTO_ERR_RANGE, "dimension %d has no extent (--extent)", d + 1);
        if (grid->extent[d] < grid->width)
            return pto_error_set(err, PTO_ERR_RANGE, "an extent of %lld cells is less than the halo's %lld",
                                 (long long)grid->extent[d], (long long)grid->width);
        if (grid->extent[d] > INT64_MAX / 4 ||
            !pto_multiply(cells, grid->extent[d] + 2 * grid->width, &cells))
            return pto_error_set(err, PTO_ERR_RANGE, "a grid has more cells than can be counted");
    }
    return PTO_OK;
}

static int64_t largest_factor(int64_t number) {
    int64_t largest = 1;
    for (int64_t factor = 2; factor * factor <= number; factor++)
        for (; number % factor == 0; number /= factor)
            largest = factor;
    return number > largest ? number : largest;
}

/* Hand out the factors of `members`, the largest first, each to the dimension that has least; then put the
 * larger dimensions first. */
static void share_out(pto_halo_t *grid, const bool *open, int64_t members) {
    for (int d = 0; d < grid->dim_count; d++)
        grid->dims[d] = open[d] ? 1 : grid->dims[d];
    while (members > 1) {
        int64_t factor = largest_factor(members);
        int least = -1;
        for (int d = 0; d < grid->dim_count; d++)
            if (open[d] && (least < 0 || grid->dims[d] < grid->dims[least]))
                least = d;
        if (least < 0) /* none is open */
            return;
        grid->dims[least] *= factor;
        members /= factor;
    }
    for (int d = 1; d < grid->dim_count; d++)
        for (int before = 0; before < d; before++)
            if (open[d] && open[before] && grid->dims[before] < grid->dims[d]) {
                int64_t larger = grid->dims[d];
                grid->dims[d] = grid->dims[before];
                grid->dims[before] = larger;
            }
}

pto_status_t pto_halo_complete(pto_halo_t *grid, int64_t owners, pto_error_t *err) {
    bool open[PTO_DIMS_MAX] = {false}, any = false;
    int64_t members = 1;
    pto_status_t status = check_shape(grid, err);
    if (status != PTO_OK)
        return status;
    for (int d = 0; d < grid->dim_count; d++) {
        open[d] = grid->dims[d] == 0;
        any = any || open[d];
        if (!open[d] && !pto_multiply(members, grid->dims[d], &members))
            members = INT64_MAX;
    }
    if (members < 1 || owners % members != 0 || (!any && members != owners))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             any ? "the grid's dims of %lld in all do not divide the layout's %lld owners"
                                 : "a grid of %lld processes is not one of the layout's %lld owners",
                             (long long)members, (long long)owners);
    if (any)
        share_out(grid, open, owners / members);
    return PTO_OK;
}

int64_t pto_halo_cells(const pto_halo_t *grid) {
    int64_t cells = 1;
    for (int d = 0; d < grid->dim_count; d++)
        cells *= grid->extent[d] + 2 * grid->width;
    return cells;
}

/* --- neighbors ------------------------------------------------------------------------------------------ */

int64_t pto_halo_peer(const pto_halo_t *grid, int64_t index, const int shift[PTO_DIMS_MAX]) {
    int64_t peer = index, stride = 1;
    for (int d = grid->dim_count - 1; d >= 0; stride *= grid->dims[d], d--) {
        if (shift[d] == 0)
            continue;
        int64_t at = index / stride % grid->dims[d], to = at + shift[d];
        if (!grid->wrap[d] && (to < 0 || to >= grid->dims[d]))
            return -1;
        peer += ((to + grid->dims[d]) % grid->dims[d] - at) * stride;
    }
    return peer;
}
