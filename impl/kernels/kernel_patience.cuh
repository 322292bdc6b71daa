/* The time-out of enqueued runs. No host watches them, so a block that waits for another GPU for too long
 * gives up by itself: it skips the rest of this run and all later ones. Loops that poll call
 * check_patience. */
#ifndef PTO_KERNEL_PATIENCE_CUH
#define PTO_KERNEL_PATIENCE_CUH

#include "kernel_program.cuh"

/* A check reads host memory, which takes much longer than a poll. */
enum { POLLS_PER_CHECK = 1024 };

constexpr uint64_t GAVE_UP = UINT64_MAX; /* the result of a check: the wait is over */
constexpr uint64_t STOPPED = UINT64_MAX; /* in `gave_up_in`: an earlier kernel of the run gave up */

/* Records that this block has given up: for its other threads, for its later runs, for this block of later
 * kernels (which would need 0.1 us to read the state of this one), and in host memory for all blocks. */
static __device__ void give_up(const run_state &parameter, uint64_t run) {
    *gave_up_here() = 1;
    parameter.states[blockIdx.x].gave_up_in = run;
#pragma unroll 1
    for (const common_state *next = parameter.common->after; next != nullptr; next = next->after)
        next->states[blockIdx.x].gave_up_in = STOPPED;
    store_release(parameter.ended + 1, 1);
}

/* Checks whether a wait has timed out. Returns the time of the wait's first check, or GAVE_UP: end the wait,
 * whatever has arrived. `began_ns` is what the previous check of this wait returned, 0 in the first. */
static __device__ __noinline__ uint64_t check_patience(const run_state &parameter, uint64_t run,
                                                       uint64_t began_ns) {
    if (parameter.patience_ms == 0)
        return began_ns;
    const uint64_t now = now_ns();
    const bool others_gave_up = load_host(parameter.ended + 1) != 0;
    if (!others_gave_up && began_ns == 0)
        return now;
    if (!others_gave_up && now - began_ns < static_cast<uint64_t>(parameter.patience_ms) * 1000000)
        return began_ns;
    give_up(parameter, run);
    return GAVE_UP;
}

#endif
