/* A build without CUDA: no device, and the reason that the samples file carries. */
#include "gpu.h"

#ifndef PORTOLAN_CUDA

const char *gpu_build(void) { return "without CUDA"; }

static const char reason[] = "portolan-calibrate was built without CUDA";

const char *gpu_count(int *count) {
    *count = 0;
    return reason;
}

const char *gpu_select(int device) {
    (void)device;
    return reason;
}

const char *gpu_describe(int device, char name[GPU_NAME_MAX], char bus[GPU_BUS_MAX]) {
    (void)device;
    (void)name;
    (void)bus;
    return reason;
}

const char *gpu_versions(int *driver_cuda, int *runtime_cuda) {
    (void)driver_cuda;
    (void)runtime_cuda;
    return reason;
}

const char *gpu_can_reach(int device, int peer, bool *can) {
    (void)device;
    (void)peer;
    (void)can;
    return reason;
}

const char *gpu_reach(int peer) {
    (void)peer;
    return reason;
}

const char *gpu_allocate(size_t bytes, void **memory) {
    (void)bytes;
    (void)memory;
    return reason;
}

const char *gpu_free(void *memory) {
    (void)memory;
    return reason;
}

const char *gpu_pinned_allocate(size_t bytes, void **memory) {
    (void)bytes;
    (void)memory;
    return reason;
}

const char *gpu_pinned_free(void *memory) {
    (void)memory;
    return reason;
}

const char *gpu_fill(void *memory, int byte, size_t bytes) {
    (void)memory;
    (void)byte;
    (void)bytes;
    return reason;
}

const char *gpu_copy(void *target, const void *source, size_t bytes, gpu_copy_t kind) {
    (void)target;
    (void)source;
    (void)bytes;
    (void)kind;
    return reason;
}

const char *gpu_copy_rows(void *target, const void *source, size_t bytes, size_t rows, size_t pitch,
                          gpu_copy_t kind) {
    (void)target;
    (void)source;
    (void)bytes;
    (void)rows;
    (void)pitch;
    (void)kind;
    return reason;
}

const char *gpu_own_stream(void **stream) {
    (void)stream;
    return reason;
}

const char *gpu_synchronize(void) { return reason; }

const char *gpu_export(void *memory, gpu_handle_t *handle) {
    (void)memory;
    (void)handle;
    return reason;
}

const char *gpu_open(const gpu_handle_t *handle, void **memory) {
    (void)handle;
    (void)memory;
    return reason;
}

const char *gpu_close(void *memory) {
    (void)memory;
    return reason;
}

const char *gpu_launch_empty(void) { return reason; }

const char *gpu_reduce(void *target, const void *source, size_t count, gpu_type_t type, gpu_op_t op) {
    (void)target;
    (void)source;
    (void)count;
    (void)type;
    (void)op;
    return reason;
}

const char *gpu_move(void *target, const void *source, size_t count, int width, int stride, int blocks) {
    (void)target;
    (void)source;
    (void)count;
    (void)width;
    (void)stride;
    (void)blocks;
    return reason;
}

const char *gpu_store_all(void *const *target, int target_count, const void *source, size_t bytes,
                          int blocks) {
    (void)target;
    (void)target_count;
    (void)source;
    (void)bytes;
    (void)blocks;
    return reason;
}

const char *gpu_blocks(int device, int *blocks) {
    (void)device;
    (void)blocks;
    return reason;
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
    return reason;
}

const char *gpu_graph_create(void **graph) {
    (void)graph;
    return reason;
}

const char *gpu_graph_destroy(void *graph) {
    (void)graph;
    return reason;
}

const char *gpu_graph_launch(void *graph) {
    (void)graph;
    return reason;
}

const char *gpu_event_create(void **event) {
    (void)event;
    return reason;
}

const char *gpu_event_destroy(void *event) {
    (void)event;
    return reason;
}

const char *gpu_event_record(void *event) {
    (void)event;
    return reason;
}

const char *gpu_event_query(void *event, bool *happened) {
    (void)event;
    (void)happened;
    return reason;
}

#endif
