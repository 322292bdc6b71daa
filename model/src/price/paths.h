/* The links of a node that its messages and copies take, and who counts which of them.
 *
 * A link between a GPU and anything but a GPU is that GPU's port. A sender occupies its port while it sends;
 * a receiver occupies its own and all links between. The engines of the GPUs (copies.h) stand for the ports
 * where a copy passes, so a copy occupies the links between alone. Where each GPU has one link, at the rate
 * of its messages and copies, and one process, nothing is then added to what their own costs say. */
#ifndef PTO_PRICE_PATHS_H
#define PTO_PRICE_PATHS_H

#include "machine/machine_internal.h"
#include "plan/plan_internal.h"
#include "portolan/layout.h"
#include "portolan/topology.h"

/* Directed links, in order. */
typedef struct {
    int count;
    const int *link;
} pto_path_t;

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

/* PTO_ERR_RANGE unless the layout's GPUs and their sockets are among the topology's. */
pto_status_t pto_paths_check(const pto_topology_t *topology, const pto_layout_t *layout, pto_error_t *err);

/* From one memory to another of the same node, all links. */
pto_path_t pto_path_between(const pto_topology_t *topology, const pto_layout_t *layout, pto_memory_t from,
                            pto_memory_t to);

/* The parts of a message's path that its ends count. */
pto_path_t pto_path_of_sender(const pto_topology_t *topology, pto_path_t path);
pto_path_t pto_path_of_receiver(const pto_topology_t *topology, pto_path_t path);

/* Whether it is a sender that counts this link, which is a port then, outwards. */
bool pto_link_is_senders(const pto_topology_t *topology, int link);

/* The links that a copy counts, with the action's peer. */
pto_path_t pto_copy_path(const pto_topology_t *topology, const pto_plan_t *plan, const pto_action_t *action);

/* The fabric's directed links above `nodes` nodes: of each level's groups in turn the link up and the link
 * down. Their number, the parameter of one, and those that a message takes up from its sender's node, or down
 * to its receiver's. */
int64_t pto_fabric_link_count(const pto_fabric_t *fabric, int64_t nodes);
const pto_param_t *pto_fabric_s_per_byte(const pto_fabric_t *fabric, int64_t nodes, int64_t link);
pto_fabric_path_t pto_fabric_path(const pto_fabric_t *fabric, const pto_layout_t *layout, int64_t node,
                                  int64_t other, bool up);

#endif
