/* The device for NVIDIA GPUs (portolan/exec.h), by CUDA's run-time library. Processes share memory by CUDA
 * IPC. Reductions are kernels in this file; kernel_cuda.cu runs the kernels of plans. Every call is checked;
 * an error is reported once, with the call, and cleared. */
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include "device_cuda.h"
#include "kernels/elements.cuh"

static pto_status_t cuda_select(int64_t gpu, pto_error_t *err) {
    int count = 0;
    pto_status_t status = CUDA_DO(cudaGetDeviceCount(&count), err);
    if (status == PTO_OK && count == 0)
        return pto_error_set(err, PTO_ERR_IO, "no GPU is visible");
    return status == PTO_OK ? CUDA_DO(cudaSetDevice((int)(gpu % count)), err) : status;
}

/* Looks up MPI's function, since this part of the library does not link MPI. */
static bool cuda_mpi_reaches(void) {
    typedef int (*query_t)(void);
    const query_t query = reinterpret_cast<query_t>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
    return query != nullptr && query() == 1;
}

static pto_status_t cuda_allocate(size_t bytes, void **memory, pto_error_t *err) {
    return CUDA_DO(cudaMalloc(memory, bytes > 0 ? bytes : 1), err);
}

static pto_status_t cuda_release(void *memory, pto_error_t *err) { return CUDA_DO(cudaFree(memory), err); }

static pto_status_t cuda_allocate_staging(size_t bytes, void **memory, pto_error_t *err) {
    return CUDA_DO(cudaMallocHost(memory, bytes > 0 ? bytes : 1), err);
}

static pto_status_t cuda_release_staging(void *memory, pto_error_t *err) {
    return memory ? CUDA_DO(cudaFreeHost(memory), err) : PTO_OK;
}

static pto_status_t cuda_pin(void *memory, size_t bytes, pto_error_t *err) {
    return CUDA_DO(cudaHostRegister(memory, bytes, cudaHostRegisterDefault), err);
}

static pto_status_t cuda_unpin(void *memory, pto_error_t *err) {
    return CUDA_DO(cudaHostUnregister(memory), err);
}

static pto_status_t cuda_stream_create(void **stream, pto_error_t *err) {
    cudaStream_t made = nullptr;
    pto_status_t status = CUDA_DO(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), err);
    if (status == PTO_OK)
        *stream = made;
    return status;
}

static pto_status_t cuda_stream_destroy(void *stream, pto_error_t *err) {
    return CUDA_DO(cudaStreamDestroy(static_cast<cudaStream_t>(stream)), err);
}

static pto_status_t cuda_copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    cudaStream_t on = static_cast<cudaStream_t>(stream);
    if (move->rows == 1)
        return CUDA_DO(cudaMemcpyAsync(move->target, move->source, move->bytes, cudaMemcpyDefault, on), err);
    return CUDA_DO(cudaMemcpy2DAsync(move->target, move->target_pitch_bytes, move->source,
                                     move->source_pitch_bytes, move->bytes, move->rows, cudaMemcpyDefault,
                                     on),
                   err);
}

static pto_status_t cuda_finish(void *stream, pto_error_t *err) {
    return CUDA_DO(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), err);
}

static pto_status_t cuda_poll(void *stream, bool *finished, pto_error_t *err) {
    cudaError_t error = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    *finished = error == cudaSuccess;
    return error == cudaErrorNotReady ? PTO_OK : check(error, "cudaStreamQuery", err);
}

static pto_status_t cuda_event_create(void **event, pto_error_t *err) {
    cudaEvent_t made = nullptr;
    pto_status_t status = CUDA_DO(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), err);
    *event = made;
    return status;
}

static pto_status_t cuda_event_destroy(void *event, pto_error_t *err) {
    return CUDA_DO(cudaEventDestroy(static_cast<cudaEvent_t>(event)), err);
}

static pto_status_t cuda_event_record(void *event, void *stream, pto_error_t *err) {
    return CUDA_DO(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)), err);
}

static pto_status_t cuda_event_poll(void *event, bool *finished, pto_error_t *err) {
    cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(event));
    *finished = error == cudaSuccess;
    return error == cudaErrorNotReady ? PTO_OK : check(error, "cudaEventQuery", err);
}

static pto_status_t cuda_event_follow(void *event, void *stream, pto_error_t *err) {
    return CUDA_DO(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), 0),
                   err);
}

