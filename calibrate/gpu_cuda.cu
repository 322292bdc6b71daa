/* The GPU of calibrate, by CUDA's run-time library. */
#include "gpu_cuda.h"

#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

static_assert(sizeof(cudaIpcMemHandle_t) <= GPU_HANDLE_BYTES, "an IPC handle must fit");

static cudaStream_t stream_of_device[64];

const char *gpu_text(cudaError_t error) {
    if (error == cudaSuccess) {
        return nullptr;
    }
    (void)cudaGetLastError(); /* said once; later calls start clean */
    return cudaGetErrorString(error);
}

cudaError_t gpu_stream(cudaStream_t *found) {
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) {
        return error;
    }
    if (device >= 64) {
        return cudaErrorInvalidDevice;
    }
    if (stream_of_device[device] == nullptr) {
        error = cudaStreamCreateWithFlags(&stream_of_device[device], cudaStreamNonBlocking);
    }
    *found = stream_of_device[device];
    return error;
}

#define TEXT_OF(value) #value
#define VERSION_TEXT(major, minor) "with CUDA " TEXT_OF(major) "." TEXT_OF(minor)

const char *gpu_build(void) { return VERSION_TEXT(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__); }

const char *gpu_count(int *count) {
    *count = 0;
    const char *error = gpu_text(cudaGetDeviceCount(count));
    if (error == nullptr && *count == 0) {
        return "no GPU is visible";
    }
    return error;
}

const char *gpu_select(int device) { return gpu_text(cudaSetDevice(device)); }

const char *gpu_describe(int device, char name[GPU_NAME_MAX], char bus[GPU_BUS_MAX]) {
    cudaDeviceProp properties;
    const char *error = gpu_text(cudaGetDeviceProperties(&properties, device));
    if (error != nullptr) {
        return error;
    }
    snprintf(name, GPU_NAME_MAX, "%s", properties.name);
    return gpu_text(cudaDeviceGetPCIBusId(bus, GPU_BUS_MAX, device));
}

const char *gpu_versions(int *driver_cuda, int *runtime_cuda) {
    const char *error = gpu_text(cudaDriverGetVersion(driver_cuda));
    return error != nullptr ? error : gpu_text(cudaRuntimeGetVersion(runtime_cuda));
}

const char *gpu_can_reach(int device, int peer, bool *can) {
    int answer = 0;
    const char *error = gpu_text(cudaDeviceCanAccessPeer(&answer, device, peer));
    *can = answer != 0;
    return error;
}

const char *gpu_reach(int peer) {
    cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled || error == cudaErrorPeerAccessUnsupported) {
        (void)cudaGetLastError();
        return nullptr;
    }
    return gpu_text(error);
}

const char *gpu_allocate(size_t bytes, void **memory) { return gpu_text(cudaMalloc(memory, bytes)); }
const char *gpu_free(void *memory) { return gpu_text(cudaFree(memory)); }
const char *gpu_pinned_allocate(size_t bytes, void **memory) {
    return gpu_text(cudaMallocHost(memory, bytes));
}
const char *gpu_pinned_free(void *memory) { return gpu_text(cudaFreeHost(memory)); }

const char *gpu_fill(void *memory, int byte, size_t bytes) {
    const char *error = gpu_text(cudaMemset(memory, byte, bytes));
    return error != nullptr ? error : gpu_text(cudaDeviceSynchronize());
}

const char *gpu_copy(void *target, const void *source, size_t bytes, gpu_copy_t kind) {
    const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(target, source, bytes, kinds[kind], on);
    }
    return gpu_text(error);
}

const char *gpu_copy_rows(void *target, const void *source, size_t bytes, size_t rows, size_t pitch,
                          gpu_copy_t kind) {
    bool to_device = kind == GPU_H2D;
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    if (error == cudaSuccess) {
        error = cudaMemcpy2DAsync(target, to_device ? pitch : bytes, source, to_device ? bytes : pitch, bytes,
                                  rows, to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, on);
    }
    return gpu_text(error);
}

const char *gpu_own_stream(void **found) {
    cudaStream_t on = nullptr;
    const char *error = gpu_text(gpu_stream(&on));
    *found = on;
    return error;
}

const char *gpu_synchronize(void) {
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    return gpu_text(error == cudaSuccess ? cudaStreamSynchronize(on) : error);
}

const char *gpu_export(void *memory, gpu_handle_t *handle) {
    cudaIpcMemHandle_t exported;
    const char *error = gpu_text(cudaIpcGetMemHandle(&exported, memory));
    if (error == nullptr) {
        memcpy(handle->byte, &exported, sizeof exported);
    }
    return error;
}

const char *gpu_open(const gpu_handle_t *handle, void **memory) {
    cudaIpcMemHandle_t exported;
    memcpy(&exported, handle->byte, sizeof exported);
    return gpu_text(cudaIpcOpenMemHandle(memory, exported, cudaIpcMemLazyEnablePeerAccess));
}

const char *gpu_close(void *memory) { return gpu_text(cudaIpcCloseMemHandle(memory)); }

