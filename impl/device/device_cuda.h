/* Error checking and access to the driver, for the files of the CUDA device. */
#ifndef PTO_DEVICE_CUDA_H
#define PTO_DEVICE_CUDA_H

#include <cstring>
#include <cuda_runtime.h>

#include "operations.cuh"
#include "portolan/kernel.h"

#define CUDA_DO(call, err) check((call), #call, (err))

static inline pto_status_t check(cudaError_t error, const char *call, pto_error_t *err) {
    if (error == cudaSuccess)
        return PTO_OK;
    (void)cudaGetLastError(); /* reported once; later calls start clean */
    pto_status_t status = error == cudaErrorMemoryAllocation ? PTO_ERR_MEMORY : PTO_ERR_IO;
    return pto_error_set(err, status, "%.*s: %s", (int)strcspn(call, "("), call, cudaGetErrorString(error));
}

/* Finds a function of the driver without linking it, through the run-time library; NULL: none. */
static inline pto_status_t find_driver_call(const char *name, void **call, pto_error_t *err) {
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    *call = nullptr;
    pto_status_t status =
        check(cudaGetDriverEntryPointByVersion(name, call, 12000, cudaEnableDefault, &found),
              "cudaGetDriverEntryPointByVersion", err);
    if (found != cudaDriverEntryPointSuccess)
        *call = nullptr;
    return status;
}

#endif