static_assert(sizeof(cudaIpcMemHandle_t) <= PTO_HANDLE_BYTES, "an allocation must fit into a handle");

/* Another process's allocation that is open here: the address that cuda_open returned, and its start. */
typedef struct opened {
    struct opened *next;
    void *place;
    void *whole; /* the start */
} opened_t;

static opened_t *opened_here;

/* Finds the start of the allocation that contains an address. */
static pto_status_t start_of(const void *memory, CUdeviceptr *start, pto_error_t *err) {
    typedef CUresult (*range_t)(CUdeviceptr *, size_t *, CUdeviceptr);
    void *call = nullptr;
    size_t bytes = 0;
    pto_status_t status = find_driver_call("cuMemGetAddressRange", &call, err);
    if (status != PTO_OK)
        return status;
    if (call == nullptr)
        return pto_error_set(err, PTO_ERR_IO, "the driver has no cuMemGetAddressRange");
    CUresult result = reinterpret_cast<range_t>(call)(start, &bytes, reinterpret_cast<CUdeviceptr>(memory));
    if (result == CUDA_SUCCESS)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "memory that is no allocation of this GPU's (%d)",
                         static_cast<int>(result));
}

/* Returns PTO_ERR_NOT_APPLICABLE for memory that CUDA IPC cannot export, as far as the driver can tell. */
static pto_status_t check_exportable(CUdeviceptr start, pto_error_t *err) {
    typedef CUresult (*attribute_t)(void *, CUpointer_attribute, CUdeviceptr);
    void *call = nullptr;
    pto_status_t status = find_driver_call("cuPointerGetAttribute", &call, err);
    if (status != PTO_OK || call == nullptr)
        return status;
    const attribute_t attribute = reinterpret_cast<attribute_t>(call);
    int by_ipc = 1;
    void *pool = nullptr;
    if (attribute(&by_ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, start) != CUDA_SUCCESS || by_ipc)
        return PTO_OK;
    bool pooled = attribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, start) == CUDA_SUCCESS && pool;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         pooled
                             ? "memory of cudaMallocAsync, which CUDA IPC cannot export: use cudaMalloc"
                             : "virtual memory (cuMemCreate), which CUDA IPC cannot export: use cudaMalloc");
}

static pto_status_t cuda_export(const void *memory, pto_memory_handle_t *handle, pto_error_t *err) {
    cudaPointerAttributes attributes;
    pto_status_t status = CUDA_DO(cudaPointerGetAttributes(&attributes, memory), err);
    if (status == PTO_OK && attributes.type != cudaMemoryTypeDevice)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "memory that is not a GPU's");
    CUdeviceptr start = 0;
    cudaIpcMemHandle_t whole = {};
    if (status == PTO_OK)
        status = start_of(memory, &start, err);
    if (status == PTO_OK)
        status = check_exportable(start, err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaIpcGetMemHandle(&whole, reinterpret_cast<void *>(start)), err);
    if (status != PTO_OK)
        return status;
    memset(handle, 0, sizeof *handle);
    memcpy(handle->byte, &whole, sizeof whole);
    handle->offset_bytes = reinterpret_cast<CUdeviceptr>(memory) - start;
    return PTO_OK;
}

