/* The topology of a node: devices, links between them with a rate in each direction, and the route from each
 * device to each other (docs/formats.md, 'Topologies').
 *
 * A vertex is a device (gpu.0, socket.1, nic.0) or another junction of links (switch.3). Routes start and end
 * at GPUs and NICs, and pass only through sockets and other vertices. Link i of the file becomes the directed
 * links 2 i and 2 i + 1, since the directions share no bandwidth. */
#ifndef PORTOLAN_TOPOLOGY_H
#define PORTOLAN_TOPOLOGY_H

#include <stddef.h>

#include "portolan/api.h"
#include "portolan/machine.h"

PTO_C_BEGIN

typedef enum { PTO_DEVICE_GPU, PTO_DEVICE_SOCKET, PTO_DEVICE_NIC, PTO_DEVICE_KINDS } pto_device_kind_t;

const char *pto_device_kind_name(pto_device_kind_t value);

enum { PTO_VERTEX_NAME_MAX = 32, PTO_TOPOLOGY_DEVICES_MAX = 128, PTO_TOPOLOGY_VERTICES_MAX = 512 };

/* One direction of a link. */
typedef struct {
    int from; /* vertices */
    int to;
    pto_param_t s_per_byte;
    pto_param_t alpha_s; /* added to a message's startup time; unknown: nothing */
} pto_topology_link_t;

typedef struct pto_topology pto_topology_t;

/* Read a file of scenarios/topologies, or one that has a machine's key `topology`. The caller frees
 * `*topology` with pto_topology_destroy. Errors: PTO_ERR_IO, _SYNTAX, _KEY, _TYPE, _RANGE (a device has no
 * route to another), _NOT_FOUND, _TOO_LARGE, _MEMORY, each with file, line and column. */
pto_status_t pto_topology_open(const char *path, pto_topology_t **topology, pto_error_t *err);

/* The same from the text of a file; `path` only names it in messages. */
pto_status_t pto_topology_create(const char *text, size_t text_size, const char *path,
                                 pto_topology_t **topology, pto_error_t *err);

void pto_topology_destroy(pto_topology_t *topology);

/* The topology of a machine's node; NULL: its file has none. */
const pto_topology_t *pto_machine_topology(const pto_machine_t *machine);

const char *pto_topology_name(const pto_topology_t *topology);   /* NULL: not given */
const char *pto_topology_source(const pto_topology_t *topology); /* NULL: not given */
const char *pto_topology_path(const pto_topology_t *topology);   /* NULL: it has no file of its own */

int pto_topology_device_count(const pto_topology_t *topology, pto_device_kind_t kind);

/* The vertex of a device. */
int pto_topology_device(const pto_topology_t *topology, pto_device_kind_t kind, int number);

/* Devices come first: GPUs, sockets, NICs. */
int pto_topology_vertex_count(const pto_topology_t *topology);
const char *pto_topology_vertex_name(const pto_topology_t *topology, int vertex);

/* Directed links. */
int pto_topology_link_count(const pto_topology_t *topology);
const pto_topology_link_t *pto_topology_link_at(const pto_topology_t *topology, int index);

/* The directed links that bytes cross on their way from one device to another, both given as vertices, in
 * order. Returns their number; 0 from a device to itself. */
int pto_topology_route(const pto_topology_t *topology, int from, int to, const int **link);

/* Seconds per byte of a route's slowest link without contention; 0 from a device to itself. */
double pto_topology_route_s_per_byte(const pto_topology_t *topology, int from, int to);

/* The text of a topology file, which the caller frees. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_topology_format(const pto_topology_t *topology, char **text, pto_error_t *err);

PTO_C_END

#endif
