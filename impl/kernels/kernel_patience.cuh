/* How long enqueued runs wait for other GPUs. No host watches them, so the kernel gives up by itself. */
#ifndef PTO_KERNEL_PATIENCE_CUH
#define PTO_KERNEL_PATIENCE_CUH

#include "kernel_program.cuh"

/* A look takes as long as some polls: it reads host memory. */
enum { POLLS_PER_LOOK = 1024 };
constexpr uint64_t GAVE_UP = UINT64_MAX;

/* In gave_up_in: an earlier kernel of the run gave up. */
constexpr uint64_t STOPPED = UINT64_MAX;

/* Tells the block's other threads, its later runs, the kernels after it, and the host, where all waiting
 * blocks see it. To check in each of those kernels cost 0.1 us per run. */
static __device__ void give_up(const ledger &all, uint64_t run) {
    *gave_up_here() = 1;
    all.states[blockIdx.x].gave_up_in = run;
#pragma unroll 1
    for (const common_state *next = all.common->after; next != nullptr; next = next->after)
        next->states[blockIdx.x].gave_up_in = STOPPED;
    store_release(all.ended + 1, 1);
}

/* When the wait was first looked at, for the next look; GAVE_UP: end it, whatever has arrived. */
static __device__ __noinline__ uint64_t look(const ledger &all, uint64_t run, uint64_t began_ns) {
    if (all.patience_ms == 0)
        return began_ns;
    const uint64_t now = now_ns();
    const bool others_gave_up = load_host(all.ended + 1) != 0;
    if (!others_gave_up && began_ns == 0)
        return now;
    if (!others_gave_up && now - began_ns < static_cast<uint64_t>(all.patience_ms) * 1000000)
        return began_ns;
    give_up(all, run);
    return GAVE_UP;
}

#endif
