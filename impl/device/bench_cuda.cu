/* The interface for benchmarks (portolan/bench.h) on NVIDIA GPUs: descriptions of the GPUs, graphs, and
 * kernels that each isolate one cost, such as access to another GPU's memory. Every wait has a time limit. */
#include <cstdio>

#include "device_cuda.h"
#include "portolan/bench.h"

/* 8 blocks of 256 threads fill an SM of 2048 resident threads (compute capability 7.0, 8.0, 9.0, 10.0). */
enum { THREADS = 256, BLOCKS_PER_SM = 8, IN_FLIGHT = 4 };

static cudaStream_t as_stream(void *stream) { return static_cast<cudaStream_t>(stream); }

#define TEXT_OF(value) #value
#define VERSION_TEXT(major, minor) "with CUDA " TEXT_OF(major) "." TEXT_OF(minor)

static pto_status_t cuda_count(int *count, pto_error_t *err) {
    *count = 0;
    pto_status_t status = CUDA_DO(cudaGetDeviceCount(count), err);
    if (status == PTO_OK && *count == 0)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "no GPU is visible");
    return status;
}

/* Unknown if the driver does not have the attribute. */
static pto_mps_t mps_of(int gpu) {
    int enabled = 0;
    if (cudaDeviceGetAttribute(&enabled, cudaDevAttrMpsEnabled, gpu) == cudaSuccess)
        return enabled ? PTO_MPS_YES : PTO_MPS_NO;
    (void)cudaGetLastError();
    return PTO_MPS_UNKNOWN;
}

static pto_status_t cuda_describe(int gpu, pto_gpu_info_t *info, pto_error_t *err) {
    cudaDeviceProp properties;
    pto_status_t status = CUDA_DO(cudaGetDeviceProperties(&properties, gpu), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaDeviceGetPCIBusId(info->bus, PTO_GPU_BUS_MAX, gpu), err);
    if (status != PTO_OK)
        return status;
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->blocks = properties.multiProcessorCount * BLOCKS_PER_SM;
    info->mps = mps_of(gpu);
    return PTO_OK;
}

static pto_status_t cuda_versions(char text[PTO_GPU_TEXT_MAX], pto_error_t *err) {
    int driver = 0, runtime = 0;
    pto_status_t status = CUDA_DO(cudaDriverGetVersion(&driver), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaRuntimeGetVersion(&runtime), err);
    if (status == PTO_OK)
        snprintf(text, PTO_GPU_TEXT_MAX, "run-time library %d.%d, driver %d.%d", runtime / 1000,
                 runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);
    return status;
}

static pto_status_t cuda_can_reach(int gpu, int peer, bool *can, pto_error_t *err) {
    int answer = 0;
    pto_status_t status = CUDA_DO(cudaDeviceCanAccessPeer(&answer, gpu, peer), err);
    *can = answer != 0;
    return status;
}

/* Enabling it twice, or where it is impossible, is no error (bench.h); cudaGetLastError clears CUDA's. */
static pto_status_t cuda_reach(int peer, pto_error_t *err) {
    cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled || error == cudaErrorPeerAccessUnsupported) {
        (void)cudaGetLastError();
        return PTO_OK;
    }
    return check(error, "cudaDeviceEnablePeerAccess", err);
}

static pto_status_t cuda_fill(void *memory, int byte, size_t bytes, pto_error_t *err) {
    pto_status_t status = CUDA_DO(cudaMemset(memory, byte, bytes), err);
    return status == PTO_OK ? CUDA_DO(cudaDeviceSynchronize(), err) : status;
}

static pto_status_t cuda_copy_by(pto_bench_copy_t how, pto_copy_kind_t kind, void *target, const void *source,
                                 size_t bytes, pto_error_t *err) {
    static const cudaMemcpyKind kinds[PTO_COPY_COUNT] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                                         cudaMemcpyDeviceToDevice, cudaMemcpyHostToHost};
    cudaMemcpyKind direction = how == PTO_BENCH_COPY_DEFAULT ? cudaMemcpyDefault : kinds[kind];
    if (how == PTO_BENCH_COPY_QUERY) {
        cudaPointerAttributes attributes;
        const void *asked = kind == PTO_COPY_H2D ? target : source;
        pto_status_t status = CUDA_DO(cudaPointerGetAttributes(&attributes, asked), err);
        if (status != PTO_OK)
            return status;
        bool on_gpu = attributes.type == cudaMemoryTypeDevice;
        direction = !on_gpu ? cudaMemcpyHostToHost : kinds[kind];
    }
    return CUDA_DO(cudaMemcpy(target, source, bytes, direction), err);
}

