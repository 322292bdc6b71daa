/* The memory accesses by which kernels synchronise with other GPUs, blocks and launches, in PTX.
 * kernel_cuda.cu and kernel_lines.cuh explain why they suffice. */
#ifndef PTO_KERNEL_MEMORY_CUH
#define PTO_KERNEL_MEMORY_CUH

#include <cstdint>

static __device__ void store_release(uint64_t *at, uint64_t value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

static __device__ uint64_t load_acquire(const uint64_t *at) {
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

/* State that a block leaves for its next run. */
struct alignas(16) block_state {
    uint64_t last_run;   /* its number */
    uint64_t gave_up_in; /* the run in which it gave up waiting; 0: none; STOPPED (kernel_patience.cuh) */
};

/* Bypasses the L1 cache of the multiprocessor, where an earlier block may have left an old value. */
static __device__ block_state load_state(const block_state *at) {
    block_state state;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(state.last_run), "=l"(state.gave_up_in)
                 : "l"(at)
                 : "memory");
    return state;
}

/* Counts this block as completed. Returns true in the last block, to which the stores of all others are then
 * visible. The count wraps around to 0 for the next run. */
static __device__ bool is_last_block(unsigned *blocks_completed) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(blocks_completed), "r"(gridDim.x - 1)
                 : "memory");
    return before == gridDim.x - 1;
}

/* Waits until the kernel before this one in the stream has completed and its memory is visible, and then lets
 * the next kernel begin. A launch with the attribute for programmatic dependent launch may begin while the
 * kernel before it still runs, which hides the launch latency; so it has to wait here. A launch without the
 * attribute begins after that kernel, and does not wait. The next kernel may begin early only if its launch
 * has the attribute, and then waits in the same way. */
static __device__ void wait_for_run_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* In shared memory: whether a thread of this block has given up waiting in this run. */
static __device__ volatile unsigned *gave_up_here() {
    __shared__ unsigned gave_up;
    return &gave_up;
}

static __device__ uint64_t now_ns() {
    uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

/* Loads from host memory. */
static __device__ uint64_t load_host(const uint64_t *at) {
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

/* Loads data that no other thread writes. The compiler does not move this load behind later accesses. */
static __device__ uint4 load_now(const char *at) {
    uint4 data;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(data.x), "=r"(data.y), "=r"(data.z), "=r"(data.w)
                 : "l"(at)
                 : "memory");
    return data;
}

/* A line in line format (line_format.h). */
struct line {
    uint64_t half[2];
};

static __device__ line load_line(const char *at) {
    line read;
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(read.half[0]), "=l"(read.half[1])
                 : "l"(at)
                 : "memory");
    return read;
}

static __device__ void store_line(char *at, const line &value) {
    asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(at), "l"(value.half[0]),
                 "l"(value.half[1])
                 : "memory");
}

static __device__ uint8_t load_tag(const char *at) {
    uint32_t tag;
    asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(tag) : "l"(at) : "memory");
    return static_cast<uint8_t>(tag);
}

static __device__ void store_tag(char *at, uint8_t tag) {
    asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(at), "r"(static_cast<uint32_t>(tag)) : "memory");
}

#endif
