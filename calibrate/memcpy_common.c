/* The parts that copy benchmarks share (memcpy_common.h). A copy is enqueued and waited for. */
#include "memcpy_common.h"

#include <stdio.h>

#include "fatal.h"
#include "memory.h"

case_t *copying_case(case_list_t *list, const char *prefix, pto_copy_kind_t kind, int rank, bool on_socket) {
    char name[CASE_NAME_MAX];
    snprintf(name, sizeof name, "%s_%s", prefix, pto_copy_kind_name(kind));
    case_t *added = case_add(list, name, 1);
    added->level = pto_reach_name(on_socket ? PTO_REACH_ON_SOCKET : PTO_REACH_OFF_SOCKET);
    added->buffers = PTO_SPACE_GPU;
    added->detail[0] = (int)kind;
    added->member[0] = rank;
    return added;
}

case_t *copying_own_case(const job_t *job, const char *prefix, pto_copy_kind_t kind, case_list_t *list) {
    return copying_case(list, prefix, kind, 0, job_on_socket(job, 0, job->process[0].device));
}

static void *make_buffer(const work_t *work, bool on_gpu, bool pageable) {
    if (on_gpu || pageable)
        return memory_buffer(work, on_gpu ? PTO_SPACE_GPU : PTO_SPACE_CPU, work->room_bytes);
    return memory_pinned(work, work->room_bytes);
}

void copying_make(const work_t *work, pto_copy_kind_t kind, bool pageable) {
    copying_t *copying = work->state;
    copying->kind = kind;
    copying->source = make_buffer(work, kind == PTO_COPY_D2H || kind == PTO_COPY_D2D, pageable);
    copying->target = make_buffer(work, kind == PTO_COPY_H2D || kind == PTO_COPY_D2D, pageable);
}

void copying_open(const work_t *work) {
    copying_make(work, (pto_copy_kind_t)work->bench_case->detail[0], false);
}

void copy_and_wait(pto_move_t move) {
    GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
}

void copying_once(const work_t *work, int64_t bytes) {
    copy_and_wait(copying_move(work->state, 0, (size_t)bytes));
}

pto_move_t copying_move(const copying_t *copying, size_t at, size_t bytes) {
    return move_of_bytes((char *)copying->target + at, (const char *)copying->source + at, bytes);
}

pto_move_t move_of_bytes(void *target, const void *source, size_t bytes) {
    return (pto_move_t){target, source, bytes, 1, bytes, bytes};
}
