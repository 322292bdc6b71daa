/* Launches of kernels that the host does not wait for. The first kernel keeps the GPU busy for longer than
 * the CPU needs for all launches; 1 to 4 of the executor's kernels follow, which copy a few bytes. `messages`
 * is the number of kernels, and the seconds are of all of them. So the time of each additional kernel is its
 * launch on the GPU. */
#include "fatal.h"
#include "memory.h"
#include "portolan/kernel.h"

enum { COPIED_BYTES = 16, BUSY_WIDTH = 16, BEHIND_MOST = 4 };

/* What the first kernel copies: one thread block takes some tens of microseconds for it. */
static const int64_t busy_bytes = INT64_C(1) << 20;

typedef struct {
    char *from;
    char *to;
    pto_kernel_op_t copy; /* the kernel borrows its program */
    pto_operand_t operand[2];
    void *kernel;
} state_t;

static void list_cases(const job_t *job, case_list_t *list) {
    (void)job;
    for (int behind = 1; behind <= BEHIND_MOST; behind *= 2) {
        case_t *added = case_add_in(list, "run_launch", PTO_SPACE_GPU, 1);
        added->sized = false;
        added->messages = 1 + behind;
    }
}

static void enqueue(const work_t *work, int64_t bytes) {
    const state_t *state = work->state;
    (void)bytes;
    GPU_DO(gpu.bench->move(state->to, state->from, (size_t)(busy_bytes / BUSY_WIDTH), BUSY_WIDTH, 1, 1,
                           gpu.stream, &gpu_error));
    for (int i = 1; i < work->bench_case->messages; i++)
        GPU_DO(gpu.device->kernels->enqueue(state->kernel, gpu.stream, &gpu_error));
}

static void make_kernel(state_t *state) {
    const pto_rows_t rows = pto_rows_of(COPIED_BYTES);
    state->operand[0] = (pto_operand_t){.spot = {.at = state->from}, .bytes = COPIED_BYTES, .rows = rows};
    state->operand[1] = (pto_operand_t){.spot = {.at = state->to}, .bytes = COPIED_BYTES, .rows = rows};
    state->copy = (pto_kernel_op_t){.kind = PTO_KERNEL_MOVE, .count = 2};
    const pto_kernel_program_t program = {.ops = &state->copy,
                                          .op_count = 1,
                                          .operands = state->operand,
                                          .operand_count = 2,
                                          .blocks = 1,
                                          .slices = 1,
                                          .datatype = PTO_DATATYPE_BYTE,
                                          .op = PTO_OP_SUM};
    GPU_DO(gpu.device->kernels->create(&program, &state->kernel, &gpu_error));
}

static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->from = memory_buffer(work, PTO_SPACE_GPU, busy_bytes);
    state->to = memory_buffer(work, PTO_SPACE_GPU, busy_bytes);
    make_kernel(state);
}

static void close_case(const work_t *work) {
    const state_t *state = work->state;
    gpu.device->kernels->destroy(state->kernel);
}

const benchmark_t bench_run_launch = {
    .name = "run_launch",
    .group = "signals",
    .summary = "kernels behind one that keeps the GPU at work: their launches",
    .gpu_only = "run_launch",
    .runs = 1u << PTO_RUNS_ENQUEUED | 1u << PTO_RUNS_GRAPH,
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .once = enqueue,
    .times = TIMES_RUNS,
    .close = close_case,
};
