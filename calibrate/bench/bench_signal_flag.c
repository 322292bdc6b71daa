/* Signals between processes: a flag in shared memory that one process of a node sets and another waits for.
 * The other process answers by a second flag; half of the round trip is one way. */
#include "pairs.h"

typedef struct {
    int round; /* the last value of the flags */
} state_t;

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_level_t level = PTO_LEVEL_ON_SOCKET; level <= PTO_LEVEL_ON_NODE; level++)
        pairs_cases(job, PTO_SPACE_CPU, level, PTO_SPACE_CPU, "signal_flag", "signal_flag", list);
    for (int i = 0; i < list->case_count; i++)
        list->cases[i].sized = false;
}

static void signal_once(const work_t *work, int64_t bytes) {
    (void)bytes;
    state_t *state = work->state;
    atomic_int *there = together_flag(work->together, 0);
    atomic_int *back = together_flag(work->together, 1);
    state->round++;
    if (work->me == 0) {
        atomic_store_explicit(there, state->round, memory_order_release);
        together_await(back, state->round);
    } else {
        together_await(there, state->round);
        atomic_store_explicit(back, state->round, memory_order_release);
    }
}

const benchmark_t bench_signal_flag = {
    .name = "signal_flag",
    .group = "signals",
    .summary = "a flag in shared memory, set by one process of a node and seen by another",
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .once = signal_once,
    .times = TIMES_ROUND_TRIP,
};
