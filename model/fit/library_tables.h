/* The tables of an MPI library, chosen by how well collectives are predicted with them. */
#ifndef PORTOLAN_FIT_LIBRARY_TABLES_H
#define PORTOLAN_FIT_LIBRARY_TABLES_H

#include "collective_cells.h"

/* Where a library changes algorithms. */
typedef struct {
    pto_collective_t collective;
    int64_t bytes;
} collective_switch_t;

/* Choose the tables of the machine anew, with at most `room` switches, which are noted; returns their
 * number in `*switch_count`. Errors: PTO_ERR_MEMORY, those of prices. */
pto_status_t collective_fit_library(collective_fit_t *fit, int room, collective_switch_t *switches,
                                    int *switch_count);

#endif
