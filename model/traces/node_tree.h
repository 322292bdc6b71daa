/* The PCI tree of a node and the links of its GPUs. topology_text.c and topology_xml.c read it from the
 * output of other tools; node_tree.c writes it as a topology. Rates are in GB/s (10^9 bytes) in each
 * direction. */
#ifndef PTO_TRACES_NODE_TREE_H
#define PTO_TRACES_NODE_TREE_H

#include "base/text.h"
#include "portolan/topology.h"

enum { PTO_TREE_GPUS_MAX = 64, PTO_TREE_NICS_MAX = 64, PTO_TREE_SOCKETS_MAX = 64 };

typedef enum {
    PTO_TREE_OTHER,
    PTO_TREE_SOCKET,
    PTO_TREE_HOST_BRIDGE,
    PTO_TREE_SWITCH,
    PTO_TREE_GPU,
    PTO_TREE_NIC
} pto_tree_role_t;

/* A place in the tree: a device, a socket, or what is between them. */
typedef struct {
    int parent; /* index of its place; -1 if none */
    pto_tree_role_t role;
    double gb_per_s;     /* of the link to the parent; 0 if unknown */
    double net_gb_per_s; /* of a NIC: the rate of its network port; 0 if unknown */
    char comment[128];   /* what the file calls a GPU or NIC, or a network device that is left out; else "" */
    int number;          /* index among places of its role; -1 for switches that do not join branches */
} pto_tree_place_t;

typedef struct {
    pto_tree_place_t *place; /* parents come first */
    int count;
    int gpus, nics, sockets;    /* places of each role */
    int gpu[PTO_TREE_GPUS_MAX]; /* the place of each GPU, by number */
    const char *source;         /* the tool that the topology is from */
    const char *link_name;      /* of the GPUs' own links, for comments: "NVLink" or "xGMI" */
    /* Rates of the GPUs' own links, by GPU: to other GPUs, to NVSwitches, and to the CPU; 0 if there is none.
     */
    double between[PTO_TREE_GPUS_MAX][PTO_TREE_GPUS_MAX];
    double to_switch[PTO_TREE_GPUS_MAX], to_cpu[PTO_TREE_GPUS_MAX];
} pto_node_tree_t;

/* Numbers the switches below which several branches lead to devices, once all devices have their roles. */
pto_status_t pto_node_tree_number_switches(pto_node_tree_t *tree, pto_error_t *err);

/* Returns the number of the socket above a place; 0 if it has none. */
int pto_node_tree_socket(const pto_node_tree_t *tree, int place);

/* Writes the text of a topology file. */
void pto_node_tree_write(const pto_node_tree_t *tree, const char *name, const char *source, pto_text_t *text);

/* Makes the topology of a tree, whose name may be "", that was read from `path`. Errors: those of
 * pto_topology_create. */
pto_status_t pto_node_tree_topology(const pto_node_tree_t *tree, const char *name, const char *path,
                                    pto_topology_t **topology, pto_error_t *err);

void pto_node_tree_destroy(pto_node_tree_t *tree);

#endif
