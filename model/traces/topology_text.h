/* Topologies of nodes in what `nvidia-smi topo -m` and `rocm-smi --showtopo` print. */
#ifndef PTO_TRACES_TOPOLOGY_TEXT_H
#define PTO_TRACES_TOPOLOGY_TEXT_H

#include "portolan/topology.h"

/* What neither of them prints, in each direction; 0: as usual (25 GB/s an NVLink, 64 an xGMI link, 16 for
 * PCIe), which the topology's comments say is inferred. */
typedef struct {
    double gpu_link_gb_per_s;
    double pcie_gb_per_s;
} pto_link_rates_t;

/* NICs near a GPU share its switch. Errors: those of reading the file; PTO_ERR_SYNTAX with the line, where a
 * row is torn; PTO_ERR_NOT_APPLICABLE where the text has no GPU, or more devices than a node. */
pto_status_t pto_topology_read_text(const char *path, pto_link_rates_t rates, pto_topology_t **topology,
                                    pto_error_t *err);

#endif
