/* Halo exchanges in plans: their phases, and the slices of borders (cells that a neighbor needs) and halos
 * (copies of the neighbors' borders). A shift is the direction of a neighbor: -1, 0 or 1 along each
 * dimension. Strategies call these functions while they build a plan; interpreters call pto_slice_in_grid. A
 * field is an array of cells in row-major order (the last dimension is contiguous). Along each dimension it
 * has `extent` cells of the process's own, and `width` halo cells before and after them. */
#include "plan/plan_internal.h"
#include "portolan/strategy.h"

/* Returns whether any process has a neighbor at the shift, which may be the process itself. */
static bool has_neighbor(const pto_halo_t *grid, const int *shift) {
    bool any = false; /* along any dimension */
    for (int d = 0; d < grid->dim_count; d++) {
        if (shift[d] != 0 && grid->dims[d] == 1 && !grid->wrap[d])
            return false;
        any = any || shift[d] != 0;
    }
    return any;
}

/* Returns whether each process is its own neighbor at the shift. */
static bool is_self(const pto_halo_t *grid, const int *shift) {
    for (int d = 0; d < grid->dim_count; d++)
        if (shift[d] != 0 && grid->dims[d] > 1)
            return false;
    return true;
}

/* Shifts are numbered in base 3, with digits -1, 0 and 1. */
static void shift_of(int64_t number, int shift[PTO_DIMS_MAX]) {
    shift[0] = (int)(number / 9) - 1;
    shift[1] = (int)(number / 3 % 3) - 1;
    shift[2] = (int)(number % 3) - 1;
}

/* Returns the number of dimensions along which a shift moves: 1 to a face, more to an edge or a corner. */
static int dims_moved(const int *shift) { return (shift[0] != 0) + (shift[1] != 0) + (shift[2] != 0); }

bool pto_halo_shift(const pto_halo_t *grid, int64_t number, int shift[PTO_DIMS_MAX]) {
    shift_of(number, shift);
    return (grid->dim_count == PTO_DIMS_MAX || shift[2] == 0) && has_neighbor(grid, shift) &&
           (grid->corners != PTO_CORNERS_NONE || dims_moved(shift) == 1);
}

int pto_halo_phases(const pto_halo_t *grid) {
    return grid->corners == PTO_CORNERS_TWO_PHASE ? grid->dim_count : 1;
}

