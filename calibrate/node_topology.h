/* Writes the topology of a node, from hwloc and NVML, as a topology file (docs/formats.md). */
#ifndef PORTOLAN_CALIBRATE_NODE_TOPOLOGY_H
#define PORTOLAN_CALIBRATE_NODE_TOPOLOGY_H

#include "command_line/calibrate_options.h"
#include "portolan/api.h"

/* Writes the topology of this machine, or of the one recorded in options->from, to options->out. Errors:
 * those of pto_topology_read_xml; PTO_ERR_RANGE if what is read is not a topology. */
pto_status_t write_node_topology(const pto_calibrate_options_t *options, pto_error_t *err);

#endif
