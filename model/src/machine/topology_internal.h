/* The structure behind pto_topology_t, and the functions that construct it. */
#ifndef PTO_TOPOLOGY_INTERNAL_H
#define PTO_TOPOLOGY_INTERNAL_H

#include "formats/yaml_read.h"
#include "machine/machine_internal.h"
#include "portolan/topology.h"

typedef struct {
    bool known;
    bool given; /* by the file; else it is the shortest path */
    int count;  /* of its links */
    int *link;  /* owned: indices of directed links, in order */
} pto_route_t;

struct pto_topology {
    char *name;
    char *source;
    char *path; /* its own file; NULL: part of a machine file */
    int64_t device_count[PTO_DEVICE_KINDS];
    int vertex_count; /* devices come first, by kind; then switches */
    char (*vertex)[PTO_VERTEX_NAME_MAX];
    int link_count; /* directed links: 2 for each link, one after another */
    pto_topology_link_t *link;
    pto_route_t *route; /* [from][to] of devices */
};

/* Returns the number of devices of all kinds. */
int pto_topology_devices(const pto_topology_t *topology);
pto_route_t *pto_topology_route_of(const pto_topology_t *topology, int from, int to);

/* Finds a vertex by name, or adds it if it is not a device. -1: no such device; -2: too many vertices. */
int pto_topology_vertex_add(pto_topology_t *topology, const char *name);

/* Returns the directed link between two vertices; -1: none. */
int pto_topology_link_between(const pto_topology_t *topology, int from, int to);

/* Compute the routes that are not known: those with the smallest sum of s_per_byte, then with the fewest
 * links, then with the links named first. Returns false when out of memory. Routes that do not exist stay
 * unknown. */
bool pto_topology_find_routes(pto_topology_t *topology);

/* Read a topology from a YAML mapping. The caller frees `*topology` with pto_topology_destroy. */
pto_status_t pto_read_topology(const pto_reader_t *reader, const pto_yaml_node_t *node,
                               pto_topology_t **topology);

/* Read the levels of a machine's `fabric`. */
pto_status_t pto_read_fabric(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument);

/* NULL when out of memory. */
pto_topology_t *pto_topology_copy(const pto_topology_t *topology);

#endif
