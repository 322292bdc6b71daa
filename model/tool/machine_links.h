/* What the files of `portolan machine new` share: guessed costs with their 95 percent intervals, the links of
 * a node from datasheets or a topology, and how they connect its GPUs (a switch or a mesh). In these structs,
 * rates are those of datasheets, in seconds per byte and in each direction. The functions that write the
 * machine file convert them to achievable rates (pto_guess_achieved). */
#ifndef PTO_TOOL_MACHINE_LINKS_H
#define PTO_TOOL_MACHINE_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "portolan/topology.h"
#include "traces/topology_text.h"

/* A guessed parameter of a cost, with the ends of its 95 percent interval. Variables named `start` are
 * start-up times (alpha_s, in seconds); those named `byte` are times per byte (beta_s_per_byte). */
typedef struct {
    double value, low, high;
} pto_guess_t;

/* The seconds per byte that programs achieve on a link whose datasheet says `s_per_byte`. */
pto_guess_t pto_guess_achieved(double s_per_byte);

/* Write "KEY: VALUE, KEY_95: [LOW, HIGH]". */
void pto_guess_write(FILE *stream, const char *key, pto_guess_t guess);

/* What connects the GPUs of a node, which decides whose measurements the costs of NCCL come from. PCIe: the
 * GPUs have links to the host alone. Mesh and switch: NVLink. xGMI: AMD's links, with RCCL instead of NCCL.
 */
typedef enum {
    PTO_INTERCONNECT_PCIE,
    PTO_INTERCONNECT_MESH,
    PTO_INTERCONNECT_SWITCH,
    PTO_INTERCONNECT_XGMI
} pto_interconnect_t;

/* The links of a device by product, such as NVLink 4, or by their rate. */
typedef struct {
    const char *name;      /* of the product, or the text given; NULL: no such link */
    double s_per_byte;     /* of all links of a device together */
    const char *source;    /* of the rate, for the comments of the machine file */
    int64_t links;         /* number of links of a device */
    bool any_count;        /* given as the rate of one link: a device has as many as its mesh needs */
    int64_t per_peer;      /* links between two devices of a mesh; 0: the device's links, divided evenly */
    int64_t mesh_gpus_max; /* nodes of up to this many GPUs are meshes by default */
} pto_link_product_t;

/* The names of products; NULL after the last one. */
const char *pto_link_product_at(int i);

/* Read a link by name, or a rate with a unit. Errors: PTO_ERR_RANGE. */
pto_status_t pto_link_read(const char *text, pto_link_product_t *link, pto_error_t *err);

/* The same as the `apply` of an option; `target` is a pto_link_product_t. The error lists the known names. */
pto_status_t pto_link_read_named(void *target, const char *text, pto_error_t *err);

/* The same for the link of a NIC: the text may also be a product name of NICs, such as NDR or 400G. */
pto_status_t pto_link_read_nic(void *target, const char *text, pto_error_t *err);

/* How the links between GPUs are arranged (--gpu-topology). Default: the product's arrangement. */
typedef enum { PTO_JOINED_BY_SWITCH, PTO_JOINED_BY_MESH, PTO_JOINED_BY_DEFAULT } pto_joined_by_t;

/* The devices and links of a node. GPUs and NICs are divided among the sockets in order. */
typedef struct {
    int64_t sockets, gpus, nics;
    int64_t links_per_peer;    /* between two GPUs of a mesh; 0: the product's default */
    pto_joined_by_t joined_by; /* not PTO_JOINED_BY_DEFAULT once pto_node_links_complete has chosen */
    pto_link_product_t gpu;    /* between GPUs */
    pto_link_product_t host;   /* from a GPU to the host */
    pto_link_product_t nic;    /* of one NIC to the network */
    double pair_s_per_byte;    /* of the links of the fastest pair of GPUs */
} pto_node_links_t;

/* Write the block `nccl` of a machine file. `topology` is what --from read, or NULL. */
void pto_guess_write_nccl(FILE *stream, const pto_node_links_t *links, const pto_topology_t *topology,
                          pto_interconnect_t interconnect);

/* Choose between switch and mesh if `joined_by` leaves it open, and compute pair_s_per_byte. In a mesh, `gpu`
 * then has the rate of all links that a GPU has to its peers. Two GPUs count as a switch, because their links
 * are not divided. Errors: PTO_ERR_RANGE if a GPU has too few links. */
pto_status_t pto_node_links_complete(pto_node_links_t *links, pto_error_t *err);

/* Open a topology: hwloc's or NCCL's XML (.xml), what nvidia-smi or rocm-smi print (.txt), or a topology file
 * by its name or path. `rates` are those of the links in a .txt, which does not have them; others ignore it.
 */
pto_status_t pto_topology_open_any(const char *name, pto_link_rates_t rates, pto_topology_t **topology,
                                   pto_error_t *err);

/* Take devices and links from a topology; all GPUs get the rates of the slowest. Errors:
 * PTO_ERR_NOT_APPLICABLE if neither the topology nor links->nic has the NICs' rate, or if links->gpu is given
 * and a GPU of the topology has no links to other GPUs. */
pto_status_t pto_node_links_from_topology(pto_node_links_t *links, const pto_topology_t *topology,
                                          pto_error_t *err);

/* Seconds per byte that a GPU sends in NCCL's rings and in an alltoall. */
typedef struct {
    double ring, alltoall;
} pto_gpu_rates_t;

/* The rates of each of the first `gpus` GPUs of a node. In a mesh, only the links between these carry the
 * bytes. `topology` is what --from read, or NULL. */
pto_gpu_rates_t pto_node_links_rates(const pto_node_links_t *links, const pto_topology_t *topology,
                                     int64_t gpus);

/* Replace the rates of a topology by the achievable ones, and write it as the block `topology`. Errors: those
 * of pto_topology_format. */
pto_status_t pto_topology_write_achieved(FILE *stream, pto_topology_t *topology, pto_error_t *err);

/* Write the block `topology` of a mesh. */
void pto_node_links_write(FILE *stream, const pto_node_links_t *links);

#endif
