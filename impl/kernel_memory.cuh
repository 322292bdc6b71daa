/* The memory accesses that synchronise GPUs, in PTX. kernel_cuda.cu and kernel_lines.cuh explain why they
 * suffice. */
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

#endif
