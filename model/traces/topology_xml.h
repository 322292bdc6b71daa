/* Reads topologies of nodes from the XML of hwloc 2 and 3, and of NCCL and RCCL (NCCL_TOPO_DUMP_FILE). */
#ifndef PTO_TRACES_TOPOLOGY_XML_H
#define PTO_TRACES_TOPOLOGY_XML_H

#include <stdbool.h>

#include "node_tree.h"
#include "portolan/topology.h"
#include "xml.h"

/* Reads a file. Errors: those of pto_xml_read; PTO_ERR_NOT_APPLICABLE if it is another kind of XML, or has no
 * GPU, GPUs of several hosts, or links of unknown rate. */
pto_status_t pto_topology_read_xml(const char *path, pto_topology_t **topology, pto_error_t *err);

/* Makes only the tree, from the elements of `xml`, whose texts it changes. Messages call it `path`. Errors:
 * as above. Free it with pto_node_tree_destroy. */
pto_status_t pto_node_tree_create(pto_xml_t *xml, const char *path, pto_node_tree_t **tree, pto_error_t *err);

/* Returns whether the rates of NICs' links take the network's rate into account. It is unknown to hwloc,
 * nvidia-smi and rocm-smi, but known to NCCL's and RCCL's files and those written by hand. */
bool pto_topology_has_nic_rates(const pto_topology_t *topology);

/* Returns whether the GPUs have AMD's links. */
bool pto_topology_has_xgmi(const pto_topology_t *topology);

#endif
