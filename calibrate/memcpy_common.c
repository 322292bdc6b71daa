/* One copy and a wait for its end, as the programs do that the models describe. */
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

static void *host_allocate(bool pageable, int64_t bytes) {
    void *buffer = NULL;
    if (pageable)
        return buffer_allocate(PTO_SPACE_CPU, bytes);
    GPU_DO(gpu.device->allocate_staging((size_t)bytes, &buffer, &gpu_error));
    return buffer;
}

static void host_free(bool pageable, void *buffer) {
    if (pageable)
        buffer_free(PTO_SPACE_CPU, buffer);
    else
        GPU_DO(gpu.device->release_staging(buffer, &gpu_error));
}

void copying_open(copying_t *copying, int64_t bytes) {
    if (copying->kind == PTO_COPY_D2D) {
        gpu_select(copying->peer);
        copying->target = buffer_allocate(PTO_SPACE_GPU, bytes);
        if (copying->peer != copying->device)
            GPU_DO(gpu.bench->reach(copying->device, &gpu_error));
        gpu_select(copying->device);
        copying->source = buffer_allocate(PTO_SPACE_GPU, bytes);
        if (copying->peer != copying->device)
            GPU_DO(gpu.bench->reach(copying->peer, &gpu_error));
        return;
    }
    gpu_select(copying->device);
    void *device = buffer_allocate(PTO_SPACE_GPU, copying->strided ? 2 * bytes : bytes);
    void *host = host_allocate(copying->pageable, bytes);
    copying->source = copying->kind == PTO_COPY_H2D ? host : device;
    copying->target = copying->kind == PTO_COPY_H2D ? device : host;
}

void copying_close(const work_t *work) {
    copying_t *copying = work->state;
    if (copying->kind == PTO_COPY_D2D) {
        buffer_free(PTO_SPACE_GPU, copying->source);
        gpu_select(copying->peer);
        buffer_free(PTO_SPACE_GPU, copying->target);
    } else {
        bool to_device = copying->kind == PTO_COPY_H2D;
        buffer_free(PTO_SPACE_GPU, to_device ? copying->target : copying->source);
        host_free(copying->pageable, to_device ? copying->source : copying->target);
    }
    gpu_select(copying->home);
}

/* As many rows as a share of an exchange among eight has blocks, each half of its pitch. */
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

double copies_s(const pto_move_t *move, int iterations) {
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        GPU_DO(gpu.device->copy(move, gpu.stream, &gpu_error));
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    }
    return now_s() - start;
}

double copying_trial(const work_t *work, int64_t bytes, int iterations) {
    const pto_move_t move = move_of(work->state, (size_t)bytes);
    return copies_s(&move, iterations);
}

pto_move_t move_of_bytes(void *target, const void *source, size_t bytes) {
    return (pto_move_t){target, source, bytes, 1, bytes, bytes};
}
