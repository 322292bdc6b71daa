/* One copy and a wait for its end, as the programs do that the models describe. */
#include "memcpy_common.h"

#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"
#include "memory.h"

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

void copying_close(void *state) {
    copying_t *copying = state;
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
    free(copying);
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

double copying_trial(void *state, int64_t bytes, int iterations) {
    const pto_move_t move = move_of(state, (size_t)bytes);
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    }
    return now_s() - start;
}