int pto_halo_shifts(const pto_halo_t *grid, int phase, int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX]) {
    int count = 0;
    for (int number = 0; number < PTO_SHIFTS_MAX; number++) {
        int tried[PTO_DIMS_MAX];
        shift_of(number, tried);
        bool in_phase = grid->corners != PTO_CORNERS_TWO_PHASE || tried[phase] != 0;
        if ((grid->dim_count < 3 && tried[2] != 0) || !in_phase || !has_neighbor(grid, tried) ||
            (dims_moved(tried) > 1 && grid->corners != PTO_CORNERS_DIAGONAL))
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

static bool calls_library(const pto_request_t *request) {
    return request->by_library && !request->strategy->direct;
}

void pto_build_messages(pto_builder_t *builder, const pto_exchange_t *exchange, const char *name) {
    if (calls_library(pto_builder_request(builder)))
        pto_build_collective(builder, exchange, PTO_DONE_BY_LIBRARY);
    pto_build_stage(builder, name, PTO_ORDER_AT_ONCE);
}

void pto_build_end_messages(pto_builder_t *builder) {
    if (calls_library(pto_builder_request(builder)))
        pto_build_end(builder);
}

/* Cells [first, first + count) along a dimension, counted from the first halo cell. */
typedef struct {
    int64_t first, count;
} cells_t;

/* Returns the slice of a box of cells, given along each dimension. Contiguous rows along the last dimension
 * are the runs of the slice. Rows of one plane follow at its stride, and planes are its repetitions. A
 * dimension that the box covers completely is merged with the one before, which makes longer rows. */
static pto_slice_t box_slice(const pto_halo_t *grid, int buffer, const cells_t *cells) {
    int64_t pitch[PTO_DIMS_MAX] = {1, 1,
                                   1}; /* distance of neighboring cells along each dimension, in cells */
    int last = grid->dim_count < PTO_DIMS_MAX ? grid->dim_count - 1 : PTO_DIMS_MAX - 1;
    int64_t offset = cells[last].first;
    for (int d = last - 1; d >= 0; d--) {
        pitch[d] = pitch[d + 1] * (grid->extent[d + 1] + 2 * grid->width);
        offset += cells[d].first * pitch[d];
    }
    int64_t run = cells[last].count;
    while (last > 0 && run == pitch[last - 1]) {
        last--;
        run *= cells[last].count;
    }
    int64_t rows = last > 0 ? cells[last - 1].count : 1, stride = last > 0 ? pitch[last - 1] : run;
    pto_slice_t slice = {.buffer = buffer,
                         .offset = pto_constant(offset),
                         .run = pto_constant(run),
                         .stride = pto_constant(stride)};
    bool planes_join = last == 2 && rows * stride == pitch[0]; /* the stride goes on in the next plane */
    if (planes_join)
        rows *= cells[0].count;
    slice.until = pto_constant((rows - 1) * stride + run);
    if (last == 2 && !planes_join && cells[0].count > 1) {
        slice.repeat = cells[0].count;
        slice.repeat_stride = pitch[0];
    }
    return slice;
}

/* Returns the cells of the border (`inside`) or of the halo along a dimension in which the shift is not 0. */
static cells_t shifted_cells(const pto_halo_t *grid, int d, int shift, bool inside) {
    if (shift > 0)
        return (cells_t){grid->extent[d] + (inside ? 0 : grid->width), grid->width};
    return (cells_t){inside ? grid->width : 0, grid->width};
}

/* Returns the cells along a dimension in which the shift is 0: the process's own, with the halo `before` and
 * `after` them. */
static cells_t unshifted_cells(const pto_halo_t *grid, int d, bool before, bool after) {
    return (cells_t){before ? 0 : grid->width, grid->extent[d] + (before + after) * grid->width};
}

/* Finds the cells of a side: the border (`inside`) or the halo. If there is a phase for each dimension, the
 * cells include the halos of the other dimensions. The halos that earlier phases have filled carry the
 * corners. Those that later phases will overwrite are included to keep the slices contiguous. */
static void find_side(const pto_halo_t *grid, const int *shift, bool inside, cells_t *cells) {
    bool two_phase = grid->corners == PTO_CORNERS_TWO_PHASE;
    for (int d = 0; d < PTO_DIMS_MAX; d++)
        if (d >= grid->dim_count)
            cells[d] = (cells_t){0, 1};
        else
            cells[d] = shift[d] != 0 ? shifted_cells(grid, d, shift[d], inside)
                                     : unshifted_cells(grid, d, two_phase, two_phase);
}

/* How the cells of a side are divided into units for several processes. The cut is along the first dimension
 * with at least one cell for each unit, since rows (the last dimension) should stay long; else along the
 * longest one. */
typedef struct {
    int dim;
    int64_t length; /* of each unit but the last, in cells along that dimension */
    int64_t units;
} cut_t;

static cut_t cut_side(const cells_t *cells, int64_t parts) {
    cut_t cut = {.dim = 0};
    for (int d = 1; d < PTO_DIMS_MAX && cells[cut.dim].count < parts; d++)
        if (cells[d].count > cells[cut.dim].count)
            cut.dim = d;
    cut.length = (cells[cut.dim].count - 1) / parts + 1;
    cut.units = (cells[cut.dim].count - 1) / cut.length + 1;
    return cut;
}

pto_units_t pto_halo_units(const pto_halo_t *grid, const int shift[PTO_DIMS_MAX], int64_t parts) {
    cells_t cells[PTO_DIMS_MAX];
    find_side(grid, shift, true, cells);
    cut_t cut = cut_side(cells, parts);
    int64_t all = cells[0].count * cells[1].count * cells[2].count, across = all / cells[cut.dim].count;
    return (pto_units_t){.count = cut.units,
                         .cells = cut.length * across,
                         .last_cells = all - (cut.units - 1) * cut.length * across};
}

/* Returns a unit of a side (pto_slice_border_unit, pto_slice_halo_unit). */
static pto_slice_t unit_slice(const pto_builder_t *builder, int buffer, const int *shift, bool inside,
                              int64_t parts, pto_expr_t unit) {
    const pto_halo_t *grid = &pto_builder_request(builder)->halo;
    cells_t cells[PTO_DIMS_MAX];
    find_side(grid, shift, inside, cells);
    cut_t cut = cut_side(cells, parts);
    bool last = unit.loop == 0 && unit.core == 0 && unit.constant == cut.units - 1;
    cells[cut.dim].count = last ? cells[cut.dim].count - (cut.units - 1) * cut.length : cut.length;
    pto_slice_t slice = box_slice(grid, buffer, cells);
    int64_t unit_cells = cut.length; /* from one unit to the next, in cells of the field */
    for (int d = cut.dim + 1; d < grid->dim_count; d++)
        unit_cells *= grid->extent[d] + 2 * grid->width;
    slice.offset.constant += unit.constant * unit_cells;
    slice.offset.loop = unit.loop * unit_cells;
    slice.offset.core = unit.core * unit_cells;
    return slice;
}

pto_slice_t pto_slice_border_unit(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX],
                                  int64_t parts, pto_expr_t unit) {
    return unit_slice(builder, buffer, shift, true, parts, unit);
}

pto_slice_t pto_slice_halo_unit(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX],
                                int64_t parts, pto_expr_t unit) {
    return unit_slice(builder, buffer, shift, false, parts, unit);
}

