/* What the CUDA files of calibrate share. */
#ifndef PORTOLAN_CALIBRATE_GPU_CUDA_H
#define PORTOLAN_CALIBRATE_GPU_CUDA_H

#include <cuda_runtime.h>

#include "gpu.h"

/* NULL or the error's text; clears it, so that it is said once and later calls start clean. */
const char *gpu_text(cudaError_t error);

/* The stream of the selected device, made at its first use. */
cudaError_t gpu_stream(cudaStream_t *found);

#endif
