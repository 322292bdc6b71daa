/* The sockets of this machine, of this process and of GPUs, found by hwloc and NVML; and its topology. */
#ifndef PORTOLAN_CALIBRATE_TOPOLOGY_H
#define PORTOLAN_CALIBRATE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "command_line/calibrate_options.h"
#include "portolan/api.h"

typedef struct topology topology_t;

/* Ends the job if hwloc fails. */
topology_t *topology_create(void);
void topology_destroy(topology_t *topology);

int topology_sockets(const topology_t *topology);
int topology_cores(const topology_t *topology);
void topology_cpu_name(const topology_t *topology, char *name, size_t name_size);

/* Returns the socket that this process is bound to. If it may run on several, binds it to `preferred`, since
 * levels are measured between sockets, and sets `*bound_here`. */
int topology_own_socket(topology_t *topology, int preferred, bool *bound_here);

/* Returns the socket of the GPU at a PCI address; -1: NVML is absent or names CPUs of several sockets.
 * `driver` is set to the driver's version, if NVML is present. */
int topology_gpu_socket(const topology_t *topology, const char *bus, char *driver, size_t driver_size);

/* Writes the topology of this machine, or of the one recorded in options->from, to options->out, as a
 * topology file (docs/formats.md). Errors: those of pto_topology_read_xml; PTO_ERR_RANGE if what is read is
 * not a topology. */
pto_status_t write_node_topology(const pto_calibrate_options_t *options, pto_error_t *err);

#endif
