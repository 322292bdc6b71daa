/* The PCI tree of a node and the links of its GPUs, as readers of other tools' topologies find them. */
#ifndef PTO_TRACES_NODE_TREE_H
#define PTO_TRACES_NODE_TREE_H

#include "base/text.h"
#include "portolan/topology.h"

enum { PTO_TREE_GPUS_MAX = 64, PTO_TREE_NICS_MAX = 64, PTO_TREE_SOCKETS_MAX = 64 };

typedef enum { PTO_TREE_OTHER, PTO_TREE_SOCKET, PTO_TREE_SWITCH, PTO_TREE_GPU, PTO_TREE_NIC } pto_tree_role_t;

typedef struct {
    int parent; /* -1: none */
    pto_tree_role_t role;
    double gb_per_s;   /* of the link to the parent; 0: not known */
    char comment[128]; /* of GPUs and NICs: what the file calls it */
    int number;        /* among those of its role; switches in which branches do not meet: -1 */
} pto_tree_place_t;

typedef struct {
    pto_tree_place_t *place; /* parents come first */
    int count;
    int gpus, nics, sockets;
    const char *link_name; /* NVLink, xGMI */
    double between[PTO_TREE_GPUS_MAX][PTO_TREE_GPUS_MAX];
    double to_switch[PTO_TREE_GPUS_MAX], to_cpu[PTO_TREE_GPUS_MAX];
} pto_node_tree_t;

/* The text of a topology file. Places without a socket are on the first. */
void pto_node_tree_write(pto_node_tree_t *tree, const char *name, const char *source, pto_text_t *text);

#endif
