/* Drawing a node: its devices and switches, with the links between them. */
#ifndef PTO_TOPOLOGY_PLOT_H
#define PTO_TOPOLOGY_PLOT_H

#include "plot.h"
#include "portolan/topology.h"

/* The drawing borrows the topology. */
pto_plot_t pto_topology_plot(const pto_topology_t *topology);

#endif
