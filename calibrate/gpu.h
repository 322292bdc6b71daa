/* The device that is measured: one of the executor's (portolan/exec.h), with its interface for benchmarks. It
 * is global, since a process measures one device and has one GPU selected. */
#ifndef PORTOLAN_CALIBRATE_GPU_H
#define PORTOLAN_CALIBRATE_GPU_H

#include "portolan/bench.h"

enum { GPU_COUNT_MAX = 16 };

/* All NULL: there is none. */
typedef struct {
    const pto_device_t *device;
    const pto_device_bench_t *bench;
    void *stream; /* of the selected GPU */
} gpu_t;

extern gpu_t gpu;

/* "with CUDA 13.0" or "without CUDA": what this program was built with. */
const char *gpu_build(void);

/* Finds the device, and how many of its GPUs this process may use, at most GPU_COUNT_MAX. The device is
 * CUDA's. For tests, the environment variable PORTOLAN_EMULATED_GPUS selects the host device with that many
 * GPUs. Errors: why there is none. */
pto_status_t gpu_find(int *count, pto_error_t *err);
/* Selects a GPU for the following calls, and makes `gpu.stream` its stream. */
void gpu_select(int index);

#endif
