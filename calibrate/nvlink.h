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

/* Levels of nvmlDeviceGetTopologyCommonAncestor. They describe PCI only, regardless of NVLinks. */
typedef enum {
    ANCESTOR_BOARD = 0,
    ANCESTOR_SWITCH = 10,
    ANCESTOR_SWITCHES = 20,
    ANCESTOR_BRIDGE = 30,
    ANCESTOR_SOCKET = 40,
    ANCESTOR_NODE = 50
} ancestor_t;

/* Adds the NVLinks of the GPUs at these PCI addresses to `links`, zero at first. Returns false without NVML,
 * or if it does not know one of the addresses. `ancestor[i][j]` is NVML's level of a pair; -1: unknown. */
bool nvlink_read(int gpus, char (*bus)[16], nvlink_t *links, int ancestor[][NVLINK_GPUS_MAX]);

#endif
