/* The time-out of enqueued runs. No host watches them, so a block that waits for another GPU for too long
 * gives up by itself: it and all later runs stop working. */
#ifndef PTO_KERNEL_PATIENCE_CUH
#define PTO_KERNEL_PATIENCE_CUH

#include "kernel_program.cuh"

/* A check reads host memory, which takes much longer than a poll. */
enum { POLLS_PER_CHECK = 1024 };
constexpr uint64_t GAVE_UP = UINT64_MAX;

/* In gave_up_in: an earlier kernel of the run gave up. */
constexpr uint64_t STOPPED = UINT64_MAX;

/* Records it for the block's other threads, for its later runs, for the later kernels of the run (their
 * checks of earlier kernels would take 0.1 us), and in host memory, where all waiting blocks check it. */
static __device__ void give_up(const run_state &all, uint64_t run) {
    *gave_up_here() = 1;
    all.states[blockIdx.x].gave_up_in = run;
#pragma unroll 1
    for (const common_state *next = all.common->after; next != nullptr; next = next->after)
        next->states[blockIdx.x].gave_up_in = STOPPED;
    store_release(all.ended + 1, 1);
}

/* Checks a wait for its time-out. `began_ns` is the result of the previous check, at first 0: the time of the
 * wait's first check. GAVE_UP: end the wait, whatever has arrived. */
static __device__ __noinline__ uint64_t check_patience(const run_state &all, uint64_t run,
                                                       uint64_t began_ns) {
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
