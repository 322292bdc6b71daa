/* Resources that the processes of a node share: the links of its topology and the memory of its sockets.
 * Which of them a message or a copy occupies, and which of its ends counts them.
 *
 * A link between a GPU and anything but a GPU is that GPU's port. A sender occupies its port while it sends;
 * a receiver occupies its own and all links between. The engines of the GPUs (copies.h) stand for the ports
 * where a copy passes, so a copy occupies the links between alone. Where each GPU has one link, at the rate
 * of its messages and copies, and one process, nothing is then added to what their own costs say.
 *
 * The memory of a socket is one more link. It carries each byte that is read from it and each that is written
 * to it: twice for a message or a copy within host memory. A sender counts its reads, a receiver its writes.
 * */
#ifndef PTO_PRICE_PATHS_H
#define PTO_PRICE_PATHS_H

#include "machine/machine_internal.h"
#include "plan/plan_internal.h"
#include "portolan/scenario.h"
#include "portolan/topology.h"

/* The links of one node, in order: those of the topology, then the memory of each socket of the layout. */
typedef struct {
    const pto_layout_t *layout;
    const int64_t *gpu;                   /* the layout's GPU of each of a plan's; NULL: the same */
    const pto_topology_t *topology;       /* NULL: unknown */
    const pto_param_t *memory_s_per_byte; /* NULL: unknown */
    int memory_first;
    int count; /* 0: nothing is known to be shared */
} pto_links_t;

pto_links_t pto_links_of(const pto_machine_t *machine, const pto_layout_t *layout);
const pto_param_t *pto_link_s_per_byte(const pto_links_t *links, int link);

/* PTO_ERR_RANGE unless the layout's GPUs and their sockets are among the topology's. */
pto_status_t pto_links_check(const pto_links_t *links, pto_error_t *err);

/* Links, any of the topology first, in order. */
typedef struct {
    int route_count;
    const int *route;
    int memory_count;
    int memory[2];
} pto_path_t;

static inline int pto_path_length(const pto_path_t *path) { return path->route_count + path->memory_count; }

static inline int pto_path_link(const pto_path_t *path, int index) {
    return index < path->route_count ? path->route[index] : path->memory[index - path->route_count];
}

/* The same between nodes; a message takes each level's link at most once in each direction. */
typedef struct {
    int count;
    int link[PTO_FABRIC_LEVELS_MAX];
} pto_fabric_path_t;

/* A GPU of the layout, or the memory of its socket. */
typedef struct {
    int64_t gpu; /* numbered across nodes */
    pto_space_t space;
} pto_memory_t;

/* From one memory to another of the same node, all links. */
pto_path_t pto_path_between(const pto_links_t *links, pto_memory_t from, pto_memory_t to);

/* The part of a message's path that its sender, or its receiver, counts. */
pto_path_t pto_path_of_end(const pto_links_t *links, bool sender, pto_memory_t from, pto_memory_t to);

/* Whether senders, or receivers, count this link. */
bool pto_link_is_of_end(const pto_links_t *links, bool sender, int link);

/* The links that a copy counts, with the action's peer. */
pto_path_t pto_copy_path(const pto_links_t *links, const pto_plan_t *plan, const pto_action_t *action);

/* The memory that a rank's reduction uses, if its CPU does it; empty for a GPU's. */
pto_path_t pto_reduction_path(const pto_links_t *links, const pto_plan_t *plan, const pto_step_t *step,
                              int64_t rank);

/* The bytes that the reduction reads and writes there. In pieces of `reduce.cpu` before the last, a core
 * works in its caches: 0. */
int64_t pto_reduction_traffic(const pto_machine_t *machine, const pto_step_t *step, int64_t source_bytes,
                              int64_t target_bytes);

/* The fabric's directed links above `nodes` nodes: of each level's groups in turn the link up and the link
 * down. Their number, the parameter of one, and those that a message takes up from its sender's node, or down
 * to its receiver's. */
int64_t pto_fabric_link_count(const pto_fabric_t *fabric, int64_t nodes);
const pto_param_t *pto_fabric_s_per_byte(const pto_fabric_t *fabric, int64_t nodes, int64_t link);
pto_fabric_path_t pto_fabric_path(const pto_fabric_t *fabric, const pto_layout_t *layout, int64_t node,
                                  int64_t other, bool up);

#endif
