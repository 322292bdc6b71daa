/* NVLinks of the GPUs of this machine, by NVML, which is opened at run time. */
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

/* Levels of nvmlDeviceGetTopologyCommonAncestor. They know PCI only: GPUs that an NVLink joins are as far
 * apart as their slots. */
typedef enum {
    ANCESTOR_BOARD = 0,
    ANCESTOR_SWITCH = 10,
    ANCESTOR_SWITCHES = 20,
    ANCESTOR_BRIDGE = 30,
    ANCESTOR_SOCKET = 40,
    ANCESTOR_NODE = 50
} ancestor_t;

/* Fill in the NVLinks of the GPUs at these PCI addresses; false where there is no NVML. `ancestor[i][j]` is
 * NVML's level of a pair, -1 where it tells none. */
bool nvlink_read(int gpus, char (*bus)[16], nvlink_t *links, int ancestor[][NVLINK_GPUS_MAX]);

#endif
