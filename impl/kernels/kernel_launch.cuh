/* Repeated launches of a kernel, in host code. They call the driver's cuLaunchKernelEx, which takes less CPU
 * time than the run-time library's launch, which looks up the kernel each time. prepare_launch fills in once
 * what all launches of a kernel have in common. */
#ifndef PTO_KERNEL_LAUNCH_CUH
#define PTO_KERNEL_LAUNCH_CUH

#include <cuda.h>
#include <cuda_runtime.h>

#include "device/device_cuda.h"

typedef CUresult (*launch_t)(const CUlaunchConfig *, CUfunction, void **, void **);

/* A launch outside a graph. All zero at first. */
struct plain_launch {
    launch_t call;     /* cuLaunchKernelEx */
    const void *entry; /* the kernel, for the run-time library */
    CUfunction function;
    CUlaunchConfig config;
    CUlaunchAttribute overlaps; /* programmatic dependent launch (kernel_memory.cuh); may be left out */
};

static pto_status_t find_launch(plain_launch *launch, pto_error_t *err) {
    void *call = nullptr;
    const pto_status_t status = find_driver_call("cuLaunchKernelEx", &call, err);
    if (status == PTO_OK && call == nullptr)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the driver has no cuLaunchKernelEx: CUDA 12 is needed");
    launch->call = reinterpret_cast<launch_t>(call);
    return status;
}

/* Prepares launches. Call it again when `entry` changes. */
static pto_status_t prepare_launch(plain_launch *launch, const void *entry, unsigned blocks, unsigned threads,
                                   pto_error_t *err) {
    cudaFunction_t function = nullptr;
    pto_status_t status = launch->call != nullptr ? PTO_OK : find_launch(launch, err);
    launch->config.gridDimX = blocks;
    launch->config.gridDimY = launch->config.gridDimZ = 1;
    launch->config.blockDimX = threads;
    launch->config.blockDimY = launch->config.blockDimZ = 1;
    launch->config.attrs = &launch->overlaps;
    launch->overlaps.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    launch->overlaps.value.programmaticStreamSerializationAllowed = 1;
    if (status != PTO_OK || launch->entry == entry)
        return status;
    status = CUDA_DO(cudaGetFuncBySymbol(&function, entry), err);
    launch->function = function;
    launch->entry = status == PTO_OK ? entry : nullptr;
    return status;
}

/* The driver's call needs a current context. The run-time library makes its context current in a thread when
 * the thread first calls it. In a thread that has not called it yet, the driver's call fails at once; then
 * select the thread's device by the run-time library, and try again. */
static CUresult launch_in_context(const plain_launch *launch, void *parameter) {
    void *parameters[] = {parameter};
    const CUresult result = launch->call(&launch->config, launch->function, parameters, nullptr);
    int device = 0;
    if (result != CUDA_ERROR_INVALID_CONTEXT || cudaGetDevice(&device) != cudaSuccess ||
        cudaSetDevice(device) != cudaSuccess)
        return result;
    return launch->call(&launch->config, launch->function, parameters, nullptr);
}

/* `overlaps`: the kernel may begin while the kernel before it in the stream ends. A CUresult and the
 * cudaError_t of the same meaning have equal numbers. */
static pto_status_t launch_plainly(plain_launch *launch, void *parameter, bool overlaps, cudaStream_t stream,
                                   pto_error_t *err) {
    launch->config.hStream = stream;
    launch->config.numAttrs = overlaps ? 1 : 0;
    return check(static_cast<cudaError_t>(launch_in_context(launch, parameter)), "cuLaunchKernelEx", err);
}

#endif
