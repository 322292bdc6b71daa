/* Kernels that use another GPU's memory, opened by CUDA IPC: moves by access width and number of thread
 * blocks, stores to all others at once, and flags between two kernels. None waits for anything without a
 * limit. */
#include "gpu_cuda.h"

enum { THREADS = 256, BLOCKS_PER_PROCESSOR = 8, IN_FLIGHT = 4 };

const char *gpu_blocks(int device, int *blocks) {
    int processors = 0;
    const char *error = gpu_text(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    *blocks = processors * BLOCKS_PER_PROCESSOR; /* 2048 threads of each, all that fit */
    return error;
}

/* --- moves ---------------------------------------------------------------------------------------------- */

namespace calibrate {

/* Independent elements of a turn keep enough loads in flight. The fence at the end is what a kernel needs
 * that raises a flag next: it has waited for its stores by then. */
template <typename W> __global__ void move(W *target, const W *source, size_t count, size_t stride) {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + (IN_FLIGHT - 1) * step < count; i += IN_FLIGHT * step) {
        W value[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            value[j] = source[i + j * step];
        }
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            target[(i + j * step) * stride] = value[j];
        }
    }
    for (; i < count; i += step) {
        target[i * stride] = source[i];
    }
    __threadfence_system();
}

} /* namespace calibrate */

template <typename W>
static cudaError_t start_move(void *target, const void *source, size_t count, int stride, int blocks) {
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    if (error == cudaSuccess) {
        calibrate::move<<<static_cast<unsigned>(blocks), THREADS, 0, on>>>(
            static_cast<W *>(target), static_cast<const W *>(source), count, static_cast<size_t>(stride));
        error = cudaGetLastError();
    }
    return error;
}

const char *gpu_move(void *target, const void *source, size_t count, int width, int stride, int blocks) {
    switch (width) {
    case 4:
        return gpu_text(start_move<unsigned>(target, source, count, stride, blocks));
    case 8:
        return gpu_text(start_move<uint2>(target, source, count, stride, blocks));
    case 16:
        return gpu_text(start_move<uint4>(target, source, count, stride, blocks));
    default:
        return gpu_text(cudaErrorInvalidValue);
    }
}

/* --- to all others at once -------------------------------------------------------------------------------
 */

namespace calibrate {

struct targets {
    uint4 *at[GPU_TARGETS_MAX];
};

/* Each thread goes round the targets, so that all links are at work all the time. */
__global__ void store_all(targets target, int target_count, const uint4 *__restrict__ source, size_t count) {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
#pragma unroll 4
        for (int j = 0; j < target_count; j++) {
            target.at[j][i] = source[static_cast<size_t>(j) * count + i];
        }
    }
    __threadfence_system();
}

} /* namespace calibrate */

const char *gpu_store_all(void *const *target, int target_count, const void *source, size_t bytes,
                          int blocks) {
    calibrate::targets all = {};
    cudaStream_t on = nullptr;
    if (target_count < 1 || target_count > GPU_TARGETS_MAX || bytes % sizeof(uint4) != 0) {
        return gpu_text(cudaErrorInvalidValue);
    }
    for (int j = 0; j < target_count; j++) {
        all.at[j] = static_cast<uint4 *>(target[j]);
    }
    cudaError_t error = gpu_stream(&on);
    if (error == cudaSuccess) {
        calibrate::store_all<<<static_cast<unsigned>(blocks), THREADS, 0, on>>>(
            all, target_count, static_cast<const uint4 *>(source), bytes / sizeof(uint4));
        error = cudaGetLastError();
    }
    return gpu_text(error);
}

/* --- flags ---------------------------------------------------------------------------------------------- */

namespace calibrate {

__device__ static unsigned long long now_ns() {
    unsigned long long now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Until the flag has come to `value` (values wrap round), or the limit is over. Reading the time costs more
 * than reading the flag, so it is looked at once in a while only, and first when the wait is no short one.
 * Should the clock stand still, the polls are counted too: so many take more than a minute. */
__device__ static bool await(const volatile unsigned *flag, unsigned value, unsigned long long limit_ns) {
    enum { POLLS_BETWEEN = 1024, POLLS_MAX = 1 << 28 };
    unsigned long long begin_ns = 0;
    for (unsigned polls = 1; static_cast<int>(*flag - value) < 0; polls++) {
        if (polls % POLLS_BETWEEN != 0) {
            continue;
        }
        const bool begun = begin_ns != 0;
        begin_ns = begun ? begin_ns : now_ns();
        if (polls >= POLLS_MAX || (begun && now_ns() - begin_ns > limit_ns)) {
            return false;
        }
    }
    return true;
}

/* No fence: nothing but the flag itself is handed over, and each side's store depends on what it has read. */
__global__ void ping_pong(const volatile unsigned *own, volatile unsigned *others, bool first, unsigned from,
                          int rounds, unsigned long long limit_ns, gpu_rounds_t *result) {
    unsigned long long begin_ns = 0;
    for (int round = 1; round <= 1 + rounds; round++) {
        const unsigned value = from + static_cast<unsigned>(round);
        if (first) {
            *others = value;
        }
        if (!await(own, value, limit_ns)) {
            result->failed_round = static_cast<unsigned>(round);
            return;
        }
        if (!first) {
            *others = value;
        }
        if (round == 1) {
            begin_ns = now_ns();
        }
    }
    result->elapsed_ns = now_ns() - begin_ns;
}

} /* namespace calibrate */

const char *gpu_ping_pong(uint32_t *own, uint32_t *others, bool first, uint32_t from, int rounds,
                          double limit_s, gpu_rounds_t *result) {
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    *result = gpu_rounds_t{0, 0};
    if (error == cudaSuccess) {
        const unsigned long long limit_ns = static_cast<unsigned long long>(limit_s * 1e9);
        calibrate::ping_pong<<<1, 1, 0, on>>>(own, others, first, from, rounds, limit_ns, result);
        error = cudaGetLastError();
    }
    return gpu_text(error);
}
