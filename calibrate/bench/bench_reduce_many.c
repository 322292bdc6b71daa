/* Reduction of many buffers into one by the executor's kernel, which reads `messages` inputs in one pass and
 * writes once, including its launch and the wait for its end; bytes are of one input. There is a case of two
 * inputs, so that the fit can compare this kernel with that of `reduce`. */
#include <stdio.h>

#include "fatal.h"
#include "memory.h"

enum { INPUTS_MAX = 16, ELEMENT_BYTES = 4 };

/* Maximum size of all buffers of a case together. */
static const int64_t room_bytes = INT64_C(4) << 30;

typedef struct {
    void *target;
    void *input[INPUTS_MAX];
} state_t;

static void list_cases(const job_t *job, case_list_t *list) {
    (void)job;
    for (int inputs = 2; inputs != 0; inputs = next_count(inputs, INPUTS_MAX)) {
        case_t *added = case_add_in(list, "reduce_many", PTO_SPACE_GPU, 1);
        added->messages = inputs;
        added->min_bytes = ELEMENT_BYTES;
        added->max_bytes = room_bytes / (inputs + 1);
        snprintf(added->pair, sizeof added->pair, "sum-float");
    }
}

static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->target = memory_zeroed(work, PTO_SPACE_GPU, work->max_bytes);
    for (int i = 0; i < work->bench_case->messages; i++)
        state->input[i] = memory_zeroed(work, PTO_SPACE_GPU, work->max_bytes);
}

static void reduce_once(const work_t *work, int64_t bytes) {
    const state_t *state = work->state;
    const bool fresh = true; /* overwrites the target: all inputs are read, and one result is written */
    GPU_DO(gpu.device->reduce_many(state->target, fresh, (const void *const *)state->input,
                                   work->bench_case->messages, (size_t)bytes / ELEMENT_BYTES,
                                   PTO_DATATYPE_FLOAT, PTO_OP_SUM, gpu.stream, &gpu_error));
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
}

const benchmark_t bench_reduce_many = {
    .name = "reduce_many",
    .group = "reduce",
    .summary = "element-wise reduction of many inputs in one GPU kernel, the executor's own",
    .gpu_only = "reduce_many",
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .once = reduce_once,
};
