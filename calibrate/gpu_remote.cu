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

__device__ static unsigned load_acquire(const unsigned *at) {
    unsigned value = 0;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ static void store_release(unsigned *at, unsigned value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

/* Until the flag has come to `value` (values wrap round), or the limit is over. Reading the time costs more
 * than reading the flag, so it is looked at once in a while only, and first when the wait is no short one.
 * Should the clock stand still, the polls are counted too: so many take more than a minute. */
__device__ static bool await(const unsigned *flag, unsigned value, unsigned long long limit_ns) {
    enum { POLLS_BETWEEN = 1024, POLLS_MAX = 1 << 28 };
    unsigned long long begin_ns = 0;
    for (unsigned polls = 1; static_cast<int>(load_acquire(flag) - value) < 0; polls++) {
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

/* What one GPU's memory has: a flag, and what it says is there, a word of each thread of the other's block.
 */
enum { HANDING_THREADS = 512 };
struct handed {
    alignas(256) unsigned flag;
    alignas(256) uint4 word[HANDING_THREADS];
};
static_assert(sizeof(handed) == GPU_HANDED_BYTES, "gpu.h says how much memory that is");

/* All threads store; when all have, one raises the flag. */
__device__ static void hand_over(handed *others, unsigned word, unsigned value) {
    others->word[threadIdx.x] = uint4{word, word, word, word};
    __syncthreads();
    if (threadIdx.x == 0) {
        store_release(&others->flag, value);
    }
}

/* Every word that is handed over depends on the one that was had, and is the flag's value. */
__global__ void ping_pong(handed *own, handed *others, bool first, unsigned from, int rounds,
                          unsigned long long limit_ns, gpu_rounds_t *result) {
    __shared__ bool came;
    unsigned long long begin_ns = 0;
    unsigned word = from + 1;
    bool right = true;
    for (int round = 1; round <= 1 + rounds; round++) {
        const unsigned value = from + static_cast<unsigned>(round);
        if (first) {
            hand_over(others, word, value);
        }
        if (threadIdx.x == 0) {
            came = await(&own->flag, value, limit_ns);
        }
        __syncthreads();
        if (!came) {
            if (threadIdx.x == 0) {
                result->failed_round = static_cast<unsigned>(round);
            }
            return;
        }
        word = own->word[threadIdx.x].x;
        right = right && word == value;
        if (!first) {
            hand_over(others, word, value);
        } else {
            word++;
        }
        __syncthreads(); /* nobody sets `came` again before all have read it */
        if (round == 1) {
            begin_ns = now_ns();
        }
    }
    if (threadIdx.x == 0) {
        result->elapsed_ns = now_ns() - begin_ns;
    }
    if (!__syncthreads_and(right) && threadIdx.x == 0) {
        result->stale = true;
    }
}

} /* namespace calibrate */

const char *gpu_ping_pong(void *own, void *others, bool first, uint32_t from, int rounds, double limit_s,
                          gpu_rounds_t *result) {
    cudaStream_t on = nullptr;
    cudaError_t error = gpu_stream(&on);
    *result = gpu_rounds_t{};
    if (error == cudaSuccess) {
        const unsigned long long limit_ns = static_cast<unsigned long long>(limit_s * 1e9);
        calibrate::ping_pong<<<1, calibrate::HANDING_THREADS, 0, on>>>(
            static_cast<calibrate::handed *>(own), static_cast<calibrate::handed *>(others), first, from,
            rounds, limit_ns, result);
        error = cudaGetLastError();
    }
    return gpu_text(error);
}
