/* The device for NVIDIA GPUs: CUDA's run-time library, CUDA IPC between processes, reductions in kernels of
 * our own; kernel_cuda.cu runs the kernels of plans. Every call is checked; an error is named once, with the
 * call, and cleared. */
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

#include "device_cuda.h"
#if __has_include(<mpi-ext.h>)
#include <mpi.h>
/* Needs what mpi.h defines. */
#include <mpi-ext.h>
#endif

static pto_status_t cuda_select(int64_t gpu, pto_error_t *err) {
    int count = 0;
    pto_status_t status = CUDA_DO(cudaGetDeviceCount(&count), err);
    if (status == PTO_OK && count == 0)
        return pto_error_set(err, PTO_ERR_IO, "no GPU is visible");
    return status == PTO_OK ? CUDA_DO(cudaSetDevice((int)(gpu % count)), err) : status;
}

static bool cuda_mpi_reaches(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

/* --- memory -------------------------------------------------------------------------------------------- */

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

/* --- events --------------------------------------------------------------------------------------------- */

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

/* --- between processes --------------------------------------------------------------------------------- */

/* An IPC handle names a whole allocation. */
typedef struct {
    cudaIpcMemHandle_t whole;
    uint64_t offset_bytes;
} place_t;

static_assert(sizeof(place_t) <= PTO_HANDLE_BYTES, "a place must fit into a handle");

/* What was opened here: where the caller's place lies, and where its allocation begins. */
typedef struct opened {
    struct opened *next;
    void *place;
    void *whole;
} opened_t;

static opened_t *opened_here;

/* The start of the allocation that holds an address. The driver knows; it is asked through the run time, so
 * that nothing links against it. */
static pto_status_t start_of(const void *memory, CUdeviceptr *start, pto_error_t *err) {
    typedef CUresult (*range_t)(CUdeviceptr *, size_t *, CUdeviceptr);
    void *entry = nullptr;
    size_t bytes = 0;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    pto_status_t status = CUDA_DO(
        cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &entry, 12000, cudaEnableDefault, &found),
        err);
    if (status != PTO_OK)
        return status;
    if (found != cudaDriverEntryPointSuccess || entry == nullptr)
        return pto_error_set(err, PTO_ERR_IO, "the driver has no cuMemGetAddressRange");
    CUresult result = reinterpret_cast<range_t>(entry)(start, &bytes, reinterpret_cast<CUdeviceptr>(memory));
    if (result == CUDA_SUCCESS)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "memory that is no allocation of this GPU's (%d)",
                         static_cast<int>(result));
}

static pto_status_t cuda_export(const void *memory, pto_memory_handle_t *handle, pto_error_t *err) {
    cudaPointerAttributes attributes;
    pto_status_t status = CUDA_DO(cudaPointerGetAttributes(&attributes, memory), err);
    if (status == PTO_OK && attributes.type != cudaMemoryTypeDevice)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "memory that is not a GPU's");
    CUdeviceptr start = 0;
    place_t place;
    memset(&place, 0, sizeof place);
    if (status == PTO_OK)
        status = start_of(memory, &start, err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaIpcGetMemHandle(&place.whole, reinterpret_cast<void *>(start)), err);
    if (status != PTO_OK)
        return status;
    place.offset_bytes = reinterpret_cast<CUdeviceptr>(memory) - start;
    memcpy(handle->byte, &place, sizeof place);
    return PTO_OK;
}

static pto_status_t cuda_open(const pto_memory_handle_t *handle, void **memory, pto_error_t *err) {
    place_t place;
    memcpy(&place, handle->byte, sizeof place);
    opened_t *note = static_cast<opened_t *>(calloc(1, sizeof *note));
    if (note == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status =
        CUDA_DO(cudaIpcOpenMemHandle(&note->whole, place.whole, cudaIpcMemLazyEnablePeerAccess), err);
    if (status != PTO_OK) {
        free(note);
        return status;
    }
    note->place = static_cast<char *>(note->whole) + place.offset_bytes;
    note->next = opened_here;
    opened_here = note;
    *memory = note->place;
    return PTO_OK;
}

static pto_status_t cuda_close(void *memory, pto_error_t *err) {
    opened_t **link = &opened_here;
    while (*link != nullptr && (*link)->place != memory)
        link = &(*link)->next;
    opened_t *note = *link;
    if (note == nullptr)
        return pto_error_set(err, PTO_ERR_RANGE, "memory that was not opened here");
    *link = note->next;
    pto_status_t status = CUDA_DO(cudaIpcCloseMemHandle(note->whole), err);
    free(note);
    return status;
}

/* --- reductions ---------------------------------------------------------------------------------------- */

enum { THREADS = 256, BLOCKS_PER_PROCESSOR = 8, IN_FLIGHT = 4 };

/* Four independent elements a turn keep enough loads in flight to fill the memory's bandwidth. */
template <typename T, typename Op>
__global__ void combine(T *__restrict__ target, const T *__restrict__ source, size_t count, Op op) {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + (IN_FLIGHT - 1) * step < count; i += IN_FLIGHT * step) {
        T value[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            value[j] = source[i + j * step];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            target[i + j * step] = op(target[i + j * step], value[j]);
    }
    for (; i < count; i += step)
        target[i] = op(target[i], source[i]);
}

/* As many sources as a kernel's parameters hold; more take several kernels. */
enum { SOURCES_MAX = 32 };

template <typename T> struct sources { const T *at[SOURCES_MAX]; };

/* One pass over all sources. No source may be the target, but at the same place. */
template <typename T, typename Op>
__global__ void combine_many(T *target, sources<T> source, int source_count, size_t count, Op op) {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        T value = source.at[0][i];
#pragma unroll 4
        for (int j = 1; j < source_count; j++)
            value = op(value, source.at[j][i]);
        target[i] = value;
    }
}

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

