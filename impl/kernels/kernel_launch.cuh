/* Launches that a process repeats, by the driver: its own call takes the CPU less than that of the run time,
 * which looks the kernel up each time, and all that launches have in common is prepared once. Host code. */
#ifndef PTO_KERNEL_LAUNCH_CUH
#define PTO_KERNEL_LAUNCH_CUH

#include <cuda.h>
#include <cuda_runtime.h>

#include "device/device_cuda.h"

typedef CUresult (*launch_t)(const CUlaunchConfig *, CUfunction, void **, void **);

struct plain_launch {
    launch_t call;
    const void *entry; /* whose function it is */
    CUfunction function;
    CUlaunchConfig config;
    CUlaunchAttribute overlaps;
};

static pto_status_t find_launch(plain_launch *made, pto_error_t *err) {
    void *call = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const pto_status_t status = CUDA_DO(
        cudaGetDriverEntryPointByVersion("cuLaunchKernelEx", &call, 12000, cudaEnableDefault, &found), err);
    if (status == PTO_OK && (found != cudaDriverEntryPointSuccess || call == nullptr))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the driver has no cuLaunchKernelEx: CUDA 12 is needed");
    made->call = reinterpret_cast<launch_t>(call);
    return status;
}

/* Again where the kernel has become another one. */
static pto_status_t prepare_launch(plain_launch *made, const void *entry, unsigned blocks, unsigned threads,
                                   pto_error_t *err) {
    cudaFunction_t function = nullptr;
    pto_status_t status = made->call != nullptr ? PTO_OK : find_launch(made, err);
    made->config.gridDimX = blocks;
    made->config.blockDimX = threads;
    made->config.gridDimY = made->config.gridDimZ = made->config.blockDimY = made->config.blockDimZ = 1;
    made->config.attrs = &made->overlaps;
    made->overlaps.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    made->overlaps.value.programmaticStreamSerializationAllowed = 1;
    if (status != PTO_OK || made->entry == entry)
        return status;
    status = CUDA_DO(cudaGetFuncBySymbol(&function, entry), err);
    made->function = function;
    made->entry = status == PTO_OK ? entry : nullptr;
    return status;
}

/* The run time makes its context the thread's when it is called. A thread that has not called it yet has
 * none, and the driver says so before it does anything. */
static CUresult launch_in_context(const plain_launch *launch, void *parameter) {
    void *parameters[] = {parameter};
    const CUresult result = launch->call(&launch->config, launch->function, parameters, nullptr);
    int device = 0;
    if (result != CUDA_ERROR_INVALID_CONTEXT || cudaGetDevice(&device) != cudaSuccess ||
        cudaSetDevice(device) != cudaSuccess)
        return result;
    return launch->call(&launch->config, launch->function, parameters, nullptr);
}

/* With `overlaps`, it may begin while the kernel before it in the stream ends. The run time's errors have the
 * driver's numbers. */
static pto_status_t launch_plainly(plain_launch *launch, void *parameter, bool overlaps, cudaStream_t stream,
                                   pto_error_t *err) {
    launch->config.hStream = stream;
    launch->config.numAttrs = overlaps ? 1 : 0;
    return check(static_cast<cudaError_t>(launch_in_context(launch, parameter)), "cuLaunchKernelEx", err);
}

#endif
