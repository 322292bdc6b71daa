/* Peer copies: a process writes from its own GPU into the memory of another process's, which it opened by
 * CUDA IPC. Pairs are two processes. */
#include <stdio.h>
#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"
#include "memory.h"
#include "pairs.h"

enum { TAG_HANDLE = 7 };

typedef struct {
    const work_t *work;
    void *own;
    void *opened; /* the writer's view of the other's memory */
} state_t;

static bool can_copy(const job_t *job, const pair_t *pair) {
    return job->reach[job->process[pair->a].device][job->process[pair->b].device];
}

static void list_level(const job_t *job, pto_level_t level, case_list_t *list) {
    pair_t pairs[PAIRS_MAX];
    const char *reach = level == PTO_LEVEL_ON_SOCKET ? "on_socket" : "off_socket";
    char what[CASE_NAME_MAX];
    snprintf(what, sizeof what, "memcpy_peer_%s", reach);
    int count = pairs_find(job, PTO_SPACE_GPU, level, pairs);
    if (count == 0) {
        case_skip(list, what, "no two processes of a node drive different GPUs so placed");
    }
    for (int i = 0; i < count; i++) {
        if (!can_copy(job, &pairs[i])) {
            case_skip(list, what, "the GPUs can't reach each other's memory");
            continue;
        }
        case_t *added = case_add(list, "memcpy_peer", 2);
        added->level = reach;
        added->buffers = PTO_SPACE_GPU;
        snprintf(added->pair, sizeof added->pair, "%d-%d", pairs[i].a, pairs[i].b);
        added->member[0] = pairs[i].a;
        added->member[1] = pairs[i].b;
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    if (job->no_gpu[0] != '\0') {
        case_skip(list, "memcpy_peer", job->no_gpu);
        return;
    }
    list_level(job, PTO_LEVEL_ON_SOCKET, list);
    list_level(job, PTO_LEVEL_ON_NODE, list);
}

static void *open_case(const work_t *work) {
    state_t *state = must_allocate(1, sizeof *state);
    state->work = work;
    state->own = buffer_allocate(PTO_SPACE_GPU, work->most_bytes);
    pto_memory_handle_t handle;
    if (work->me == 0) {
        MPI_DO(MPI_Recv(&handle, (int)sizeof handle, MPI_BYTE, 1, TAG_HANDLE, work->comm, MPI_STATUS_IGNORE));
        GPU_DO(gpu.device->open_memory(&handle, &state->opened, &gpu_error));
    } else {
        GPU_DO(gpu.device->export_memory(state->own, &handle, &gpu_error));
        MPI_DO(MPI_Send(&handle, (int)sizeof handle, MPI_BYTE, 0, TAG_HANDLE, work->comm));
    }
    return state;
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    const state_t *state = opaque;
    if (state->work->me != 0) {
        return 0.0;
    }
    const pto_move_t move = {state->opened, state->own, (size_t)bytes, 1, (size_t)bytes, (size_t)bytes};
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    }
    return now_s() - start;
}

/* The owner may free its memory only once no process has it open. */
static void close_case(void *opaque) {
    state_t *state = opaque;
    if (state->opened != NULL) {
        GPU_DO(gpu.device->close_memory(state->opened, &gpu_error));
    }
    MPI_DO(MPI_Barrier(state->work->comm));
    buffer_free(PTO_SPACE_GPU, state->own);
    free(state);
}

const benchmark_t bench_memcpy_peer = {
    .name = "memcpy_peer",
    .group = "copies",
    .rows = "memcpy_peer",
    .summary = "one process copying into another's GPU memory, by CUDA IPC",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