static pto_status_t cuda_open(const pto_memory_handle_t *handle, void **memory, pto_error_t *err) {
    cudaIpcMemHandle_t whole;
    memcpy(&whole, handle->byte, sizeof whole);
    opened_t *opened = static_cast<opened_t *>(calloc(1, sizeof *opened));
    if (opened == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status =
        CUDA_DO(cudaIpcOpenMemHandle(&opened->whole, whole, cudaIpcMemLazyEnablePeerAccess), err);
    if (status != PTO_OK) {
        free(opened);
        return status;
    }
    opened->place = static_cast<char *>(opened->whole) + handle->offset_bytes;
    opened->next = opened_here;
    opened_here = opened;
    *memory = opened->place;
    return PTO_OK;
}

static pto_status_t cuda_close(void *memory, pto_error_t *err) {
    opened_t **link = &opened_here;
    while (*link != nullptr && (*link)->place != memory)
        link = &(*link)->next;
    opened_t *opened = *link;
    if (opened == nullptr)
        return pto_error_set(err, PTO_ERR_RANGE, "memory that was not opened here");
    *link = opened->next;
    pto_status_t status = CUDA_DO(cudaIpcCloseMemHandle(opened->whole), err);
    free(opened);
    return status;
}

enum { THREADS = 256, BLOCKS_PER_PROCESSOR = 8 };

/* The sources of one kernel, in its parameter. More sources take several kernels. */
enum { SOURCES_MAX = 32 };

struct sources {
    const char *at[SOURCES_MAX];
    unsigned count;
    __device__ const char *operator()(unsigned k) const { return at[k]; }
};

static __device__ size_t first_item() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
static __device__ size_t item_step() { return static_cast<size_t>(gridDim.x) * blockDim.x; }

/* Combines all sources, of which one may be the target, in one pass: `units` of 16 bytes, then single
 * elements. Two units at a time keep enough loads in flight to use the memory's bandwidth. */
template <typename T, typename Op>
__global__ void combine(char *target, sources source, size_t units, size_t bytes, op_choice choice) {
    const Op op = operation<Op>(choice);
    const size_t step = item_step(), element = element_size<T>(op);
    for (size_t i = first_item(); i < units; i += 2 * step) {
        const bool two = i + step < units;
        wide_elements<T> value[2] = {widened(load_unit<T>(source(0), i)), {}};
        if (two)
            value[1] = widened(load_unit<T>(source(0), i + step));
#pragma unroll 2
        for (unsigned k = 1; k < source.count; k++) {
            const elements<T> other = load_unit<T>(source(k), i);
            if (two)
                combine_into(value[1], load_unit<T>(source(k), i + step), op);
            combine_into(value[0], other, op);
        }
        store_unit<T>(target, i, narrowed<T>(value[0]));
        if (two)
            store_unit<T>(target, i + step, narrowed<T>(value[1]));
    }
    for (size_t i = units * sizeof(uint4) / element + first_item(); i < bytes / element; i += step)
        reduce_element<T>(target, source, source.count, i, op);
}

/* Finds the number of thread blocks for `count` items, at most as many as the GPU can hold. */
static pto_status_t blocks_for(size_t count, unsigned *blocks, pto_error_t *err) {
    int device = 0, processors = 0;
    pto_status_t status = CUDA_DO(cudaGetDevice(&device), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), err);
    size_t wanted = (count + THREADS - 1) / THREADS;
    size_t most = static_cast<size_t>(processors) * BLOCKS_PER_PROCESSOR;
    *blocks = static_cast<unsigned>(wanted < most ? wanted : most);
    return status;
}

static bool all_aligned(const void *target, const sources &source) {
    uintptr_t all = reinterpret_cast<uintptr_t>(target);
    for (unsigned k = 0; k < source.count; k++)
        all |= reinterpret_cast<uintptr_t>(source.at[k]);
    return all % sizeof(uint4) == 0;
}

/* One reduction. As a visitor of with_operation, it launches the kernels for its type and operation. */
struct reduction {
    void *target;
    bool fresh;
    const void *const *source;
    int source_count;
    size_t count;
    pto_datatype_t datatype;
    pto_op_t op;
    cudaStream_t stream;
    pto_error_t *err;
    template <typename T, typename Op> pto_status_t of() const;
    template <typename T, typename Op> pto_status_t launch(const sources &some) const;
};

template <typename T, typename Op> pto_status_t reduction::launch(const sources &some) const {
    const size_t element = static_cast<size_t>(pto_datatype_bytes(datatype)), bytes = count * element;
    const size_t units = all_aligned(target, some) ? bytes / sizeof(uint4) : 0;
    unsigned blocks = 0;
    pto_status_t status = blocks_for(units > 0 ? units : count, &blocks, err);
    if (status != PTO_OK)
        return status;
    const op_choice choice = {static_cast<uint8_t>(datatype), static_cast<uint8_t>(op)};
    combine<T, Op><<<blocks, THREADS, 0, stream>>>(static_cast<char *>(target), some, units, bytes, choice);
    return check(cudaGetLastError(), "launch of a reduction", err);
}

/* Launches a kernel for each SOURCES_MAX sources. All but the first also take the target as a source. */
template <typename T, typename Op> pto_status_t reduction::of() const {
    pto_status_t status = PTO_OK;
    bool first = fresh;
    for (int done = 0; done < source_count && status == PTO_OK && count > 0; first = false) {
        sources some = {};
        if (!first)
            some.at[some.count++] = static_cast<const char *>(target);
        while (some.count < SOURCES_MAX && done < source_count)
            some.at[some.count++] = static_cast<const char *>(source[done++]);
        status = launch<T, Op>(some);
    }
    return status;
}

