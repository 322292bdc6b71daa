/* Setup: what the executor does once before a plan's first run. As in the executor, all processes of the node
 * do it at the same time: opening GPU memory of another process by CUDA IPC (setup_open); allocating and
 * exporting GPU memory, or allocating pinned host memory (setup_allocate); and a segment of shared memory
 * that one process creates and the others open (setup_segment). Freeing is not timed. */
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "pairs.h"
#include "shm.h"

typedef enum { OPEN, ALLOCATE, SEGMENT } kind_t;

enum { SEGMENT_BYTES = 4096 };

/* Adds a case of the first processes of a list. */
static case_t *add_case(case_list_t *list, kind_t kind, const char *name, pto_space_t space, const int *ranks,
                        int count) {
    case_t *added = case_add_in(list, name, space, count);
    added->procs = count;
    added->detail[0] = (int)kind;
    memcpy(added->member, ranks, (size_t)count * sizeof *ranks);
    return added;
}

/* Moves the processes whose GPUs can access that of ranks[0] to the front, after ranks[0]; returns how many.
 */
static int select_openers(const job_t *job, int *ranks, int rank_count) {
    int count = 0;
    for (int i = 1; i < rank_count; i++) {
        int device = job->process[ranks[i]].device, there = job->process[ranks[0]].device;
        if (device == there || job->reach[device][there])
            ranks[++count] = ranks[i];
    }
    return count;
}

static void list_openings(const job_t *job, case_list_t *list) {
    int *ranks = must_allocate((size_t)job->size, sizeof *ranks);
    int max = select_openers(job, ranks, pairs_on_node(job, PTO_SPACE_CPU, 0, ranks));
    if (max == 0)
        case_skip(list, "no other process of the first node reaches the first one's GPU", "setup_open");
    for (int count = max > 0 ? 1 : 0; count > 0; count = next_count(count, max))
        add_case(list, OPEN, "setup_open", PTO_SPACE_GPU, ranks, count + 1)->procs = count;
    free(ranks);
}

static void list_allocations(pto_space_t space, const int *ranks, int max, case_list_t *list) {
    for (int count = 1; count > 0; count = next_count(count, max))
        add_case(list, ALLOCATE, "setup_allocate", space, ranks, count);
}

static void list_cases(const job_t *job, case_list_t *list) {
    int *ranks = must_allocate((size_t)job->size, sizeof *ranks);
    int max = pairs_on_node(job, PTO_SPACE_CPU, 0, ranks);
    if (job->no_gpu[0] == '\0') {
        list_openings(job, list);
        list_allocations(PTO_SPACE_GPU, ranks, max, list);
        list_allocations(PTO_SPACE_CPU, ranks, max, list);
    } else {
        case_skip(list, job->no_gpu, "setup_open");
        case_skip(list, job->no_gpu, "setup_allocate");
    }
    if (max > 1)
        add_case(list, SEGMENT, "setup_segment", PTO_SPACE_CPU, ranks, max)->sized = false;
    else
        case_skip(list, "only one process is on the first node", "setup_segment");
    free(ranks);
}

/* Member 0 only provides the memory. */
static double open_memory(const work_t *work, int64_t bytes, int iterations) {
    void *memory = NULL;
    pto_memory_handle_t handle;
    double elapsed = 0.0;
    if (work->me == 0) {
        GPU_DO(gpu.device->allocate((size_t)bytes, &memory, &gpu_error));
        GPU_DO(gpu.device->export_memory(memory, &handle, &gpu_error));
    }
    MPI_DO(MPI_Bcast(&handle, (int)sizeof handle, MPI_BYTE, 0, work->comm));
    for (int i = 0; i < iterations; i++) {
        void *opened = NULL;
        together_wait(work->together);
        double start = now_s();
        if (work->me > 0) {
            GPU_DO(gpu.device->open_memory(&handle, &opened, &gpu_error));
            elapsed += now_s() - start;
        }
        together_wait(work->together);
        if (work->me > 0)
            GPU_DO(gpu.device->close_memory(opened, &gpu_error));
    }
    MPI_DO(MPI_Barrier(work->comm)); /* the memory may not be freed while another process has it open */
    if (work->me == 0)
        GPU_DO(gpu.device->release(memory, &gpu_error));
    return elapsed;
}

static double allocate_memory(const work_t *work, int64_t bytes, int iterations) {
    bool on_gpu = work->bench_case->buffers == PTO_SPACE_GPU;
    double elapsed = 0.0;
    for (int i = 0; i < iterations; i++) {
        void *memory = NULL;
        pto_memory_handle_t handle;
        together_wait(work->together);
        double start = now_s();
        if (on_gpu) {
            GPU_DO(gpu.device->allocate((size_t)bytes, &memory, &gpu_error));
            GPU_DO(gpu.device->export_memory(memory, &handle, &gpu_error));
        } else {
            GPU_DO(gpu.device->allocate_staging((size_t)bytes, &memory, &gpu_error));
        }
        elapsed += now_s() - start;
        together_wait(work->together);
        GPU_DO((on_gpu ? gpu.device->release : gpu.device->release_staging)(memory, &gpu_error));
    }
    return elapsed;
}

/* Creates and opens a segment as the executor does. */
static double share_segment(const work_t *work, int iterations) {
    double elapsed = 0.0;
    for (int i = 0; i < iterations; i++) {
        void *memory = NULL;
        pto_shared_handle_t handle = {0};
        pto_error_t err;
        pto_status_t status = PTO_OK;
        together_wait(work->together);
        double start = now_s();
        if (work->me == 0)
            status = pto_shared_create(SEGMENT_BYTES, &memory, &handle, &err);
        MPI_DO(MPI_Bcast(&handle, (int)sizeof handle, MPI_BYTE, 0, work->comm));
        if (work->me > 0)
            status = pto_shared_open(&handle, &memory, &err);
        MPI_DO(MPI_Barrier(work->comm));
        elapsed += now_s() - start;
        if (status != PTO_OK)
            die("%s", err.message);
        (work->me == 0 ? pto_shared_destroy : pto_shared_close)(memory, &handle);
    }
    return elapsed;
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    switch ((kind_t)work->bench_case->detail[0]) {
    case OPEN:
        return open_memory(work, bytes, iterations);
    case ALLOCATE:
        return allocate_memory(work, bytes, iterations);
    case SEGMENT:
        break;
    }
    return share_segment(work, iterations);
}

const benchmark_t bench_setup = {
    .name = "setup",
    .rows = "setup_open, setup_allocate, setup_segment",
    .summary =
        "once before a plan's first run: opening others' GPU memory, allocating, shared memory for flags",
    .list = list_cases,
    .trial = trial,
};
