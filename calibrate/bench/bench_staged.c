/* Staged messages: two processes of a node as in the middle of a pipeline. One copies a chunk from its GPU to
 * the host while it sends the chunk before; the other receives it and copies the one before to its GPU. The
 * seconds are of one chunk. Where messages are copies by the CPU, they take longer than in a ping-pong: their
 * data are not in its caches, and GPUs use the same memory. */
#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"
#include "memcpy_common.h"
#include "pairs.h"

enum { SLOTS = 4 }; /* as many as a pipeline of the strategies has */

static const int64_t most_bytes = INT64_C(1) << 24;

static void list_level(const job_t *job, pto_level_t level, case_list_t *list) {
    pair_t pairs[PAIRS_MAX];
    int count = pairs_find(job, PTO_SPACE_GPU, level, pairs);
    if (count == 0)
        case_missing(list, pairs_missing(level), "staged_%s", pto_level_name(level));
    for (int i = 0; i < count; i++) {
        case_t *added = pairs_case(list, "staged", &pairs[i]);
        added->space = pto_space_name(PTO_SPACE_CPU);
        added->level = pto_level_name(level);
        added->most_bytes = most_bytes;
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_level_t level = PTO_LEVEL_ON_GPU; level <= PTO_LEVEL_ON_NODE; level++)
        list_level(job, level, list);
}

typedef struct {
    const work_t *work;
    bool sends;
    copying_t *copying;
    char *host; /* the slots */
} staged_t;

static void *open_case(const work_t *work) {
    staged_t *staged = must_allocate(1, sizeof *staged);
    int device = work->job->process[work->job->rank].device;
    staged->work = work;
    staged->sends = work->me == 0;
    staged->copying = must_allocate(1, sizeof *staged->copying);
    *staged->copying = (copying_t){.device = device,
                                   .peer = device,
                                   .home = device,
                                   .kind = staged->sends ? PTO_COPY_D2H : PTO_COPY_H2D};
    copying_open(staged->copying, SLOTS * work->most_bytes);
    staged->host = staged->sends ? staged->copying->target : staged->copying->source;
    return staged;
}

static void start_copy(const staged_t *staged, int slot, size_t bytes) {
    size_t at = (size_t)slot * bytes;
    const pto_move_t move = {(char *)staged->copying->target + at,
                             (const char *)staged->copying->source + at,
                             bytes,
                             1,
                             bytes,
                             bytes};
    GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    const staged_t *staged = opaque;
    MPI_Comm comm = staged->work->comm;
    size_t size = (size_t)bytes;
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        char *chunk = staged->host + (size_t)(i % SLOTS) * size;
        if (staged->sends) {
            start_copy(staged, (i + 1) % SLOTS, size);
            MPI_DO(MPI_Send(chunk, (int)bytes, MPI_BYTE, 1, 0, comm));
            GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
        } else {
            MPI_DO(MPI_Recv(chunk, (int)bytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
            GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
            start_copy(staged, i % SLOTS, size);
        }
    }
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return now_s() - start;
}

static void close_case(void *opaque) {
    staged_t *staged = opaque;
    copying_close(staged->copying);
    free(staged);
}

const benchmark_t bench_staged = {
    .name = "staged",
    .group = "staged",
    .rows = "staged",
    .summary = "messages of chunks that GPUs copy to and from the host meanwhile",
    .gpu_only = "staged",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