template <typename T, typename Op>
static pto_status_t launch(void *target, const void *source, size_t count, cudaStream_t stream, Op op,
                           pto_error_t *err) {
    unsigned blocks = 0;
    if (count == 0)
        return PTO_OK;
    pto_status_t status = blocks_for(count, &blocks, err);
    if (status != PTO_OK)
        return status;
    combine<<<blocks, THREADS, 0, stream>>>(static_cast<T *>(target), static_cast<const T *>(source), count,
                                            op);
    return check(cudaGetLastError(), "launch of a reduction", err);
}

/* What one reduction combines, whatever its type. */
struct reduction {
    void *target;
    bool fresh;
    const void *const *source;
    int source_count;
    size_t count;
};

template <typename T, typename Op>
static pto_status_t launch_many(const reduction &all, cudaStream_t stream, Op op, pto_error_t *err) {
    unsigned blocks = 0;
    if (all.count == 0)
        return PTO_OK;
    pto_status_t status = blocks_for(all.count, &blocks, err);
    bool fresh = all.fresh;
    for (int done = 0; done < all.source_count && status == PTO_OK; fresh = false) {
        sources<T> some;
        int count = 0;
        if (!fresh)
            some.at[count++] = static_cast<const T *>(all.target);
        while (count < SOURCES_MAX && done < all.source_count)
            some.at[count++] = static_cast<const T *>(all.source[done++]);
        combine_many<<<blocks, THREADS, 0, stream>>>(static_cast<T *>(all.target), some, count, all.count,
                                                     op);
        status = check(cudaGetLastError(), "launch of a reduction", err);
    }
    return status;
}

/* Sums and products of integers are those of their unsigned twins (`Wraps`), so that they wrap round. */
template <typename T, typename Wraps>
static pto_status_t reduce_as(void *target, const void *source, size_t count, pto_op_t op,
                              cudaStream_t stream, pto_error_t *err) {
    switch (op) {
    case PTO_OP_SUM:
        return launch<Wraps>(target, source, count, stream, sum(), err);
    case PTO_OP_PROD:
        return launch<Wraps>(target, source, count, stream, product(), err);
    case PTO_OP_MIN:
        return launch<T>(target, source, count, stream, minimum(), err);
    case PTO_OP_MAX:
        return launch<T>(target, source, count, stream, maximum(), err);
    case PTO_OP_COUNT:
        break;
    }
    return pto_error_set(err, PTO_ERR_RANGE, "no such operation");
}

static pto_status_t cuda_reduce(void *target, const void *source, size_t count, pto_datatype_t datatype,
                                pto_op_t op, void *stream, pto_error_t *err) {
    cudaStream_t on = static_cast<cudaStream_t>(stream);
    switch (datatype) {
    case PTO_DATATYPE_INT32:
        return reduce_as<int32_t, uint32_t>(target, source, count, op, on, err);
    case PTO_DATATYPE_INT64:
        return reduce_as<int64_t, uint64_t>(target, source, count, op, on, err);
    case PTO_DATATYPE_FLOAT:
        return reduce_as<float, float>(target, source, count, op, on, err);
    case PTO_DATATYPE_DOUBLE:
        return reduce_as<double, double>(target, source, count, op, on, err);
    case PTO_DATATYPE_BYTE:
    case PTO_DATATYPE_COUNT:
        break;
    }
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "bytes can't be reduced");
}

template <typename T, typename Wraps>
static pto_status_t reduce_many_as(const reduction &all, pto_op_t op, cudaStream_t stream, pto_error_t *err) {
    switch (op) {
    case PTO_OP_SUM:
        return launch_many<Wraps>(all, stream, sum(), err);
    case PTO_OP_PROD:
        return launch_many<Wraps>(all, stream, product(), err);
    case PTO_OP_MIN:
        return launch_many<T>(all, stream, minimum(), err);
    case PTO_OP_MAX:
        return launch_many<T>(all, stream, maximum(), err);
    case PTO_OP_COUNT:
        break;
    }
    return pto_error_set(err, PTO_ERR_RANGE, "no such operation");
}

static pto_status_t cuda_reduce_many(void *target, bool fresh, const void *const *source, int source_count,
                                     size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                     pto_error_t *err) {
    cudaStream_t on = static_cast<cudaStream_t>(stream);
    const reduction all = {target, fresh, source, source_count, count};
    switch (datatype) {
    case PTO_DATATYPE_INT32:
        return reduce_many_as<int32_t, uint32_t>(all, op, on, err);
    case PTO_DATATYPE_INT64:
        return reduce_many_as<int64_t, uint64_t>(all, op, on, err);
    case PTO_DATATYPE_FLOAT:
        return reduce_many_as<float, float>(all, op, on, err);
    case PTO_DATATYPE_DOUBLE:
        return reduce_many_as<double, double>(all, op, on, err);
    case PTO_DATATYPE_BYTE:
    case PTO_DATATYPE_COUNT:
        break;
    }
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "bytes can't be reduced");
}

/* In device.h's order: C++17 has no designators. */
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
