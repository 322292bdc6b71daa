/* Queued copies: 1, 2, 4 ... 64 copies in one stream, and one wait. `messages` counts the copies, each of a
 * place of its own. The seconds are of all of them. */
#include <stdio.h>
#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"
#include "memcpy_common.h"

enum { QUEUED_MAX = 64 };

/* A larger copy takes far longer than queueing it. */
static const int64_t most_bytes = INT64_C(1) << 20;

static void add_case(const job_t *job, pto_copy_kind_t kind, int copies, case_list_t *list) {
    char name[CASE_NAME_MAX];
    snprintf(name, sizeof name, "memcpy_queued_%s", pto_copy_kind_name(kind));
    case_t *added = case_add(list, name, 1);
    added->level = pto_reach_name(job_on_socket(job, 0, job->process[0].device) ? PTO_REACH_ON_SOCKET
                                                                                : PTO_REACH_OFF_SOCKET);
    added->messages = copies;
    added->buffers = PTO_SPACE_GPU;
    added->most_bytes = most_bytes;
    added->detail[0] = (int)kind;
    added->member[0] = 0;
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_copy_kind_t kind = PTO_COPY_H2D; kind <= PTO_COPY_D2D; kind++)
        for (int copies = 1; copies <= QUEUED_MAX; copies *= 2)
            add_case(job, kind, copies, list);
}

typedef struct {
    copying_t *copying;
    int copies;
} queued_t;

static void *open_case(const work_t *work) {
    queued_t *queued = must_allocate(1, sizeof *queued);
    int device = work->job->process[work->job->rank].device;
    queued->copies = work->what->messages;
    queued->copying = must_allocate(1, sizeof *queued->copying);
    queued->copying->kind = (pto_copy_kind_t)work->what->detail[0];
    queued->copying->device = device;
    queued->copying->peer = device;
    queued->copying->home = device;
    copying_open(queued->copying, queued->copies * work->most_bytes);
    return queued;
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    const queued_t *queued = opaque;
    size_t size = (size_t)bytes;
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        for (size_t at = 0; at < (size_t)queued->copies * size; at += size) {
            const pto_move_t move = {(char *)queued->copying->target + at,
                                     (const char *)queued->copying->source + at,
                                     size,
                                     1,
                                     size,
                                     size};
            GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
        }
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    }
    return now_s() - start;
}

static void close_case(void *opaque) {
    queued_t *queued = opaque;
    copying_close(queued->copying);
    free(queued);
}

const benchmark_t bench_memcpy_queued = {
    .name = "memcpy_queued",
    .group = "copies",
    .rows = "memcpy_queued_h2d, memcpy_queued_d2h, memcpy_queued_d2d",
    .summary = "1 .. 64 copies that are queued in a stream and waited for once",
    .gpu_only = "memcpy_queued",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