pto_slice_t pto_slice_border(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX]) {
    return unit_slice(builder, buffer, shift, true, 1, pto_constant(0));
}

pto_slice_t pto_slice_halo(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX]) {
    return unit_slice(builder, buffer, shift, false, 1, pto_constant(0));
}

pto_peers_t pto_peers_grid(void) {
    return (pto_peers_t){
        .kind = PTO_PEERS_GRID, .stride = pto_constant(1), .until = pto_constant(PTO_SHIFTS_MAX)};
}

/* Returns a slice of cells that depend on the action: interpreters replace it by pto_slice_in_grid. Until
 * then its run is the maximum number of rows, for prices. */
pto_slice_t pto_slice_cells(const pto_builder_t *builder, int buffer, pto_cells_t cells) {
    const pto_halo_t *grid = &pto_builder_request(builder)->halo;
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.cells = cells;
    int64_t rows = 1;
    for (int d = 0; d < grid->dim_count - 1; d++)
        rows *= grid->extent[d] + 2 * grid->width;
    slice.run = slice.stride = slice.until = pto_constant(rows);
    return slice;
}

void pto_build_own_cells(pto_builder_t *builder, pto_step_t copy) {
    const pto_halo_t *grid = &pto_builder_request(builder)->halo;
    copy.source.holder = copy.target.holder = PTO_HOLDER_SELF;
    copy.peers = (pto_peers_t){.kind = PTO_PEERS_NONE};
    for (int64_t number = 0; number < PTO_SHIFTS_MAX; number++)
        if (pto_halo_shift(grid, number, copy.peers.shift) && is_self(grid, copy.peers.shift))
            pto_build_step(builder, copy);
}

/* Returns whether a process has no neighbor along a dimension in this direction (-1 or 1). */
static bool is_edge(const pto_halo_t *grid, int64_t index, int d, int direction) {
    int shift[PTO_DIMS_MAX] = {0};
    shift[d] = direction;
    return pto_halo_peer(grid, index, shift) < 0;
}

pto_slice_t pto_slice_in_grid(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action) {
    const pto_halo_t *grid = &plan->request.halo;
    const pto_peers_t *peers = &action->step->peers;
    cells_t cells[PTO_DIMS_MAX] = {{0, 1}, {0, 1}, {0, 1}};
    bool inside = slice->cells == PTO_CELLS_BORDER, edges = grid->corners == PTO_CORNERS_TWO_PHASE;
    int shift[PTO_DIMS_MAX] = {peers->shift[0], peers->shift[1], peers->shift[2]};
    if (peers->kind == PTO_PEERS_GRID)
        shift_of(action->ordinal, shift);
    for (int d = 0; d < grid->dim_count && d < PTO_DIMS_MAX; d++) {
        int side = inside ? shift[d] : -shift[d]; /* the neighbor's halo is on its opposite side */
        cells[d] = side != 0 ? shifted_cells(grid, d, side, inside)
                             : unshifted_cells(grid, d, edges && is_edge(grid, action->me, d, -1),
                                               edges && is_edge(grid, action->me, d, 1));
    }
    pto_slice_t in_grid = box_slice(grid, slice->buffer, cells);
    in_grid.holder = slice->holder;
    return in_grid;
}
