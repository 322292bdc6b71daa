/* A heat map of the bytes that each process sends to each other one, for `portolan traffic --plot`. */
#ifndef PTO_TRAFFIC_PLOT_H
#define PTO_TRAFFIC_PLOT_H

#include "plot.h"
#include "portolan/traffic.h"

/* The most rows of a map. With more ranks, a cell is the sum over several. */
enum { PTO_TRAFFIC_CELLS_MAX = 256 };

typedef struct {
    const char *title;
    int64_t ranks;
    int64_t ranks_per_cell;
    int64_t order; /* number of rows, and of columns, of the map */
    double *bytes; /* order * order, by source */
} pto_traffic_map_t;

/* Release with pto_traffic_map_fini. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_traffic_map_init(pto_traffic_map_t *map, int64_t ranks, const char *title, pto_error_t *err);
void pto_traffic_map_add(pto_traffic_map_t *map, const pto_traffic_pair_t *pair);
void pto_traffic_map_fini(pto_traffic_map_t *map);
/* The plot borrows the map. */
pto_plot_t pto_traffic_plot(const pto_traffic_map_t *map);

#endif
