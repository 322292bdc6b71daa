/* Reads topologies of nodes from the output of `nvidia-smi topo -m` and `rocm-smi --showtopo`. */
#ifndef PTO_TRACES_TOPOLOGY_TEXT_H
#define PTO_TRACES_TOPOLOGY_TEXT_H

#include "portolan/topology.h"

/* Rates in each direction, which neither command prints. 0: the usual rate (25 GB/s per NVLink, 64 per xGMI
 * link, 16 for PCIe), which the topology's comments call inferred. */
typedef struct {
    double gpu_link_gb_per_s;
    double pcie_gb_per_s;
} pto_link_rates_t;

/* Reads the output of either command. NICs near a GPU share its PCI switch. Errors: those of reading the
 * file; PTO_ERR_SYNTAX with the line if a row is incomplete; PTO_ERR_NOT_APPLICABLE if the text has no GPU,
 * or more devices than a node can have. */
pto_status_t pto_topology_read_text(const char *path, pto_link_rates_t rates, pto_topology_t **topology,
                                    pto_error_t *err);

#endif
