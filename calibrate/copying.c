/* One copy and its end: cudaMemcpyAsync and a synchronise, as the programs do that the models describe. */
#include "copying.h"

#include <stdlib.h>

#include "benchmark.h"
#include "check.h"
#include "memory.h"

const char *copying_name(gpu_copy_t kind) {
    static const char *const names[] = {[GPU_H2D] = "h2d", [GPU_D2H] = "d2h", [GPU_D2D] = "d2d"};
    return names[kind];
}

static void *host_allocate(bool pageable, int64_t bytes) {
    void *buffer = NULL;
    if (pageable) {
        return buffer_allocate(PTO_SPACE_CPU, bytes);
    }
    GPU_DO(gpu_pinned_allocate((size_t)bytes, &buffer));
    return buffer;
}

static void host_free(bool pageable, void *buffer) {
    if (pageable) {
        buffer_free(PTO_SPACE_CPU, buffer);
    } else {
        GPU_DO(gpu_pinned_free(buffer));
    }
}

void copying_open(copying_t *copying, int64_t bytes) {
    if (copying->kind == GPU_D2D) {
        GPU_DO(gpu_select(copying->peer));
        copying->target = buffer_allocate(PTO_SPACE_GPU, bytes);
        if (copying->peer != copying->device) {
            GPU_DO(gpu_reach(copying->device));
        }
        GPU_DO(gpu_select(copying->device));
        copying->source = buffer_allocate(PTO_SPACE_GPU, bytes);
        if (copying->peer != copying->device) {
            GPU_DO(gpu_reach(copying->peer));
        }
        return;
    }
    GPU_DO(gpu_select(copying->device));
    void *device = buffer_allocate(PTO_SPACE_GPU, copying->strided ? 2 * bytes : bytes);
    void *host = host_allocate(copying->pageable, bytes);
    copying->source = copying->kind == GPU_H2D ? host : device;
    copying->target = copying->kind == GPU_H2D ? device : host;
}

void copying_close(void *state) {
    copying_t *copying = state;
    if (copying->kind == GPU_D2D) {
        buffer_free(PTO_SPACE_GPU, copying->source);
        GPU_DO(gpu_select(copying->peer));
        buffer_free(PTO_SPACE_GPU, copying->target);
    } else {
        bool to_device = copying->kind == GPU_H2D;
        buffer_free(PTO_SPACE_GPU, to_device ? copying->target : copying->source);
        host_free(copying->pageable, to_device ? copying->source : copying->target);
    }
    GPU_DO(gpu_select(copying->home));
    free(copying);
}

/* As many rows as a share of an exchange among eight has blocks, each half of its pitch. */
static const char *start_copy(const copying_t *copying, size_t bytes) {
    enum { ROWS = 8 };
    size_t rows = bytes < ROWS ? 1 : ROWS;
    if (!copying->strided) {
        return gpu_copy(copying->target, copying->source, bytes, copying->kind);
    }
    return gpu_copy_rows(copying->target, copying->source, bytes / rows, rows, 2 * (bytes / rows),
                         copying->kind);
}

double copying_trial(void *state, int64_t bytes, int iterations) {
    const copying_t *copying = state;
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        GPU_DO(start_copy(copying, (size_t)bytes));
        GPU_DO(gpu_synchronize());
    }
    return now_s() - start;
}
