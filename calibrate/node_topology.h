/* The topology of a node, as hwloc and NVML know it, written as a topology file (docs/formats.md). */
#ifndef PORTOLAN_CALIBRATE_NODE_TOPOLOGY_H
#define PORTOLAN_CALIBRATE_NODE_TOPOLOGY_H

#include "command_line/calibrate_options.h"
#include "portolan/api.h"

/* Of this machine, or of the one recorded in options->from, into options->out. Errors: PTO_ERR_IO;
 * PTO_ERR_NOT_APPLICABLE where hwloc sees no GPU; PTO_ERR_RANGE where what it sees is no topology. */
pto_status_t write_node_topology(const pto_calibrate_options_t *options, pto_error_t *err);

#endif
