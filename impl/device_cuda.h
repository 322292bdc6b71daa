/* What the files of the CUDA device share: errors named once, and how two values are combined. */
#ifndef PTO_DEVICE_CUDA_H
#define PTO_DEVICE_CUDA_H

#include <cstring>
#include <cuda_runtime.h>

#include "portolan/kernel.h"

#define CUDA_DO(call, err) check((call), #call, (err))

static inline pto_status_t check(cudaError_t error, const char *call, pto_error_t *err) {
    if (error == cudaSuccess)
        return PTO_OK;
    (void)cudaGetLastError(); /* said once; later calls start clean */
    pto_status_t status = error == cudaErrorMemoryAllocation ? PTO_ERR_MEMORY : PTO_ERR_IO;
    return pto_error_set(err, status, "%.*s: %s", (int)strcspn(call, "("), call, cudaGetErrorString(error));
}

/* Sums and products of integers are asked for with their unsigned twins, so that they wrap round. */
struct sum {
    template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct product {
    template <typename T> __device__ T operator()(T a, T b) const { return a * b; }
};
struct minimum {
    template <typename T> __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
struct maximum {
    template <typename T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

#endif
