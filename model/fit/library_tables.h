/* Choosing the tables of an MPI library by how well they predict collectives. */
#ifndef PORTOLAN_FIT_LIBRARY_TABLES_H
#define PORTOLAN_FIT_LIBRARY_TABLES_H

#include "collective_cells.h"

/* A size from which a library uses another algorithm. */
typedef struct {
    pto_collective_t collective;
    int64_t bytes;
} collective_switch_t;

/* Choose new tables for the machine, with at most `room` switches. Stores them and, in `*switch_count`,
 * their number. Errors: PTO_ERR_MEMORY and those of prices. */
pto_status_t collective_fit_library(collective_fit_t *fit, int room, collective_switch_t *switches,
                                    int *switch_count);

#endif
