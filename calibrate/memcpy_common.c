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

copying_t copying_own(const work_t *work, pto_copy_kind_t kind) {
    int device = work->job->process[work->job->rank].device;
    return (copying_t){.device = device, .peer = device, .home = device, .kind = kind};
}

void copying_open(const work_t *work, int64_t bytes) {
    copying_t *copying = work->state;
    if (copying->kind == PTO_COPY_D2D) {
        gpu_select(copying->peer);
        copying->target = memory_buffer(work, PTO_SPACE_GPU, bytes);
        if (copying->peer != copying->device)
            GPU_DO(gpu.bench->reach(copying->device, &gpu_error));
        gpu_select(copying->device);
        copying->source = memory_buffer(work, PTO_SPACE_GPU, bytes);
        if (copying->peer != copying->device)
            GPU_DO(gpu.bench->reach(copying->peer, &gpu_error));
        return;
    }
    gpu_select(copying->device);
    void *device = memory_buffer(work, PTO_SPACE_GPU, copying->strided ? 2 * bytes : bytes);
    void *host = copying->pageable ? memory_buffer(work, PTO_SPACE_CPU, bytes) : memory_pinned(work, bytes);
    copying->source = copying->kind == PTO_COPY_H2D ? host : device;
    copying->target = copying->kind == PTO_COPY_H2D ? device : host;
}

void copying_close(const work_t *work) {
    const copying_t *copying = work->state;
    gpu_select(copying->home);
}

/* A strided copy has eight rows, like a share of an exchange of eight, at a pitch of twice their length. */
static pto_move_t move_of(const copying_t *copying, size_t bytes) {
    enum { ROWS = 8 };
    size_t rows = copying->strided && bytes >= ROWS ? ROWS : 1;
    size_t row = bytes / rows;
    bool to_device = copying->kind == PTO_COPY_H2D;
    return (pto_move_t){.target = copying->target,
                        .source = copying->source,
                        .bytes = row,
                        .rows = rows,
                        .target_pitch_bytes = to_device ? 2 * row : row,
                        .source_pitch_bytes = to_device ? row : 2 * row};
}

void copy_and_wait(pto_move_t move) {
    GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
}

void copying_once(const work_t *work, int64_t bytes) { copy_and_wait(move_of(work->state, (size_t)bytes)); }

pto_move_t move_of_bytes(void *target, const void *source, size_t bytes) {
    return (pto_move_t){target, source, bytes, 1, bytes, bytes};
}
