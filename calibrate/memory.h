/* Allocates a case's memory, or ends the job. work_close frees it, after the benchmark's `close`. */
#ifndef PORTOLAN_CALIBRATE_MEMORY_H
#define PORTOLAN_CALIBRATE_MEMORY_H

#include "benchmark.h"

/* A buffer in a space. All pages are touched, so that none is allocated during a measurement. */
void *memory_buffer(const work_t *work, pto_space_t space, int64_t bytes);
/* The same, filled with 0: so reductions never overflow, and have no denormals, which are slow. */
void *memory_zeroed(const work_t *work, pto_space_t space, int64_t bytes);
/* Pinned host memory, filled with 0. */
void *memory_pinned(const work_t *work, int64_t bytes);
/* Opens GPU memory that another member exported. */
void *memory_opened(const work_t *work, const pto_memory_handle_t *handle);

/* Delays freeing at the end of the case until all members have closed what they opened of others. If any
 * member opens another's memory, all members call it. */
void memory_is_shared(const work_t *work);

/* An array of zeroed objects. */
void *memory_array(const work_t *work, size_t count, size_t size);

/* The state of ping-pong benchmarks, and their `open`. */
typedef struct {
    void *outgoing;
    void *incoming;
    MPI_Datatype type; /* a message is `count` elements of this type */
    int count;
} ping_pong_buffers_t;

void ping_pong_open(const work_t *work);

#endif
