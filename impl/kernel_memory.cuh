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

/* Not from the cache of the multiprocessor, which an earlier block may have filled. */
static __device__ uint64_t load_here(const uint64_t *at) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

/* How long enqueued runs wait for other GPUs, which no host sees: then they give up, and so do all runs after
 * them. `late` is a word in host memory. */
struct patience {
    uint64_t *late;
    uint32_t limit_ms; /* 0: for ever */
};

/* A look takes as long as some polls: it reads host memory. */
enum { POLLS_PER_LOOK = 1024 };
constexpr uint64_t GAVE_UP = UINT64_MAX;

/* When the wait was first looked at, for the next look; GAVE_UP: end it, whatever has arrived. */
static __device__ __noinline__ uint64_t look(const patience own, uint64_t began_ns) {
    uint64_t now_ns, late;
    if (own.limit_ms == 0)
        return began_ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now_ns));
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(late) : "l"(own.late) : "memory");
    if (late == 0 && began_ns == 0)
        return now_ns;
    if (late == 0 && now_ns - began_ns < static_cast<uint64_t>(own.limit_ms) * 1000000)
        return began_ns;
    store_release(own.late, 1);
    return GAVE_UP;
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

static __device__ uint8_t load_tag(const char *at) {
    uint32_t tag;
    asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(tag) : "l"(at) : "memory");
    return static_cast<uint8_t>(tag);
}

static __device__ void store_tag(char *at, uint8_t tag) {
    asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(at), "r"(static_cast<uint32_t>(tag)) : "memory");
}

#endif
