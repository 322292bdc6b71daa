/* Draws the traffic between processes as a heat map: sources from top to bottom, destinations from left to
 * right. */
#include "traffic_plot.h"

#include <stdlib.h>

enum { WIDTH_PX = 720, HEIGHT_PX = 640 };

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

/* Pairs without traffic are not coloured. */
static void write_map(FILE *script, const void *context) {
    const pto_traffic_map_t *map = context;
    fputs("set title ", script);
    pto_plot_quote(script, map->title);
    fprintf(script,
            "\nset xlabel 'destination rank'\nset ylabel 'source rank'\nset cblabel 'bytes'\n"
            "set xrange [-0.5:%lld.5]\nset yrange [%lld.5:-0.5]\nset size square\nset tics out\n"
            "set format cb '%%.0s %%cB'\n"
            "set palette defined (0 '#deebf7', 1 '#3182bd', 2 '#08306b')\nset cbrange [0:*]\n"
            "plot '-' using 1:2:3 with image notitle\n",
            (long long)map->ranks - 1, (long long)map->ranks - 1);
    write_cells(script, map);
}

pto_plot_t pto_traffic_plot(const pto_traffic_map_t *map) {
    return (pto_plot_t){.width_px = WIDTH_PX, .height_px = HEIGHT_PX, .write = write_map, .context = map};
}
