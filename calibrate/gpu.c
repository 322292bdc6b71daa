/* The device that is measured (gpu.h), with a stream for each of its GPUs. */
#include "gpu.h"

#include <stdlib.h>

#include "fatal.h"

gpu_t gpu;

const char *gpu_build(void) {
    const pto_device_t *cuda = NULL;
    return pto_device_find("cuda", &cuda, NULL) == PTO_OK ? cuda->bench->build : "without CUDA";
}

pto_status_t gpu_find(int *count, pto_error_t *err) {
    const pto_device_t *device = NULL;
    const char *name = getenv("PORTOLAN_EMULATED_GPUS") != NULL ? "host" : "cuda";
    if (pto_device_find(name, &device, NULL) != PTO_OK)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "portolan-calibrate was built without CUDA");
    if (device->bench == NULL)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the device '%s' has no benchmarks", name);
    gpu = (gpu_t){.device = device, .bench = device->bench};
    pto_status_t status = gpu.bench->count(count, err);
    *count = *count < GPU_COUNT_MAX ? *count : GPU_COUNT_MAX;
    return status;
}

void gpu_select(int index) {
    static void *stream[GPU_COUNT_MAX];
    GPU_DO(gpu.device->select(index, &gpu_error));
    if (stream[index] == NULL)
        GPU_DO(gpu.device->stream_create(&stream[index], &gpu_error));
    gpu.stream = stream[index];
}
