/* Reads the NVLinks of this machine's GPUs from NVML, loaded at run time: it comes with NVIDIA's driver. */
#ifndef PORTOLAN_CALIBRATE_NVLINK_H
#define PORTOLAN_CALIBRATE_NVLINK_H

#include <stdbool.h>

enum { NVLINK_GPUS_MAX = 64 };

/* GB/s in each direction over all links of a pair. */
typedef struct {
    double between[NVLINK_GPUS_MAX][NVLINK_GPUS_MAX]; /* GPUs */
    double to_switch[NVLINK_GPUS_MAX];                /* to all NVSwitches together */
    double to_cpu[NVLINK_GPUS_MAX];
} nvlink_t;

/* Levels of nvmlDeviceGetTopologyCommonAncestor. They describe PCI only, regardless of NVLinks. NVML's "node"
 * is a NUMA node, here a socket. */
typedef enum {
    ANCESTOR_BOARD = 0,
    ANCESTOR_SWITCH = 10,
    ANCESTOR_SWITCHES = 20,
    ANCESTOR_BRIDGE = 30,
    ANCESTOR_SOCKET = 40, /* NVML_TOPOLOGY_NODE */
    ANCESTOR_MACHINE = 50 /* NVML_TOPOLOGY_SYSTEM */
} ancestor_t;

/* Adds the NVLinks of the GPUs at these PCI addresses to `*links`, which is zero at first, and sets
 * `ancestor[i][j]` to NVML's level of each pair; -1: unknown. False: there is no NVML, or it does not know
 * one of the addresses. */
bool nvlink_read(int gpus, char (*bus)[16], nvlink_t *links, int ancestor[][NVLINK_GPUS_MAX]);

#endif
