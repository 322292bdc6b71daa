/* Peer copies: a process copies from its GPU to another process's, by CUDA IPC. Pairs are two processes. */
#include "ipc.h"
#include "memcpy_common.h"
#include "memory.h"

typedef struct {
    void *own;
    void *opened[2]; /* by member */
} state_t;

static void list_cases(const job_t *job, case_list_t *list) {
    for (int i = ipc_cases(job, "memcpy_peer", list); i < list->case_count; i++)
        list->cases[i].buffers = PTO_SPACE_GPU;
}

static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->own = memory_buffer(work, PTO_SPACE_GPU, work->max_bytes);
    ipc_open(work, state->own, state->opened);
}

static void copy_once(const work_t *work, int64_t bytes) {
    const state_t *state = work->state;
    copy_and_wait(move_of_bytes(state->opened[1], state->own, (size_t)bytes));
}

const benchmark_t bench_memcpy_peer = {
    .name = "memcpy_peer",
    .group = "copies",
    .summary = "one process copying into another's GPU memory, by CUDA IPC",
    .gpu_only = "memcpy_peer",
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .once = copy_once,
    .times = TIMES_LEAD,
};
