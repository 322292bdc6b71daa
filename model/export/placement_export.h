/* Writing a placement of processes in the formats of launchers, for portolan map. */
#ifndef PTO_PLACEMENT_EXPORT_H
#define PTO_PLACEMENT_EXPORT_H

#include <stdbool.h>

#include "portolan/scenario.h"

typedef enum {
    PTO_PLACEMENT_CSV,      /* portolan's own */
    PTO_PLACEMENT_RANKFILE, /* Open MPI: `mpirun --rankfile FILE`, a socket and its core per process */
    PTO_PLACEMENT_SLURM,    /* `SLURM_HOSTFILE=FILE srun --distribution=arbitrary`: a host per process */
    PTO_PLACEMENT_CUDA,     /* CUDA_VISIBLE_DEVICES of rank r in line r + 1 */
    PTO_PLACEMENT_COUNT
} pto_placement_form_t;

typedef struct {
    const pto_mapping_t *mapping; /* bound to the layout */
    const pto_layout_t *layout;
    const char *hosts;        /* the nodes' names, separated by commas; NULL: node0, node1, ... */
    int64_t cores_per_socket; /* of the machine; for a rankfile */
    bool force;               /* replace an existing file */
} pto_placement_export_t;

/* Writes a placement to a file. Errors: PTO_ERR_RANGE (fewer hosts than nodes; for a rankfile, no hosts or
 * too few cores), PTO_ERR_IO, PTO_ERR_MEMORY. */
pto_status_t pto_placement_export(const pto_placement_export_t *placement, pto_placement_form_t form,
                                  const char *path, pto_error_t *err);

#endif
