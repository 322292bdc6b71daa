/* Emulates the GPU interface of calibrate on host memory, with FAKE_GPUS devices (4), so that code for GPUs
 * can be tested without one. Its times are not GPU times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../calibrate/gpu.h"

static int selected;

const char *gpu_build(void) { return "with host memory in a GPU's place"; }

const char *gpu_count(int *count) {
    const char *said = getenv("FAKE_GPUS");
    *count = said ? atoi(said) : 4;
    return *count > 0 ? NULL : "no fake GPU was asked for";
}

const char *gpu_select(int device) {
    selected = device;
    return NULL;
}

const char *gpu_describe(int device, char name[GPU_NAME_MAX], char bus[GPU_BUS_MAX]) {
    snprintf(name, GPU_NAME_MAX, "host memory in a GPU's place");
    snprintf(bus, GPU_BUS_MAX, "0000:%02x:00.0", (unsigned)device & 0xff);
    return NULL;
}

const char *gpu_versions(int *driver_cuda, int *runtime_cuda) {
    *driver_cuda = 0;
    *runtime_cuda = 0;
    return NULL;
}

const char *gpu_can_reach(int device, int peer, bool *can) {
    *can = device == peer;
    return NULL;
}

const char *gpu_reach(int peer) {
    (void)peer;
    return NULL;
}

const char *gpu_allocate(size_t bytes, void **memory) {
    *memory = malloc(bytes > 0 ? bytes : 1);
    return *memory ? NULL : "out of memory";
}

const char *gpu_free(void *memory) {
    free(memory);
    return NULL;
}

const char *gpu_pinned_allocate(size_t bytes, void **memory) { return gpu_allocate(bytes, memory); }

const char *gpu_pinned_free(void *memory) { return gpu_free(memory); }

const char *gpu_fill(void *memory, int byte, size_t bytes) {
    memset(memory, byte, bytes);
    return NULL;
}

const char *gpu_copy(void *target, const void *source, size_t bytes, gpu_copy_t kind) {
    (void)kind;
    memmove(target, source, bytes);
    return NULL;
}

const char *gpu_copy_rows(void *target, const void *source, size_t bytes, size_t rows, size_t pitch,
                          gpu_copy_t kind) {
    for (size_t row = 0; row < rows; row++)
        memmove((char *)target + row * (kind == GPU_H2D ? pitch : bytes),
                (const char *)source + row * (kind == GPU_H2D ? bytes : pitch), bytes);
    return NULL;
}

/* Everything has happened when its call returns. */
const char *gpu_synchronize(void) { return NULL; }

const char *gpu_own_stream(void **stream) {
    *stream = &selected;
    return NULL;
}

static const char between_processes[] = "this memory is its process's own";

const char *gpu_export(void *memory, gpu_handle_t *handle) {
    (void)memory;
    (void)handle;
    return between_processes;
}

const char *gpu_open(const gpu_handle_t *handle, void **memory) {
    (void)handle;
    (void)memory;
    return between_processes;
}

const char *gpu_close(void *memory) {
    (void)memory;
    return between_processes;
}

const char *gpu_launch_empty(void) { return NULL; }

const char *gpu_reduce(void *target, const void *source, size_t count, gpu_type_t type, gpu_op_t op) {
    float *sum = target;
    if (type != GPU_FLOAT || op != GPU_SUM)
        return "only floats are summed here";
    for (size_t i = 0; i < count; i++)
        sum[i] += ((const float *)source)[i];
    return NULL;
}

const char *gpu_move(void *target, const void *source, size_t count, int width, int stride, int blocks) {
    (void)blocks;
    for (size_t i = 0; i < count; i++)
        memmove((char *)target + i * (size_t)(stride * width), (const char *)source + i * (size_t)width,
                (size_t)width);
    return NULL;
}

const char *gpu_store_all(void *const *target, int target_count, const void *source, size_t bytes,
                          int blocks) {
    (void)blocks;
    for (int j = 0; j < target_count; j++)
        memmove(target[j], (const char *)source + (size_t)j * bytes, bytes);
    return NULL;
}

const char *gpu_blocks(int device, int *blocks) {
    (void)device;
    *blocks = 4;
    return NULL;
}

const char *gpu_ping_pong(void *own, void *others, bool first, uint32_t from, int rounds, double limit_s,
                          gpu_rounds_t *result) {
    (void)own;
    (void)others;
    (void)first;
    (void)from;
    (void)rounds;
    (void)limit_s;
    (void)result;
    return between_processes;
}

const char *gpu_graph_create(void **graph) {
    *graph = &selected;
    return NULL;
}

const char *gpu_graph_destroy(void *graph) {
    (void)graph;
    return NULL;
}

const char *gpu_graph_launch(void *graph) {
    (void)graph;
    return NULL;
}

const char *gpu_event_create(void **event) {
    *event = &selected;
    return NULL;
}

const char *gpu_event_destroy(void *event) {
    (void)event;
    return NULL;
}

const char *gpu_event_record(void *event) {
    (void)event;
    return NULL;
}

const char *gpu_event_query(void *event, bool *happened) {
    (void)event;
    *happened = true;
    return NULL;
}