const char *gpu_event_create(void **event) {
    cudaEvent_t made = nullptr;
    const char *error = gpu_text(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    *event = made;
    return error;
}

const char *gpu_event_destroy(void *event) {
    return gpu_text(cudaEventDestroy(static_cast<cudaEvent_t>(event)));
}

const char *gpu_event_record(void *event) {
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    return gpu_text(error == cudaSuccess ? cudaEventRecord(static_cast<cudaEvent_t>(event), on) : error);
}

const char *gpu_event_query(void *event, bool *happened) {
    cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(event));
    *happened = error == cudaSuccess;
    return error == cudaErrorNotReady ? nullptr : gpu_text(error);
}

/* --- kernels ------------------------------------------------------------------------------------------ */

/* In a namespace of their own: the executor's kernels, which this program holds too, have the same names, and
 * instances of templates of one name would be taken for one. */
namespace calibrate {

__global__ void nothing() {}

struct sum {
    template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct prod {
    template <typename T> __device__ T operator()(T a, T b) const { return a * b; }
};
struct minimum {
    template <typename T> __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
struct maximum {
    template <typename T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

/* Four independent elements a turn keep enough loads in flight to fill the memory's bandwidth. */
template <typename T, typename Op>
__global__ void combine(T *__restrict__ target, const T *__restrict__ source, size_t count, Op op) {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
        const T a = source[i], b = source[i + step], c = source[i + 2 * step], d = source[i + 3 * step];
        target[i] = op(target[i], a);
        target[i + step] = op(target[i + step], b);
        target[i + 2 * step] = op(target[i + 2 * step], c);
        target[i + 3 * step] = op(target[i + 3 * step], d);
    }
    for (; i < count; i += step) {
        target[i] = op(target[i], source[i]);
    }
}

} /* namespace calibrate */

static cudaError_t blocks_for(size_t count, unsigned *blocks) {
    static int processors = 0;
    if (processors == 0) {
        int device = 0;
        cudaError_t error = cudaGetDevice(&device);
        if (error == cudaSuccess) {
            error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        }
        if (error != cudaSuccess) {
            return error;
        }
    }
    const size_t wanted = (count + 255) / 256;
    const size_t most = static_cast<size_t>(processors) * 8; /* 2048 threads, all that fit */
    *blocks = static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most);
    return cudaSuccess;
}

template <typename T, typename Op>
static cudaError_t start(void *target, const void *source, size_t count, Op op) {
    cudaStream_t on = nullptr;
    unsigned blocks = 0;
    cudaError_t error = gpu_stream(&on);
    if (error == cudaSuccess) {
        error = blocks_for(count, &blocks);
    }
    if (error == cudaSuccess) {
        calibrate::combine<<<blocks, 256, 0, on>>>(static_cast<T *>(target), static_cast<const T *>(source),
                                                   count, op);
        error = cudaGetLastError();
    }
    return error;
}

template <typename T>
static cudaError_t start_typed(void *target, const void *source, size_t count, gpu_op_t op) {
    switch (op) {
    case GPU_SUM:
        return start<T>(target, source, count, calibrate::sum());
    case GPU_PROD:
        return start<T>(target, source, count, calibrate::prod());
    case GPU_MIN:
        return start<T>(target, source, count, calibrate::minimum());
    case GPU_MAX:
        return start<T>(target, source, count, calibrate::maximum());
    default:
        return cudaErrorInvalidValue;
    }
}

const char *gpu_reduce(void *target, const void *source, size_t count, gpu_type_t type, gpu_op_t op) {
    switch (type) {
    case GPU_INT32:
        return gpu_text(start_typed<int>(target, source, count, op));
    case GPU_INT64:
        return gpu_text(start_typed<long long>(target, source, count, op));
    case GPU_FLOAT:
        return gpu_text(start_typed<float>(target, source, count, op));
    case GPU_DOUBLE:
        return gpu_text(start_typed<double>(target, source, count, op));
    default:
        return gpu_text(cudaErrorInvalidValue);
    }
}

/* --- graphs ------------------------------------------------------------------------------------------- */

static cudaError_t instantiate(cudaGraphExec_t *made, cudaGraph_t graph) {
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(made, graph, 0);
#else
    return cudaGraphInstantiate(made, graph, nullptr, nullptr, 0);
#endif
}

/* A capture that was begun is ended, whatever came between: else the stream would be of no more use. */
const char *gpu_graph_create(void **graph) {
    cudaStream_t on = nullptr;
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t made = nullptr;
    cudaError_t error = gpu_stream(&on);
    if (error == cudaSuccess) {
        error = cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal);
    }
    if (error != cudaSuccess) {
        return gpu_text(error);
    }
    calibrate::nothing<<<1, 1, 0, on>>>();
    cudaError_t launched = cudaGetLastError();
    error = cudaStreamEndCapture(on, &captured);
    if (error == cudaSuccess) {
        error = launched;
    }
    if (error == cudaSuccess) {
        error = instantiate(&made, captured);
    }
    if (captured != nullptr) {
        (void)cudaGraphDestroy(captured);
    }
    *graph = made;
    return gpu_text(error);
}

const char *gpu_graph_destroy(void *graph) {
    return gpu_text(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)));
}

const char *gpu_graph_launch(void *graph) {
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    return gpu_text(error == cudaSuccess ? cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), on) : error);
}

const char *gpu_launch_empty(void) {
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    if (error == cudaSuccess) {
        calibrate::nothing<<<1, 1, 0, on>>>();
        error = cudaGetLastError();
    }
    return gpu_text(error);
}
