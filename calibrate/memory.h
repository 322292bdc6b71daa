/* The memory of a case. All of it lasts until the case is over, when work_close frees it after the
 * benchmark's own `close`. Out of memory, the job ends. */
#ifndef PORTOLAN_CALIBRATE_MEMORY_H
#define PORTOLAN_CALIBRATE_MEMORY_H

#include "benchmark.h"

/* A buffer in a space. Touched, so that no page is missing when the clock runs. */
void *memory_buffer(const work_t *work, pto_space_t space, int64_t bytes);

/* The same with all elements 0: no reduction ever overflows or meets a denormal, whose arithmetic is slow. */
void *memory_zeroed(const work_t *work, pto_space_t space, int64_t bytes);

/* Host memory that the GPU copies from and to by itself. */
void *memory_pinned(const work_t *work, int64_t bytes);

/* Opens GPU memory of another member's, which exported it. */
void *memory_opened(const work_t *work, const pto_memory_handle_t *handle);

/* To be called by all members of a case if one opens another's memory: none frees its own until all have
 * closed it. */
void memory_is_shared(const work_t *work);

/* Zeroed objects of this process. */
void *memory_array(const work_t *work, size_t count, size_t size);

/* The `open` of ping-pong benchmarks, and their state. */
typedef struct {
    void *outgoing;
    void *incoming;
} there_and_back_t;

void there_and_back_open(const work_t *work);

#endif
