/* The pattern "stencil2d": the nine-point stencil of SHOC's Stencil2D, the application of Ji et al. 2012. In
 * each step, every cell of a grid becomes a weighted mean of itself and its neighbors, and then the halos are
 * exchanged. Cells beyond an edge that does not wrap around are constant. */
#include <math.h>
#include <stdlib.h>

#include "pattern.h"
#include "portolan/bench.h"

enum { STEPS = 20 };

/* Tolerance for sums of a few rounded products in any order. A wrong cell differs by more than 1e-3. */
static const double difference_max = 1e-12;

static pto_status_t allowed(const settings_t *settings, const pto_request_t *request, pto_error_t *err) {
    const pto_halo_t *grid = &request->halo;
    (void)settings;
    if (request->collective == PTO_COLLECTIVE_HALO && grid->dim_count == 2 && grid->width == 1 &&
        grid->corners != PTO_CORNERS_NONE && request->bytes == (int64_t)sizeof(double))
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "the stencil exchanges the halos of doubles in two dimensions: --collective halo "
                         "--bytes 8 --halo 1, with corners");
}

static size_t local_bytes(const settings_t *settings, const pto_request_t *request) {
    (void)settings;
    return (size_t)pto_halo_cells(&request->halo) * sizeof(double);
}

/* A part of the field, computed serially: the cells of an owner and `margin` more on every side. */
typedef struct {
    const pto_halo_t *grid;
    int64_t first[2]; /* of the owner's cells, in the whole field */
    int64_t margin;
    int64_t columns; /* of the part, with margins */
    double *now;
    double *next;
} serial_t;

/* Returns the coordinate of a cell in the whole field along one dimension, wrapped around if the field is. */
static int64_t wrapped(const pto_halo_t *grid, int d, int64_t at) {
    int64_t all = grid->dims[d] * grid->extent[d];
    return grid->wrap[d] ? (at % all + all) % all : at;
}

/* Returns whether a coordinate is beyond an edge that does not wrap around. */
static bool is_beyond(const pto_halo_t *grid, int d, int64_t at) {
    return !grid->wrap[d] && (at < 0 || at >= grid->dims[d] * grid->extent[d]);
}

static double initial(const pto_halo_t *grid, uint64_t seed, int64_t row, int64_t column) {
    uint64_t place = (uint64_t)wrapped(grid, 0, row) * 1000003u + (uint64_t)wrapped(grid, 1, column);
    uint64_t random = (place + seed * 1442695040888963407u) * 6364136223846793005u;
    random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(random >> 11) / 9007199254740992.0;
}

static void begin_at_owner(serial_t *serial, const work_t *work, int64_t margin) {
    const pto_halo_t *grid = &work->request->halo;
    *serial = (serial_t){.grid = grid, .margin = margin, .columns = grid->extent[1] + 2 * margin};
    serial->first[0] = work->owner / grid->dims[1] * grid->extent[0];
    serial->first[1] = work->owner % grid->dims[1] * grid->extent[1];
}

static void fill_part(const serial_t *serial, uint64_t seed, double *cell) {
    int64_t rows = serial->grid->extent[0] + 2 * serial->margin;
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < serial->columns; j++)
            cell[i * serial->columns + j] = initial(serial->grid, seed, serial->first[0] + i - serial->margin,
                                                    serial->first[1] + j - serial->margin);
}

static double mean(const double *c, int64_t pitch) {
    return 0.25 * c[0] + 0.15 * (c[-pitch] + c[pitch] + c[-1] + c[1]) +
           0.05 * (c[-pitch - 1] + c[-pitch + 1] + c[pitch - 1] + c[pitch + 1]);
}

/* Computes one step of all cells but the outermost `done` + 1 layers. The neighbors of the outermost correct
 * cells are missing, so there is one layer less of them after each step. */
static void step_part(serial_t *serial, int64_t done) {
    const pto_halo_t *grid = serial->grid;
    int64_t rows = grid->extent[0] + 2 * serial->margin, columns = serial->columns, outer = done + 1;
#pragma omp parallel for
    for (int64_t i = outer; i < rows - outer; i++)
        for (int64_t j = outer; j < columns - outer; j++) {
            const double *cell = serial->now + i * columns + j;
            bool stays = is_beyond(grid, 0, serial->first[0] + i - serial->margin) ||
                         is_beyond(grid, 1, serial->first[1] + j - serial->margin);
            serial->next[i * columns + j] = stays ? *cell : mean(cell, columns);
        }
    double *now = serial->now;
    serial->now = serial->next;
    serial->next = now;
}

static pto_status_t fill(const work_t *work, uint64_t seed, pto_error_t *err) {
    serial_t part;
    begin_at_owner(&part, work, 1);
    fill_part(&part, seed, work->host);
    return pto_device_copy(work->device, work->out, work->host, work->local_bytes, err);
}

static pto_status_t kernel(const work_t *work, pto_error_t *err) {
    const pto_halo_t *grid = &work->request->halo;
    return work->device->bench->stencil(work->out, work->local, (size_t)grid->extent[0],
                                        (size_t)grid->extent[1], work->stream, err);
}

/* Compares a part of the field, with its halos. */
static pto_status_t compare_part(const serial_t *serial, const double *actual, pto_error_t *err) {
    int64_t rows = serial->grid->extent[0] + 2, columns = serial->grid->extent[1] + 2;
    int64_t inset = serial->margin - 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double expected = serial->now[(i + inset) * serial->columns + j + inset];
            if (!(fabs(actual[i * columns + j] - expected) <= difference_max))
                return pto_error_set(err, PTO_ERR_RANGE,
                                     "wrong field: row %lld, column %lld is %.17g, should be %.17g",
                                     (long long)i, (long long)j, actual[i * columns + j], expected);
        }
    return PTO_OK;
}

static pto_status_t compare(const work_t *work, uint64_t seed, pto_error_t *err) {
    serial_t serial;
    begin_at_owner(&serial, work, STEPS + 1);
    size_t cells = (size_t)(serial.columns * (serial.grid->extent[0] + 2 * serial.margin));
    double *current = calloc(cells, sizeof *current), *next = calloc(cells, sizeof *next);
    pto_status_t status = PTO_ERR_MEMORY;
    if (!current || !next)
        pto_error_set(err, status, "out of memory");
    else
        status = pto_device_copy(work->device, work->host, work->out, work->local_bytes, err);
    if (status == PTO_OK) {
        serial.now = current;
        serial.next = next;
        fill_part(&serial, seed, current);
        for (int64_t done = 0; done < STEPS; done++)
            step_part(&serial, done);
        status = compare_part(&serial, work->host, err);
    }
    free(current);
    free(next);
    return status;
}

const pattern_t pattern_stencil2d = {.name = "stencil2d",
                                     .steps = STEPS,
                                     .allowed = allowed,
                                     .local_bytes = local_bytes,
                                     .fill = fill,
                                     .kernel = kernel,
                                     .compare = compare};
