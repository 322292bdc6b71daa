/* Strided copies: rows of 4 B to 4 KiB, as of the columns of a grid, in one copy. `messages` is the bytes of
 * a row, `bytes` of all rows together. */
#include <stdio.h>
#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"
#include "memcpy_common.h"

enum { ROWS_MAX = 65536, ROW_LEAST_BYTES = 4, ROW_MOST_BYTES = 4096, PITCH_LEAST_BYTES = 512 };

/* Beyond this, rows of any width are few or the copy takes milliseconds. */
static const int64_t most_bytes = INT64_C(1) << 24;

/* Rows share no sector of memory. */
static int64_t pitch_of(int64_t row_bytes) {
    return 4 * row_bytes > PITCH_LEAST_BYTES ? 4 * row_bytes : PITCH_LEAST_BYTES;
}

static void add_case(const job_t *job, pto_copy_kind_t kind, int row_bytes, case_list_t *list) {
    char name[CASE_NAME_MAX];
    int64_t most = (int64_t)ROWS_MAX * row_bytes;
    snprintf(name, sizeof name, "memcpy_strided_%s", pto_copy_kind_name(kind));
    case_t *added = case_add(list, name, 1);
    added->level = pto_reach_name(job_on_socket(job, 0, job->process[0].device) ? PTO_REACH_ON_SOCKET
                                                                                : PTO_REACH_OFF_SOCKET);
    added->messages = row_bytes;
    added->buffers = PTO_SPACE_GPU;
    added->least_bytes = row_bytes;
    added->most_bytes = most < most_bytes ? most : most_bytes;
    added->detail[0] = (int)kind;
    added->member[0] = 0;
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_copy_kind_t kind = PTO_COPY_H2D; kind <= PTO_COPY_D2D; kind++)
        for (int row_bytes = ROW_LEAST_BYTES; row_bytes <= ROW_MOST_BYTES; row_bytes *= 4)
            add_case(job, kind, row_bytes, list);
}

typedef struct {
    copying_t *copying;
    int64_t row_bytes;
} strided_t;

static void *open_case(const work_t *work) {
    strided_t *strided = must_allocate(1, sizeof *strided);
    int device = work->job->process[work->job->rank].device;
    strided->row_bytes = work->what->messages;
    strided->copying = must_allocate(1, sizeof *strided->copying);
    strided->copying->kind = (pto_copy_kind_t)work->what->detail[0];
    strided->copying->device = device;
    strided->copying->peer = device;
    strided->copying->home = device;
    copying_open(strided->copying, work->most_bytes / strided->row_bytes * pitch_of(strided->row_bytes));
    return strided;
}

/* Both sides have rows, as the array on the GPU and the one on the host that a halo exchange by hand uses. */
static double trial(void *opaque, int64_t bytes, int iterations) {
    const strided_t *strided = opaque;
    size_t pitch = (size_t)pitch_of(strided->row_bytes);
    const pto_move_t move = {strided->copying->target,
                             strided->copying->source,
                             (size_t)strided->row_bytes,
                             (size_t)(bytes / strided->row_bytes),
                             pitch,
                             pitch};
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    }
    return now_s() - start;
}

static void close_case(void *opaque) {
    strided_t *strided = opaque;
    copying_close(strided->copying);
    free(strided);
}

const benchmark_t bench_memcpy_strided = {
    .name = "memcpy_strided",
    .group = "copies",
    .rows = "memcpy_strided_h2d, memcpy_strided_d2h, memcpy_strided_d2d",
    .summary = "rows of 4 B to 4 KiB in one copy",
    .gpu_only = "memcpy_strided",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
