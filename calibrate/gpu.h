/* The device that is measured (portolan/exec.h), the executor's own. A process has one, as it has one GPU
 * selected. */
#ifndef PORTOLAN_CALIBRATE_GPU_H
#define PORTOLAN_CALIBRATE_GPU_H

#include "portolan/bench.h"

enum { GPU_COUNT_MAX = 16 };

/* NULL where there is none. */
typedef struct {
    const pto_device_t *device;
    const pto_device_bench_t *bench;
    void *stream; /* of the selected GPU */
} gpu_t;

extern gpu_t gpu;

/* "with CUDA 13.0" or "without CUDA": what this program was built with. */
const char *gpu_build(void);

/* Find the device and how many of its GPUs this process may use, at most GPU_COUNT_MAX. CUDA's, or host
 * memory where the environment has PORTOLAN_EMULATED_GPUS, how many: for tests. Errors: why there is none. */
pto_status_t gpu_find(int *count, pto_error_t *err);

/* Make a GPU the one that the following calls are about, and `gpu.stream` its stream. */
void gpu_select(int index);

#endif
