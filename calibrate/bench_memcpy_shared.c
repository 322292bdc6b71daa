/* Shared copies: 1 .. procs_per_gpu processes of every GPU of a node copy at once, each the full size between
 * pinned memory and a buffer of its own on the GPU, or between two such buffers. `procs` counts the processes
 * of one GPU. All meet before and after every copy: without MPS a GPU serves its processes in turns of tens
 * of microseconds, into which a process that copies again and again fits many small copies, while one that
 * copies once waits for its turn. Strided copies, eight rows at twice their length, go another way through
 * the GPU and have rows of their own. */
#include <stdio.h>
#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"
#include "memcpy_common.h"

enum { STRIDED_LEAST_BYTES = 8 };

/* Processes that every device has. */
static int fewest_of_a_device(const job_t *job) {
    for (int count = 0;; count++) {
        for (int device = 0; device < job->device_count; device++)
            if (job_driver(job, device, count) < 0)
                return count;
    }
}

static void add_case(const job_t *job, pto_copy_kind_t kind, bool strided, int procs, case_list_t *list) {
    char name[CASE_NAME_MAX];
    snprintf(name, sizeof name, "memcpy_shared_%s%s", strided ? "strided_" : "", pto_copy_kind_name(kind));
    case_t *added = case_add(list, name, procs * job->device_count);
    added->procs = procs;
    added->buffers = PTO_SPACE_GPU;
    added->detail[0] = (int)kind;
    added->detail[1] = strided;
    added->least_bytes = strided ? STRIDED_LEAST_BYTES : 1;
    bool on_socket = true;
    for (int i = 0; i < added->member_count; i++) {
        int device = i % job->device_count;
        added->member[i] = job_driver(job, device, i / job->device_count);
        on_socket = on_socket && job_on_socket(job, added->member[i], device);
    }
    added->level = on_socket ? "on_socket" : "off_socket";
}

static void list_cases(const job_t *job, case_list_t *list) {
    int most = fewest_of_a_device(job);
    if (most == 0) {
        case_missing(list, "fewer processes than GPUs on the node", "memcpy_shared");
        return;
    }
    for (int strided = 0; strided < 2; strided++) {
        for (pto_copy_kind_t kind = PTO_COPY_H2D; kind <= (strided ? PTO_COPY_D2H : PTO_COPY_D2D); kind++)
            for (int procs = 1; procs != 0; procs = next_count(procs, most))
                add_case(job, kind, strided, procs, list);
    }
    if (most == 1)
        case_missing(list, "the job has one process for each GPU", "memcpy_shared_more");
}

typedef struct {
    copying_t *copying;
    together_t *together;
} shared_t;

static void *open_case(const work_t *work) {
    copying_t *copying = must_allocate(1, sizeof *copying);
    copying->kind = (pto_copy_kind_t)work->what->detail[0];
    copying->strided = work->what->detail[1];
    copying->device = work->job->process[work->job->rank].device;
    copying->peer = copying->device;
    copying->home = copying->device;
    copying_open(copying, work->most_bytes);
    shared_t *shared = must_allocate(1, sizeof *shared);
    *shared = (shared_t){copying, work->together};
    return shared;
}

static double trial(void *state, int64_t bytes, int iterations) {
    const shared_t *shared = state;
    double seconds = 0;
    for (int i = 0; i < iterations; i++) {
        together_wait(shared->together);
        seconds -= now_s();
        copying_trial(shared->copying, bytes, 1);
        together_wait(shared->together);
        seconds += now_s();
    }
    return seconds;
}

static void close_case(void *state) {
    shared_t *shared = state;
    copying_close(shared->copying);
    free(shared);
}

const benchmark_t bench_memcpy_shared = {
    .name = "memcpy_shared",
    .group = "copies",
    .rows = "memcpy_shared_h2d, memcpy_shared_d2h, memcpy_shared_d2d, memcpy_shared_strided_h2d, "
            "memcpy_shared_strided_d2h",
    .summary = "1 .. n processes of each GPU of a node copying at once",
    .gpu_only = "memcpy_shared",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
