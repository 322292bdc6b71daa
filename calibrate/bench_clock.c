/* Reading the clock: what a measurement itself costs. */
#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"

typedef struct {
    double last_s;
} state_t;

static void list_cases(const job_t *job, case_list_t *list) {
    (void)job;
    case_t *added = case_add(list, "clock", 1);
    added->space = pto_space_name(PTO_SPACE_CPU);
    added->sized = false;
    added->member[0] = 0;
}

static void *open_case(const work_t *work) {
    (void)work;
    return must_allocate(1, sizeof(state_t));
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    (void)bytes;
    state_t *state = opaque;
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        state->last_s = now_s();
    }
    return state->last_s - start;
}

const benchmark_t bench_clock = {
    .name = "clock",
    .group = "signals",
    .rows = "clock",
    .summary = "reading the clock, which every measurement does",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = free,
};
