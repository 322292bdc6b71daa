/* Finds the links that a message, a copy or a reduction occupies: those of its node's topology, the memory of
 * its node's sockets, and those of the fabric between nodes. links.c counts the bytes of each.
 *
 * A link between a GPU and anything but a GPU is the GPU's port. Sender and receiver are charged separately,
 * so each link on a message's path is counted by one of them: the sender counts the port that the message
 * leaves by; the receiver counts its own port and all links between the two ports. A copy never counts ports,
 * as the engines of the GPUs (copies.h) stand for them. So sharing adds no time where each GPU has one
 * process, and one link that is as fast as the GPU's messages and copies.
 *
 * The memory of a socket is one more link. It carries each byte that is read from it and each that is written
 * to it: twice for a message or a copy within host memory. A sender counts its reads, a receiver its writes.
 */
#ifndef PTO_PRICE_PATHS_H
#define PTO_PRICE_PATHS_H

#include "machine/machine_internal.h"
#include "plan/plan_internal.h"
#include "portolan/scenario.h"
#include "portolan/topology.h"

/* The links of one node. They are numbered: first those of the topology, then the memory of each socket. */
typedef struct {
    const pto_layout_t *layout;
    const int64_t *gpu;             /* the layout's number of each GPU of a plan; NULL: the same numbers */
    const pto_topology_t *topology; /* NULL: unknown */
    const pto_param_t *memory_s_per_byte; /* NULL: unknown */
    int memory_first;                     /* the number of the first socket's memory */
    int count;                            /* 0: nothing is known to be shared */
} pto_shared_links_t;

/* Returns the links of a node; it borrows both arguments. */
pto_shared_links_t pto_links_of(const pto_machine_t *machine, const pto_layout_t *layout);

/* Returns the time that a link takes for a byte. */
const pto_param_t *pto_link_s_per_byte(const pto_shared_links_t *links, int link);

/* PTO_ERR_RANGE unless the topology has all GPUs and sockets of the layout. */
pto_status_t pto_links_check(const pto_shared_links_t *links, pto_error_t *err);

/* The links of a node that a transfer occupies: of the topology (`route` is borrowed from it), and memory. */
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

/* The memory of a GPU, or that of the GPU's socket. */
typedef struct {
    int64_t gpu; /* of the layout, numbered across nodes */
    pto_space_t space;
} pto_memory_t;

typedef enum { PTO_END_SENDER, PTO_END_RECEIVER } pto_path_end_t;

static inline pto_path_end_t pto_message_end(const pto_step_t *step) {
    return step->kind == PTO_STEP_SEND ? PTO_END_SENDER : PTO_END_RECEIVER;
}

/* Returns all links on the way from one memory to another of the same node. */
pto_path_t pto_path_between(const pto_shared_links_t *links, pto_memory_t from, pto_memory_t to);

/* Returns the links on this way that one end of a message counts. */
pto_path_t pto_path_of_end(const pto_shared_links_t *links, pto_path_end_t end, pto_memory_t from,
                           pto_memory_t to);

/* Returns whether messages count this link at this end. Both ends count the memory of sockets. */
bool pto_link_is_of_end(const pto_shared_links_t *links, pto_path_end_t end, int link);

/* Returns the links that a copy counts; if it has peers, to or from the action's current one. */
pto_path_t pto_copy_path(const pto_shared_links_t *links, const pto_plan_t *plan, const pto_action_t *action);

/* Returns the memory that a rank's reduction uses if its CPU does it; no links if its GPU does. */
pto_path_t pto_reduction_path(const pto_shared_links_t *links, const pto_plan_t *plan, const pto_step_t *step,
                              int64_t rank);

/* Returns the bytes that a CPU's reduction reads from and writes to this memory. It is 0 for sizes below the
 * last row of the machine's `reduce.cpu`: a core then works in its caches. */
int64_t pto_reduction_traffic(const pto_machine_t *machine, const pto_step_t *step, int64_t source_bytes,
                              int64_t target_bytes);

/* The links of the fabric join groups of nodes, level by level. Each group has a link up and one down. The
 * links of `nodes` nodes are numbered by level, then by group, the link up first. */
int64_t pto_fabric_link_count(const pto_fabric_t *fabric, int64_t nodes);

/* Returns the time that the fabric's link of this number takes for a byte. */
const pto_param_t *pto_fabric_s_per_byte(const pto_fabric_t *fabric, int64_t nodes, int64_t link);

/* The fabric's links that a message passes on one side of the highest level that it reaches. */
typedef struct {
    int count;
    int link[PTO_FABRIC_LEVELS_MAX];
} pto_fabric_path_t;

/* Returns the links up from the sender's node, or those down to the receiver's. */
pto_fabric_path_t pto_fabric_path(const pto_fabric_t *fabric, const pto_layout_t *layout, pto_path_end_t end,
                                  int64_t from_node, int64_t to_node);

#endif
