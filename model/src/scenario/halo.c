/* The grid of a halo exchange: its shape, its text in tables, and the neighbors of a process, by arithmetic.
 * Processes are numbered in row-major order, the last dimension fastest. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/names.h"
#include "base/text.h"
#include "portolan/scenario.h"
#include "portolan/units.h"
#include "scenario/check.h"

PTO_NAME_FUNCTION(pto_corners_name, pto_corners_t, PTO_CORNERS_COUNT, "no corners",
                  {[PTO_CORNERS_TWO_PHASE] = "two_phase",
                   [PTO_CORNERS_DIAGONAL] = "diagonal",
                   [PTO_CORNERS_NONE] = "none"});

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

/* Returns the largest prime factor; 1 for 1. */
static int64_t largest_factor(int64_t number) {
    int64_t largest = 1;
    for (int64_t factor = 2; factor * factor <= number; factor++)
        for (; number % factor == 0; number /= factor)
            largest = factor;
    return number > largest ? number : largest;
}

/* Distributes the prime factors of `members` over the open dimensions: the largest
 * factor first, each to the dimension that is smallest so far. Then sorts these dimensions, the largest
 * first. */
static void distribute_factors(pto_halo_t *grid, const bool *open, int64_t members) {
    for (int d = 0; d < grid->dim_count; d++)
        grid->dims[d] = open[d] ? 1 : grid->dims[d];
    while (members > 1) {
        int64_t factor = largest_factor(members);
        int smallest = -1;
        for (int d = 0; d < grid->dim_count; d++)
            if (open[d] && (smallest < 0 || grid->dims[d] < grid->dims[smallest]))
                smallest = d;
        if (smallest < 0) /* none is open */
            return;
        grid->dims[smallest] *= factor;
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
    bool open[PTO_DIMS_MAX] = {false}, any_open = false;
    int64_t given = 1; /* product of the dimensions that are not open */
    pto_status_t status = check_shape(grid, err);
    if (status != PTO_OK)
        return status;
    for (int d = 0; d < grid->dim_count; d++) {
        open[d] = grid->dims[d] == 0;
        any_open = any_open || open[d];
        if (!open[d] && !pto_multiply(given, grid->dims[d], &given))
            given = INT64_MAX;
    }
    if (given < 1 || owners % given != 0 || (!any_open && given != owners))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             any_open
                                 ? "the grid's dims of %lld in all do not divide the layout's %lld owners"
                                 : "a grid of %lld processes is not one of the layout's %lld owners",
                             (long long)given, (long long)owners);
    if (any_open)
        distribute_factors(grid, open, owners / given);
    return PTO_OK;
}

int64_t pto_halo_cells(const pto_halo_t *grid) {
    int64_t cells = 1;
    for (int d = 0; d < grid->dim_count; d++)
        cells *= grid->extent[d] + 2 * grid->width;
    return cells;
}

int pto_halo_compare(const pto_halo_t *a, const pto_halo_t *b) {
    int order = (a->dim_count > b->dim_count) - (a->dim_count < b->dim_count);
    for (int d = 0; d < PTO_DIMS_MAX && order == 0; d++) {
        order = (a->dims[d] > b->dims[d]) - (a->dims[d] < b->dims[d]);
        if (order == 0)
            order = (int)a->wrap[d] - (int)b->wrap[d];
        if (order == 0)
            order = (a->extent[d] > b->extent[d]) - (a->extent[d] < b->extent[d]);
    }
    if (order == 0)
        order = (a->width > b->width) - (a->width < b->width);
    return order != 0 ? order : (int)a->corners - (int)b->corners;
}

const char *pto_halo_text(const pto_halo_t *grid, char text[PTO_HALO_TEXT_MAX]) {
    char dims[72] = "", wrap[72] = "", extent[72] = "";
    pto_line_t of_dims = {dims, sizeof dims, 0}, of_wrap = {wrap, sizeof wrap, 0};
    pto_line_t of_extent = {extent, sizeof extent, 0};
    for (int d = 0; d < grid->dim_count; d++) {
        const char *cross = d > 0 ? "x" : "";
        pto_line_add(&of_dims, "%s%lld", cross, (long long)grid->dims[d]);
        pto_line_add(&of_wrap, "%s%d", cross, grid->wrap[d]);
        pto_line_add(&of_extent, "%s%lld", cross, (long long)grid->extent[d]);
    }
    snprintf(text, PTO_HALO_TEXT_MAX, "dims=%s wrap=%s extent=%s halo=%lld corners=%s", dims, wrap, extent,
             (long long)grid->width, pto_corners_name(grid->corners));
    return text;
}

/* Parses one KEY=VALUE of the text. */
static pto_status_t parse_part(const char *key, const char *value, pto_halo_t *grid, pto_error_t *err) {
    int64_t wrap[PTO_DIMS_MAX] = {0};
    pto_status_t status = PTO_OK;
    if (strcmp(key, "dims") == 0)
        return pto_scenario_parse_dimensions(value, 'x', grid, grid->dims, err);
    if (strcmp(key, "extent") == 0)
        return pto_scenario_parse_dimensions(value, 'x', grid, grid->extent, err);
    if (strcmp(key, "halo") == 0)
        return pto_int64_parse(value, &grid->width, err);
    if (strcmp(key, "wrap") == 0) {
        status = pto_scenario_parse_dimensions(value, 'x', grid, wrap, err);
        for (int d = 0; d < PTO_DIMS_MAX; d++)
            grid->wrap[d] = wrap[d] != 0;
        return status;
    }
    for (pto_corners_t c = 0; c < PTO_CORNERS_COUNT; c++)
        if (strcmp(key, "corners") == 0 && strcmp(value, pto_corners_name(c)) == 0) {
            grid->corners = c;
            return PTO_OK;
        }
    return pto_error_set(err, PTO_ERR_TYPE, "'%s=%s' is not a part of a grid", key, value);
}

pto_status_t pto_halo_parse(const char *text, size_t text_size, pto_halo_t *grid, pto_error_t *err) {
    char copy[PTO_HALO_TEXT_MAX], *rest = copy;
    pto_halo_t parsed = {.width = 1};
    if (text_size >= sizeof copy)
        return pto_error_set(err, PTO_ERR_TYPE, "'%.40s...' is too long for a grid", text);
    memcpy(copy, text, text_size);
    copy[text_size] = '\0';
    for (char *part; (part = strtok_r(rest, " ", &rest));) {
        char *equals = strchr(part, '=');
        if (!equals)
            return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not KEY=VALUE", part);
        *equals = '\0';
        pto_status_t status = parse_part(part, equals + 1, &parsed, err);
        if (status != PTO_OK)
            return status;
    }
    pto_status_t status = check_shape(&parsed, err);
    if (status == PTO_OK)
        *grid = parsed;
    return status;
}

int64_t pto_halo_peer(const pto_halo_t *grid, int64_t index, const int shift[PTO_DIMS_MAX]) {
    int64_t peer = index, stride = 1;
    for (int d = grid->dim_count - 1; d >= 0; d--) {
        int64_t size = grid->dims[d], from = index / stride % size, to = from + shift[d];
        if (!grid->wrap[d] && (to < 0 || to >= size))
            return -1;
        peer += ((to + size) % size - from) * stride;
        stride *= size;
    }
    return peer;
}