static pto_status_t cuda_reduce_many(void *target, bool fresh, const void *const *source, int source_count,
                                     size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                     pto_error_t *err) {
    return with_operation(datatype, op,
                          reduction{target, fresh, source, source_count, count, datatype, op,
                                    static_cast<cudaStream_t>(stream), err});
}

static pto_status_t cuda_reduce(void *target, const void *source, size_t count, pto_datatype_t datatype,
                                pto_op_t op, void *stream, pto_error_t *err) {
    return cuda_reduce_many(target, false, &source, 1, count, datatype, op, stream, err);
}

/* The divisor of integers has type `By`, of 64 bits, since it need not fit into theirs. */
template <typename T, typename By>
__global__ void divide(T *target, const T *source, size_t count, By divisor) {
    for (size_t i = first_item(); i < count; i += item_step())
        narrow(static_cast<typename wide<T>::type>(widen(source[i]) / divisor), target[i]);
}

template <typename T, typename By>
static pto_status_t divide_as(void *target, const void *source, size_t count, int64_t divisor,
                              cudaStream_t stream, pto_error_t *err) {
    unsigned blocks = 0;
    pto_status_t status = blocks_for(count, &blocks, err);
    if (status != PTO_OK || count == 0)
        return status;
    divide<<<blocks, THREADS, 0, stream>>>(static_cast<T *>(target), static_cast<const T *>(source), count,
                                           static_cast<By>(divisor));
    return check(cudaGetLastError(), "launch of a division", err);
}

static pto_status_t cuda_divide(void *target, const void *source, size_t count, pto_datatype_t datatype,
                                int64_t divisor, void *stream, pto_error_t *err) {
/* One row for each datatype: `values` per element of type T, divided by a By. */
#define DIVIDE(name, T, By, values)                                                                          \
    case PTO_DATATYPE_##name:                                                                                \
        return divide_as<T, By>(target, source, values * count, divisor, on, err)
    cudaStream_t on = static_cast<cudaStream_t>(stream);
    switch (datatype) {
        DIVIDE(FLOAT, float, float, 1);
        DIVIDE(FLOAT_COMPLEX, float, float, 2);
        DIVIDE(DOUBLE, double, double, 1);
        DIVIDE(DOUBLE_COMPLEX, double, double, 2);
        DIVIDE(HALF, pto_half_t, float, 1);
        DIVIDE(BFLOAT16, pto_bfloat16_t, float, 1);
        DIVIDE(INT8, int8_t, int64_t, 1);
        DIVIDE(UINT8, uint8_t, int64_t, 1);
        DIVIDE(INT16, int16_t, int64_t, 1);
        DIVIDE(UINT16, uint16_t, int64_t, 1);
        DIVIDE(INT32, int32_t, int64_t, 1);
        DIVIDE(UINT32, uint32_t, int64_t, 1);
        DIVIDE(INT64, int64_t, int64_t, 1);
        DIVIDE(UINT64, uint64_t, uint64_t, 1);
    default:
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "bytes have no average");
    }
#undef DIVIDE
}

/* In exec.h's order: C++17 has no designators. */
extern "C" {
extern const pto_kernels_t pto_kernels_cuda;
extern const pto_nccl_t pto_nccl_cuda;
extern const pto_device_bench_t pto_device_bench_cuda;
extern const pto_device_t pto_device_cuda;
const pto_device_t pto_device_cuda = {
    "cuda",
    "NVIDIA GPUs, shared between processes by CUDA IPC",
    cuda_select,
    cuda_mpi_reaches,
    cuda_allocate,
    cuda_release,
    cuda_allocate_staging,
    cuda_release_staging,
    cuda_pin,
    cuda_unpin,
    cuda_stream_create,
    cuda_stream_destroy,
    cuda_copy,
    cuda_reduce,
    cuda_reduce_many,
    cuda_divide,
    cuda_finish,
    cuda_poll,
    cuda_event_create,
    cuda_event_destroy,
    cuda_event_record,
    cuda_event_poll,
    cuda_event_follow,
    cuda_export,
    cuda_open,
    cuda_close,
    &pto_kernels_cuda,
    &pto_nccl_cuda,
    &pto_device_bench_cuda,
};
}
