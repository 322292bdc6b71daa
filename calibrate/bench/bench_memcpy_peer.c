/* Peer copies: a process writes from its own GPU into the memory of another process's, which it opened by
 * CUDA IPC. Pairs are two processes. */
#include <stdlib.h>

#include "fatal.h"
#include "ipc.h"
#include "memory.h"

typedef struct {
    const work_t *work;
    void *own;
    void *opened[2]; /* the members' */
} state_t;

static void list_reach(const job_t *job, pto_reach_t reach, case_list_t *list) {
    pair_t pairs[PAIRS_MAX];
    int count = exchange_pairs(job, reach, pairs, "memcpy_peer", list);
    for (int i = 0; i < count; i++) {
        case_t *added = pairs_case(list, "memcpy_peer", &pairs[i]);
        added->level = pto_reach_name(reach);
        added->buffers = PTO_SPACE_GPU;
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    list_reach(job, PTO_REACH_ON_SOCKET, list);
    list_reach(job, PTO_REACH_OFF_SOCKET, list);
}

static void *open_case(const work_t *work) {
    state_t *state = must_allocate(1, sizeof *state);
    state->work = work;
    state->own = buffer_allocate(PTO_SPACE_GPU, work->most_bytes);
    exchange_open(work, state->own, state->opened);
    return state;
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    const state_t *state = opaque;
    if (state->work->me != 0)
        return 0.0;
    const pto_move_t move = {state->opened[1], state->own, (size_t)bytes, 1, (size_t)bytes, (size_t)bytes};
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    }
    return now_s() - start;
}

static void close_case(void *opaque) {
    state_t *state = opaque;
    exchange_close(state->work, state->opened);
    buffer_free(PTO_SPACE_GPU, state->own);
    free(state);
}

const benchmark_t bench_memcpy_peer = {
    .name = "memcpy_peer",
    .group = "copies",
    .rows = "memcpy_peer",
    .summary = "one process copying into another's GPU memory, by CUDA IPC",
    .gpu_only = "memcpy_peer",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