/* A namespace for kernels: else the linker merges templates' instances of one name from two files. */
namespace bench {

__global__ void nothing() {}

} /* namespace bench */

static pto_status_t cuda_launch_empty(void *stream, pto_error_t *err) {
    bench::nothing<<<1, 1, 0, as_stream(stream)>>>();
    return check(cudaGetLastError(), "launch of an empty kernel", err);
}

static pto_status_t cuda_graph_begin(void *stream, pto_error_t *err) {
    return CUDA_DO(cudaStreamBeginCapture(as_stream(stream), cudaStreamCaptureModeThreadLocal), err);
}

static pto_status_t cuda_graph_end(void *stream, void **graph, pto_error_t *err) {
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t made = nullptr;
    pto_status_t status = CUDA_DO(cudaStreamEndCapture(as_stream(stream), &captured), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaGraphInstantiate(&made, captured, 0), err);
    if (captured != nullptr)
        (void)cudaGraphDestroy(captured);
    *graph = made;
    return status;
}

static pto_status_t cuda_graph_destroy(void *graph, pto_error_t *err) {
    return CUDA_DO(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)), err);
}

static pto_status_t cuda_graph_launch(void *graph, void *stream, pto_error_t *err) {
    return CUDA_DO(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), as_stream(stream)), err);
}

namespace bench {

/* Each iteration loads IN_FLIGHT independent elements, to hide the latency. The fence orders the stores
 * before a flag that the next kernel may raise. `stride` applies to the target only. */
template <typename W> __global__ void move(W *target, const W *source, size_t count, size_t stride) {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + (IN_FLIGHT - 1) * step < count; i += IN_FLIGHT * step) {
        W value[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            value[j] = source[i + j * step];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            target[(i + j * step) * stride] = value[j];
    }
    for (; i < count; i += step)
        target[i * stride] = source[i];
    __threadfence_system();
}

} /* namespace bench */

template <typename W>
static pto_status_t start_move(void *target, const void *source, size_t count, int stride, int blocks,
                               cudaStream_t stream, pto_error_t *err) {
    bench::move<<<static_cast<unsigned>(blocks), THREADS, 0, stream>>>(
        static_cast<W *>(target), static_cast<const W *>(source), count, static_cast<size_t>(stride));
    return check(cudaGetLastError(), "launch of a move", err);
}

static pto_status_t cuda_move(void *target, const void *source, size_t count, int width, int stride,
                              int blocks, void *stream, pto_error_t *err) {
    cudaStream_t on = as_stream(stream);
    switch (width) {
    case 4:
        return start_move<unsigned>(target, source, count, stride, blocks, on, err);
    case 8:
        return start_move<uint2>(target, source, count, stride, blocks, on, err);
    case 16:
        return start_move<uint4>(target, source, count, stride, blocks, on, err);
    default:
        return pto_error_set(err, PTO_ERR_RANGE, "access width %d is not 4, 8 or 16 bytes", width);
    }
}

namespace bench {

struct targets {
    uint4 *at[PTO_BENCH_TARGETS_MAX];
};

/* Each thread cycles through the targets, so that all links stay busy. */
__global__ void store_all(targets target, int target_count, const uint4 *__restrict__ source, size_t count) {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
#pragma unroll 4
        for (int j = 0; j < target_count; j++)
            target.at[j][i] = source[static_cast<size_t>(j) * count + i];
    }
    __threadfence_system();
}

} /* namespace bench */

static pto_status_t cuda_store_all(void *const *target, int target_count, const void *source, size_t bytes,
                                   int blocks, void *stream, pto_error_t *err) {
    bench::targets all = {};
    if (target_count < 1 || target_count > PTO_BENCH_TARGETS_MAX || bytes % sizeof(uint4) != 0)
        return pto_error_set(err, PTO_ERR_RANGE, "can't store %zu bytes to %d GPUs", bytes, target_count);
    for (int j = 0; j < target_count; j++)
        all.at[j] = static_cast<uint4 *>(target[j]);
    bench::store_all<<<static_cast<unsigned>(blocks), THREADS, 0, as_stream(stream)>>>(
        all, target_count, static_cast<const uint4 *>(source), bytes / sizeof(uint4));
    return check(cudaGetLastError(), "launch of stores to all", err);
}

