/* The traffic between processes as a heat map: sources top to bottom, destinations left to right. */
#include "traffic_plot.h"

#include <stdlib.h>

#include "table.h"

enum { WIDTH_PX = 800, HEIGHT_PX = 640, LEFT_PX = 80, BOTTOM_PX = 64, SIDE_PX = 512 };

pto_status_t pto_traffic_map_init(pto_traffic_map_t *map, int64_t ranks, const char *title,
                                  pto_error_t *err) {
    int64_t per_cell = (ranks - 1) / PTO_TRAFFIC_CELLS_MAX + 1;
    *map = (pto_traffic_map_t){
        .title = title, .ranks = ranks, .ranks_per_cell = per_cell, .order = (ranks - 1) / per_cell + 1};
    map->bytes = calloc((size_t)(map->order * map->order), sizeof *map->bytes);
    return map->bytes ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a heat map");
}

void pto_traffic_map_add(pto_traffic_map_t *map, const pto_traffic_pair_t *pair) {
    int64_t row = pair->source / map->ranks_per_cell, column = pair->destination / map->ranks_per_cell;
    map->bytes[row * map->order + column] += (double)pair->bytes;
}

void pto_traffic_map_fini(pto_traffic_map_t *map) { free(map->bytes); }

static void write_cells(FILE *script, const pto_traffic_map_t *map) {
    for (int64_t row = 0; row < map->order; row++)
        for (int64_t column = 0; column < map->order; column++) {
            double bytes = map->bytes[row * map->order + column];
            double half = (double)(map->ranks_per_cell - 1) / 2;
            fprintf(script, "%g %g ", (double)(column * map->ranks_per_cell) + half,
                    (double)(row * map->ranks_per_cell) + half);
            if (bytes > 0)
                fprintf(script, "%.9g\n", bytes);
            else
                fputs("NaN\n", script);
        }
    fputs("e\n", script);
}

/* Writes margins with which a cell is a whole number of pixels, so that all have the same size and sharp
 * edges. */
static void write_margins(FILE *script, int64_t order) {
    const int64_t cell_px = SIDE_PX / order;
    const double side_px = (double)(cell_px * order);
    fprintf(script,
            "set lmargin at screen %.9g\nset rmargin at screen %.9g\nset bmargin at screen %.9g\n"
            "set tmargin at screen %.9g\n",
            (double)LEFT_PX / WIDTH_PX, (LEFT_PX + side_px) / WIDTH_PX, (double)BOTTOM_PX / HEIGHT_PX,
            (BOTTOM_PX + side_px) / HEIGHT_PX);
}

/* Writes at most TICS_MAX tics at ranks, at intervals of a power of two. */
static void write_rank_tics(FILE *script, int64_t ranks) {
    enum { TICS_MAX = 16 };
    int64_t step = 1;
    while ((ranks - 1) / step >= TICS_MAX)
        step *= 2;
    fprintf(script, "set xtics 0,%lld\nset ytics 0,%lld\n", (long long)step, (long long)step);
}

/* Writes tics of the colour scale at multiples of a power of two, whose labels need no rounding. */
static void write_byte_tics(FILE *script, const pto_traffic_map_t *map) {
    enum { TICS_MAX = 6 };
    double max_bytes = 0;
    int64_t step = 1;
    for (int64_t i = 0; i < map->order * map->order; i++)
        max_bytes = map->bytes[i] > max_bytes ? map->bytes[i] : max_bytes;
    while (max_bytes / (double)step > TICS_MAX)
        step *= 2;
    fprintf(script, "set cbrange [0:%.9g]\nset cbtics ('0 B' 0", max_bytes > 0 ? max_bytes : 1);
    for (int64_t bytes = step; (double)bytes <= max_bytes; bytes += step)
        fprintf(script, ", '%s' %lld", PTO_SIZE_TEXT(bytes), (long long)bytes);
    fputs(")\n", script);
}

/* A pto_plot_write_t. Pairs without traffic have no colour. */
static void write_map(FILE *script, const void *context) {
    const pto_traffic_map_t *map = context;
    const long long end = map->order * map->ranks_per_cell - 1;
    fputs("set title ", script);
    pto_plot_quote(script, map->title);
    fputs("\nset xlabel 'destination rank'\nset ylabel 'source rank'\nset cblabel 'bytes", script);
    if (map->ranks_per_cell > 1)
        fprintf(script, " of %lld x %lld ranks", (long long)map->ranks_per_cell,
                (long long)map->ranks_per_cell);
    fprintf(script, "'\nset xrange [-0.5:%lld.5]\nset yrange [%lld.5:-0.5]\nset tics out\n", end, end);
    write_margins(script, map->order);
    write_rank_tics(script, map->ranks);
    write_byte_tics(script, map);
    fputs("set palette defined (0 '#deebf7', 1 '#3182bd', 2 '#08306b')\n"
          "plot '-' using 1:2:3 with image pixels notitle\n",
          script);
    write_cells(script, map);
}

pto_plot_t pto_traffic_plot(const pto_traffic_map_t *map) {
    return (pto_plot_t){.width_px = WIDTH_PX, .height_px = HEIGHT_PX, .write = write_map, .context = map};
}
