/* Topologies of nodes in the XML of hwloc 2 and 3, and of NCCL and RCCL (NCCL_TOPO_DUMP_FILE). */
#ifndef PTO_TRACES_TOPOLOGY_XML_H
#define PTO_TRACES_TOPOLOGY_XML_H

#include <stdbool.h>

#include "node_tree.h"
#include "portolan/topology.h"
#include "xml.h"

/* Errors: those of reading the file; PTO_ERR_NOT_APPLICABLE where it is another kind of XML, has no GPU, GPUs
 * of several hosts, or links without a known rate. */
pto_status_t pto_topology_read_xml(const char *path, pto_topology_t **topology, pto_error_t *err);

/* The tree alone, of a file that was read from `path`; `xml` is taken apart. Errors: as above. */
pto_status_t pto_node_tree_create(pto_xml_t *xml, const char *path, pto_node_tree_t **tree, pto_error_t *err);

/* Returns whether the link of a NIC has the network's rate, if that is less than PCIe's: NCCL's file tells
 * it. */
bool pto_topology_has_nic_rates(const pto_topology_t *topology);

/* Returns whether its GPUs have AMD's links. */
bool pto_topology_has_xgmi(const pto_topology_t *topology);

#endif
