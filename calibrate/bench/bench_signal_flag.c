/* Signal: a flag in shared memory that one process of a node sets and another waits for; there and back, half
 * of which is one way. */
#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"
#include "pairs.h"

typedef struct {
    const work_t *work;
    int round; /* the value that the flags have come to */
} state_t;

static void list_cases(const job_t *job, case_list_t *list) {
    const pto_level_t levels[] = {PTO_LEVEL_ON_SOCKET, PTO_LEVEL_ON_NODE};
    for (int i = 0; i < 2; i++) {
        pair_t pairs[PAIRS_MAX];
        int count = pairs_find(job, PTO_SPACE_CPU, levels[i], pairs);
        if (count == 0)
            case_missing(list, pairs_missing(levels[i]), "signal_flag_%s", pto_level_name(levels[i]));
        for (int j = 0; j < count; j++) {
            case_t *added = pairs_case(list, "signal_flag", &pairs[j]);
            added->space = pto_space_name(PTO_SPACE_CPU);
            added->level = pto_level_name(levels[i]);
            added->sized = false;
        }
    }
}

static void *open_case(const work_t *work) {
    state_t *state = must_allocate(1, sizeof *state);
    state->work = work;
    return state;
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    (void)bytes;
    state_t *state = opaque;
    atomic_int *there = together_flag(state->work->together, 0);
    atomic_int *back = together_flag(state->work->together, 1);
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        state->round++;
        if (state->work->me == 0) {
            atomic_store_explicit(there, state->round, memory_order_release);
            together_await(back, state->round);
        } else {
            together_await(there, state->round);
            atomic_store_explicit(back, state->round, memory_order_release);
        }
    }
    return state->work->me == 0 ? (now_s() - start) / 2.0 : 0.0;
}

const benchmark_t bench_signal_flag = {
    .name = "signal_flag",
    .group = "signals",
    .rows = "signal_flag",
    .summary = "a flag in shared memory, set by one process of a node and seen by another",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = free,
};
