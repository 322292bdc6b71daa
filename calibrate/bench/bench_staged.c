/* Staged messages between two processes of a node, as in the middle of a pipeline of chunks. One process
 * copies a chunk from its GPU to the host while it sends the previous chunk; the other receives a chunk while
 * it copies the previous one to its GPU. The seconds are of one chunk. If messages are copies by the CPU,
 * they take longer than in a ping-pong: their data are not in the CPU's caches, and the GPUs use the same
 * memory. */
#include "fatal.h"
#include "memcpy_common.h"
#include "pairs.h"

enum { SLOTS = 4 }; /* as in the pipelines of strategies */

static const int64_t max_bytes = INT64_C(1) << 24;

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_level_t level = PTO_LEVEL_ON_GPU; level <= PTO_LEVEL_ON_NODE; level++)
        pairs_cases(job, PTO_SPACE_GPU, level, PTO_SPACE_CPU, "staged", "staged", list);
    for (int i = 0; i < list->case_count; i++) {
        list->cases[i].max_bytes = max_bytes;
        list->cases[i].room = SLOTS;
    }
}

static bool sends(const work_t *work) { return work->me == 0; }

static void open_case(const work_t *work) {
    copying_make(work, sends(work) ? PTO_COPY_D2H : PTO_COPY_H2D, false);
}

static void start_copy(const copying_t *copying, int slot, size_t bytes) {
    const pto_move_t move = copying_move(copying, (size_t)slot * bytes, bytes);
    GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    const copying_t *copying = work->state;
    char *slots = sends(work) ? copying->target : copying->source; /* in host memory */
    size_t size = (size_t)bytes;
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        char *chunk = slots + (size_t)(i % SLOTS) * size;
        if (sends(work)) {
            start_copy(copying, (i + 1) % SLOTS, size);
            MPI_DO(MPI_Send(chunk, (int)bytes, MPI_BYTE, 1, 0, work->comm));
            GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
        } else {
            MPI_DO(MPI_Recv(chunk, (int)bytes, MPI_BYTE, 0, 0, work->comm, MPI_STATUS_IGNORE));
            GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
            start_copy(copying, i % SLOTS, size);
        }
    }
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return now_s() - start;
}

const benchmark_t bench_staged = {
    .name = "staged",
    .summary = "messages of chunks that GPUs copy to and from the host meanwhile",
    .gpu_only = "staged",
    .state_bytes = sizeof(copying_t),
    .list = list_cases,
    .open = open_case,
    .trial = trial,
};
