/* What `portolan machine new` writes: guesses with their 95 percent intervals, the links of a machine from
 * datasheets, and how the GPUs of a node are joined by them. */
#ifndef PTO_TOOL_MACHINE_LINKS_H
#define PTO_TOOL_MACHINE_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "portolan/topology.h"
#include "traces/topology_text.h"

typedef struct {
    double value, low, high;
} pto_guess_t;

/* The share of a link's rate that programs reach: on Summit 95 percent of two NICs, on H200s 80 percent of
 * PCIe 5 and 84 of NVLink 4. */
pto_guess_t pto_guess_reached(double s_per_byte);

/* "KEY: VALUE, KEY_95: [LOW, HIGH]" */
void pto_guess_write(FILE *stream, const char *key, pto_guess_t guess);

/* What joins the GPUs of a node. By PCIe: they have no links but those to the host. By xGMI: AMD's, whose
 * library is RCCL. */
typedef enum { PTO_WIRED_BY_PCIE, PTO_WIRED_BY_MESH, PTO_WIRED_BY_SWITCH, PTO_WIRED_BY_XGMI } pto_wired_by_t;

typedef struct {
    const char *name;  /* as given; NULL: no such link */
    double s_per_byte; /* of all links of a device together */
    const char *source;
    int64_t links;          /* of a device */
    int64_t per_peer;       /* in a mesh; 0: as many as there are */
    int64_t mesh_gpus_most; /* nodes of up to this many GPUs have no switch by default */
} pto_sold_link_t;

/* The names of links; NULL behind the last one. */
const char *pto_sold_link_at(int i);

/* A link by name, or a rate with a unit. */
pto_status_t pto_link_read(const char *text, pto_sold_link_t *link, pto_error_t *err);

/* For `apply` to a pto_sold_link_t: the same, for options that name links: an unknown name is told apart from
 * a wrong rate; and a NIC by its rate, or by what it is sold as: NDR, 400G. */
pto_status_t pto_link_read_named(void *link, const char *text, pto_error_t *err);
pto_status_t pto_link_read_nic(void *link, const char *text, pto_error_t *err);

typedef enum { PTO_JOINED_BY_SWITCH, PTO_JOINED_BY_MESH, PTO_JOINED_BY_DEFAULT } pto_joined_by_t;

/* The parts of a topology: devices are divided among sockets in order. */
typedef struct {
    int64_t sockets, gpus, nics;
    int64_t links_per_peer; /* 0: as many as such GPUs have */
    pto_joined_by_t joined_by;
    pto_sold_link_t gpu, host, nic;
    double pair_s_per_byte; /* of the links between two GPUs, the fastest pair */
} pto_node_links_t;

/* The block `nccl`, for the GPUs of a node. `topology`: what was read; or NULL. */
void pto_guess_write_nccl(FILE *stream, const pto_node_links_t *links, const pto_topology_t *topology,
                          pto_wired_by_t wired_by);

/* Decide between switch and mesh (of more than two GPUs, whose pairs share nothing), and find the rate of a
 * pair. `gpu` becomes all links of a GPU to its peers. Errors: PTO_ERR_RANGE where a GPU has too few. */
pto_status_t pto_node_links_join(pto_node_links_t *links, pto_error_t *err);

/* A topology by name, or of a file: ours, XML (.xml), or what other tools print (.txt), whose rates are
 * given. */
pto_status_t pto_topology_open_any(const char *name, pto_link_rates_t rates, pto_topology_t **topology,
                                   pto_error_t *err);

/* Devices and links of a topology, each GPU's as those of the slowest. Errors: PTO_ERR_NOT_APPLICABLE where
 * it does not have a rate that is not given. */
pto_status_t pto_node_links_take(pto_node_links_t *links, const pto_topology_t *topology, pto_error_t *err);

/* Seconds a byte that each of the first GPUs of a node sends to the next one of its rings, and to all others
 * in an alltoall: in a mesh, the links among these GPUs alone carry it. */
typedef struct {
    double ring, alltoall;
} pto_gpu_rates_t;

/* `topology`: what was read; or NULL. */
pto_gpu_rates_t pto_node_links_among(const pto_node_links_t *links, const pto_topology_t *topology,
                                     int64_t gpus);

/* The block `topology`, of a topology that was read, whose rates become those that are reached. */
pto_status_t pto_topology_write_reached(FILE *stream, pto_topology_t *topology, pto_error_t *err);

/* The block `topology` of a mesh. */
void pto_node_links_write(FILE *stream, const pto_node_links_t *links);

#endif