namespace bench {

__device__ static unsigned long long now_ns() {
    unsigned long long now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__device__ static unsigned load_acquire(const unsigned *at) {
    unsigned value = 0;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ static void store_release(unsigned *at, unsigned value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

/* Wait until the flag reaches `value` (values wrap around) or the limit expires. Reading the clock costs more
 * than reading the flag, so it is read only once every POLLS_BETWEEN polls. POLLS_MAX, more than a minute,
 * bounds the wait where the clock does not advance. */
__device__ static bool await(const unsigned *flag, unsigned value, unsigned long long limit_ns) {
    enum { POLLS_BETWEEN = 1024, POLLS_MAX = 1 << 28 };
    unsigned long long begin_ns = 0;
    for (unsigned polls = 1; static_cast<int>(load_acquire(flag) - value) < 0; polls++) {
        if (polls % POLLS_BETWEEN != 0)
            continue;
        const bool begun = begin_ns != 0;
        begin_ns = begun ? begin_ns : now_ns();
        if (polls >= POLLS_MAX || (begun && now_ns() - begin_ns > limit_ns))
            return false;
    }
    return true;
}

/* Memory of one side: a flag, and the data that it announces, a word from each thread of the other side. */
enum { PING_PONG_THREADS = 512 };
struct inbox {
    alignas(256) unsigned flag;
    alignas(256) uint4 word[PING_PONG_THREADS];
};
static_assert(sizeof(inbox) == PTO_BENCH_PING_PONG_BYTES, "bench.h states this size");

/* All threads store a word; then one raises the flag. */
__device__ static void send(inbox *others, unsigned word, unsigned value) {
    others->word[threadIdx.x] = uint4{word, word, word, word};
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(&others->flag, value);
}

/* Every word sent depends on the word received, and equals the flag's value; otherwise the result is stale.
 * The first of 1 + `rounds` rounds is not timed: the other GPU's kernel may start late. */
__global__ void ping_pong(inbox *own, inbox *others, bool first, unsigned from, int rounds,
                          unsigned long long limit_ns, pto_bench_rounds_t *result) {
    __shared__ bool arrived;
    unsigned long long begin_ns = 0;
    unsigned word = from + 1;
    bool words_match = true;
    for (int round = 1; round <= 1 + rounds; round++) {
        const unsigned value = from + static_cast<unsigned>(round);
        if (first)
            send(others, word, value);
        if (threadIdx.x == 0)
            arrived = await(&own->flag, value, limit_ns);
        __syncthreads();
        if (!arrived) {
            if (threadIdx.x == 0)
                result->failed_round = static_cast<unsigned>(round);
            return;
        }
        word = own->word[threadIdx.x].x;
        words_match = words_match && word == value;
        if (!first)
            send(others, word, value);
        else
            word++;
        __syncthreads(); /* all have read `arrived` before it is set again */
        if (round == 1)
            begin_ns = now_ns();
    }
    if (threadIdx.x == 0)
        result->elapsed_ns = now_ns() - begin_ns;
    if (!__syncthreads_and(words_match) && threadIdx.x == 0)
        result->stale = true;
}

} /* namespace bench */

static pto_status_t cuda_ping_pong(const pto_bench_ping_pong_t *side, void *stream, pto_error_t *err) {
    const unsigned long long limit_ns = static_cast<unsigned long long>(side->limit_s * 1e9);
    *side->result = pto_bench_rounds_t{};
    bench::ping_pong<<<1, bench::PING_PONG_THREADS, 0, as_stream(stream)>>>(
        static_cast<bench::inbox *>(side->own), static_cast<bench::inbox *>(side->others), side->first,
        side->from, side->rounds, limit_ns, side->result);
    return check(cudaGetLastError(), "launch of a ping-pong", err);
}

namespace bench {

enum { SUM_THREADS = 1024, SUM_BLOCKS_MAX = 128, SUM_EACH = 4096 };

__device__ double partial_sums[SUM_BLOCKS_MAX];
__device__ unsigned sums_done; /* wraps round to 0 for the next sum */

/* Returns, in thread 0, the sum of `mine` over the block's threads. */
__device__ static double sum_of_block(double mine) {
    __shared__ double of_warp[SUM_THREADS / 32];
    for (int apart = 16; apart > 0; apart /= 2)
        mine += __shfl_down_sync(~0u, mine, static_cast<unsigned>(apart));
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = threadIdx.x < SUM_THREADS / 32 ? of_warp[threadIdx.x] : 0;
    for (int apart = 16; apart > 0; apart /= 2)
        mine += __shfl_down_sync(~0u, mine, static_cast<unsigned>(apart));
    __syncthreads(); /* of_warp is used again */
    return mine;
}

/* Every block sums a share. The last block to end sums the partial sums. */
__global__ void sum(double *target, const double *source, size_t count) {
    __shared__ bool last;
    double mine = 0;
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        mine += source[i];
    mine = sum_of_block(mine);
    if (threadIdx.x == 0) {
        partial_sums[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(&sums_done, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    mine = threadIdx.x < gridDim.x ? *static_cast<volatile double *>(&partial_sums[threadIdx.x]) : 0;
    mine = sum_of_block(mine);
    if (threadIdx.x == 0)
        *target = mine;
}

} /* namespace bench */

static pto_status_t cuda_sum(double *target, const double *source, size_t count, void *stream,
                             pto_error_t *err) {
    const size_t wanted = 1 + count / bench::SUM_EACH, most = bench::SUM_BLOCKS_MAX;
    const unsigned blocks = static_cast<unsigned>(wanted < most ? wanted : most);
    bench::sum<<<blocks, bench::SUM_THREADS, 0, as_stream(stream)>>>(target, source, count);
    return check(cudaGetLastError(), "launch of a sum", err);
}

namespace bench {

enum { STENCIL_COLUMNS = 64, STENCIL_ROWS = 8 }; /* of a thread block */

__global__ void stencil(double *target, const double *field, size_t rows, size_t columns) {
    const size_t i = 1 + static_cast<size_t>(blockIdx.y) * STENCIL_ROWS + threadIdx.y;
    const size_t j = 1 + static_cast<size_t>(blockIdx.x) * STENCIL_COLUMNS + threadIdx.x;
    const size_t pitch = columns + 2;
    if (i > rows || j > columns)
        return;
    const double *up = field + (i - 1) * pitch + j, *at = up + pitch, *down = at + pitch;
    target[i * pitch + j] = 0.25 * at[0] + 0.15 * (up[0] + down[0] + at[-1] + at[1]) +
                            0.05 * (up[-1] + up[1] + down[-1] + down[1]);
}

} /* namespace bench */

static pto_status_t cuda_stencil(double *field, double *scratch, size_t rows, size_t columns, void *stream,
                                 pto_error_t *err) {
    const size_t pitch_bytes = (columns + 2) * sizeof(double), inner = columns + 3; /* the first cell */
    const dim3 threads(bench::STENCIL_COLUMNS, bench::STENCIL_ROWS);
    const dim3 blocks(static_cast<unsigned>((columns + threads.x - 1) / threads.x),
                      static_cast<unsigned>((rows + threads.y - 1) / threads.y));
    bench::stencil<<<blocks, threads, 0, as_stream(stream)>>>(scratch, field, rows, columns);
    pto_status_t status = check(cudaGetLastError(), "launch of a stencil", err);
    return status == PTO_OK ? CUDA_DO(cudaMemcpy2DAsync(field + inner, pitch_bytes, scratch + inner,
                                                        pitch_bytes, columns * sizeof(double), rows,
                                                        cudaMemcpyDeviceToDevice, as_stream(stream)),
                                      err)
                            : status;
}

/* In bench.h's order: C++17 has no designators. */
extern "C" {
extern const pto_device_bench_t pto_device_bench_cuda;
const pto_device_bench_t pto_device_bench_cuda = {
    VERSION_TEXT(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__),
    cuda_count,
    cuda_describe,
    cuda_versions,
    cuda_can_reach,
    cuda_reach,
    cuda_fill,
    cuda_copy_by,
    cuda_launch_empty,
    cuda_move,
    cuda_store_all,
    cuda_ping_pong,
    cuda_graph_begin,
    cuda_graph_end,
    cuda_graph_destroy,
    cuda_graph_launch,
    cuda_sum,
    cuda_stencil,
};
}
