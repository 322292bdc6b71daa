/* Allocates and frees the memory of a case (memory.h), which is kept in a list. Host buffers are
 * page-aligned, as large allocations are. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"

enum { PAGE_BYTES = 4096 };

typedef enum { OF_HOST, OF_GPU, PINNED, OPENED } kind_t; /* how memory is freed */

typedef struct allocation {
    kind_t kind;
    void *memory;
    struct allocation *previous;
} allocation_t;

struct memory {
    allocation_t *last;
    bool shared; /* by memory_is_shared */
};

/* Adds memory to the list, and returns it. */
static void *keep(const work_t *work, kind_t kind, void *memory) {
    allocation_t *added = must_allocate(1, sizeof *added);
    *added = (allocation_t){kind, memory, work->memory->last};
    work->memory->last = added;
    return memory;
}

/* Closes what this member opened of others; waits, if memory is shared, until all have; frees the rest. */
static void free_all(work_t *work) {
    for (allocation_t *each = work->memory->last; each != NULL; each = each->previous)
        if (each->kind == OPENED)
            GPU_DO(gpu.device->close_memory(each->memory, &gpu_error));
    if (work->memory->shared)
        MPI_DO(MPI_Barrier(work->comm));
    for (allocation_t *each = work->memory->last, *previous; each != NULL; each = previous) {
        previous = each->previous;
        if (each->kind == OF_HOST)
            free(each->memory);
        else if (each->kind == OF_GPU)
            GPU_DO(gpu.device->release(each->memory, &gpu_error));
        else if (each->kind == PINNED)
            GPU_DO(gpu.device->release_staging(each->memory, &gpu_error));
        free(each);
    }
    free(work->memory);
    work->memory = NULL;
}

void work_open(work_t *work, const benchmark_t *benchmark) {
    work->memory = must_allocate(1, sizeof *work->memory);
    work->state = benchmark->state_bytes > 0 ? memory_array(work, 1, benchmark->state_bytes) : NULL;
    work->room_bytes = work->bench_case->room * work->max_bytes;
    work->bytes = -1;
    if (benchmark->open != NULL)
        benchmark->open(work);
}

void work_close(work_t *work, const benchmark_t *benchmark) {
    work_end_runs(work);
    if (benchmark->close != NULL)
        benchmark->close(work);
    free_all(work);
    work->state = NULL;
}

/* Allocates a buffer of whole pages, at least one, and fills it with a byte. */
static void *filled(const work_t *work, pto_space_t space, int64_t bytes, int byte) {
    size_t size = ((size_t)bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *buffer = NULL;
    if (space == PTO_SPACE_GPU) {
        GPU_DO(gpu.device->allocate(size > 0 ? size : PAGE_BYTES, &buffer, &gpu_error));
        GPU_DO(gpu.bench->fill(buffer, byte, size, &gpu_error));
        return keep(work, OF_GPU, buffer);
    }
    buffer = aligned_alloc(PAGE_BYTES, size > 0 ? size : PAGE_BYTES);
    if (buffer == NULL)
        die("out of memory for a buffer of %zu bytes", size);
    memset(buffer, byte, size);
    return keep(work, OF_HOST, buffer);
}

void *memory_buffer(const work_t *work, pto_space_t space, int64_t bytes) {
    return filled(work, space, bytes, 1);
}

void *memory_zeroed(const work_t *work, pto_space_t space, int64_t bytes) {
    return filled(work, space, bytes, 0);
}

void *memory_pinned(const work_t *work, int64_t bytes) {
    void *buffer = NULL;
    GPU_DO(gpu.device->allocate_staging((size_t)bytes, &buffer, &gpu_error));
    memset(buffer, 0, (size_t)bytes);
    return keep(work, PINNED, buffer);
}

void *memory_opened(const work_t *work, const pto_memory_handle_t *handle) {
    void *memory = NULL;
    GPU_DO(gpu.device->open_memory(handle, &memory, &gpu_error));
    return keep(work, OPENED, memory);
}

void memory_is_shared(const work_t *work) { work->memory->shared = true; }

void *memory_array(const work_t *work, size_t count, size_t size) {
    return keep(work, OF_HOST, must_allocate(count, size));
}

void ping_pong_open(const work_t *work) {
    ping_pong_buffers_t *state = work->state;
    pto_space_t to = work->bench_case->buffers, other = to == PTO_SPACE_CPU ? PTO_SPACE_GPU : PTO_SPACE_CPU;
    state->outgoing = memory_buffer(work, work->bench_case->from_other ? other : to, work->room_bytes);
    state->incoming = memory_buffer(work, to, work->room_bytes);
}
