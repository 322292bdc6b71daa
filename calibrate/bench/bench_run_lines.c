/* Consecutive runs of a kernel whose data carry their flags (docs/executing.md, 'Lines'): an allgather among
 * GPUs of a node, as a plan of the executor. Such runs have no phases to measure, so whole runs are measured,
 * with their launch. `procs` is the number of GPUs, `bytes` those that each stores to every other. */
#include <stdlib.h>

#include "fatal.h"
#include "memory.h"
#include "pairs.h"
#include "portolan/exec_mpi.h"
#include "portolan/lines.h"
#include "portolan/strategy.h"

typedef struct {
    void *in;
    void *out;
    pto_plan_t *plan; /* of the current size */
    pto_exec_t *exec;
} state_t;

static void list_cases(const job_t *job, case_list_t *list) {
    int *ranks = must_allocate((size_t)job->size, sizeof *ranks);
    int max = pairs_on_node(job, PTO_SPACE_GPU, 0, ranks); /* the first process of each GPU of node 0 */
    if (max < 2)
        case_skip(list, "no two GPUs of the node have a process each", "run_lines");
    for (int gpus = 2; gpus != 0 && gpus <= max; gpus = next_count(gpus, max)) {
        case_t *added = case_add_in(list, "run_lines", PTO_SPACE_GPU, gpus);
        added->procs = gpus;
        added->max_bytes = PTO_LINES_BYTES_MAX;
        for (int i = 0; i < gpus; i++)
            added->member[i] = ranks[i];
    }
    free(ranks);
}

static void enqueue(const work_t *work, int64_t bytes) {
    const state_t *state = work->state;
    (void)bytes;
    GPU_DO(pto_exec_enqueue(state->exec, gpu.stream, &gpu_error));
}

static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->in = memory_buffer(work, PTO_SPACE_GPU, work->max_bytes);
    state->out = memory_buffer(work, PTO_SPACE_GPU, work->max_bytes * work->bench_case->member_count);
}

static void forget_plan(const work_t *work) {
    state_t *state = work->state;
    pto_exec_destroy(state->exec);
    pto_plan_destroy(state->plan);
    state->exec = NULL;
    state->plan = NULL;
}

/* Up to PTO_LINES_BYTES_MAX, the executor moves this plan's data as lines that carry their flags. */
static void make_plan(const work_t *work, int64_t bytes) {
    state_t *state = work->state;
    int gpus = work->bench_case->member_count;
    forget_plan(work);
    pto_request_t request = {
        .layout = {.nodes = 1,
                   .gpus_per_node = gpus,
                   .owners_per_gpu = 1,
                   .procs_per_gpu = 1,
                   .gpus_per_socket = gpus},
        .collective = PTO_COLLECTIVE_ALLGATHER,
        .datatype = PTO_DATATYPE_BYTE,
        .bytes = bytes,
    };
    GPU_DO(pto_strategy_find("gas_allgather", &request.strategy, &gpu_error));
    GPU_DO(pto_algorithm_find("direct", request.collective, &request.algorithm, &gpu_error));
    GPU_DO(pto_plan_create(&request, &state->plan, &gpu_error));
    GPU_DO(pto_exec_create(state->plan, work->comm, gpu.device, state->in, state->out, PTO_OP_SUM, NULL,
                           &state->exec, &gpu_error));
}

const benchmark_t bench_run_lines = {
    .name = "run_lines",
    .group = "remote",
    .summary = "whole runs of a kernel whose data carry their flags",
    .gpu_only = "run_lines",
    .runs = 1u << PTO_RUNS_ENQUEUED | 1u << PTO_RUNS_GRAPH,
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .resize = make_plan,
    .once = enqueue,
    .times = TIMES_RUNS,
    .close = forget_plan,
};
