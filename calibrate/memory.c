/* Host buffers start on a page, as large allocations do anyway; small ones shall not differ. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"

enum { PAGE_BYTES = 4096 };

static void *filled(pto_space_t space, int64_t bytes, int byte) {
    size_t size = ((size_t)bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *buffer = NULL;
    if (space == PTO_SPACE_GPU) {
        GPU_DO(gpu.device->allocate(size > 0 ? size : PAGE_BYTES, &buffer, &gpu_error));
        GPU_DO(gpu.bench->fill(buffer, byte, size, &gpu_error));
        return buffer;
    }
    buffer = aligned_alloc(PAGE_BYTES, size > 0 ? size : PAGE_BYTES);
    if (buffer != NULL) {
        memset(buffer, byte, size);
        return buffer;
    }
    die("out of memory for a buffer of %zu bytes", size);
}

void *buffer_allocate(pto_space_t space, int64_t bytes) { return filled(space, bytes, 1); }

void *buffer_zeroed(pto_space_t space, int64_t bytes) { return filled(space, bytes, 0); }

void buffer_free(pto_space_t space, void *buffer) {
    if (buffer == NULL)
        return;
    if (space == PTO_SPACE_GPU)
        GPU_DO(gpu.device->release(buffer, &gpu_error));
    else
        free(buffer);
}

static pto_space_t space_of_outgoing(const work_t *work) {
    pto_space_t other = work->what->buffers == PTO_SPACE_CPU ? PTO_SPACE_GPU : PTO_SPACE_CPU;
    return work->what->from_other ? other : work->what->buffers;
}

void there_and_back_open(const work_t *work) {
    there_and_back_t *state = work->state;
    state->outgoing = buffer_allocate(space_of_outgoing(work), work->most_bytes);
    state->incoming = buffer_allocate(work->what->buffers, work->most_bytes);
}

void there_and_back_close(const work_t *work) {
    there_and_back_t *state = work->state;
    buffer_free(space_of_outgoing(work), state->outgoing);
    buffer_free(work->what->buffers, state->incoming);
}
