/* Guesses of `portolan machine new`, each with its 95 percent interval. */
#ifndef PTO_TOOL_MACHINE_GUESS_H
#define PTO_TOOL_MACHINE_GUESS_H

#include <stdint.h>
#include <stdio.h>

#include "machine_links.h"

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

/* The block `nccl`, for the GPUs of a node. `topology`: what was read; or NULL. */
void pto_guess_write_nccl(FILE *stream, const pto_node_links_t *links, const pto_topology_t *topology,
                          pto_wired_by_t wired_by);

#endif
