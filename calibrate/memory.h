/* Buffers of a case, in the memory that its space names. */
#ifndef PORTOLAN_CALIBRATE_MEMORY_H
#define PORTOLAN_CALIBRATE_MEMORY_H

#include "benchmark.h"

/* Touched, so that no page is missing when the clock runs. */
void *buffer_allocate(pto_space_t space, int64_t bytes);

/* All elements are 0: no reduction ever overflows or meets a denormal, whose arithmetic is slow. */
void *buffer_zeroed(pto_space_t space, int64_t bytes);

void buffer_free(pto_space_t space, void *buffer);

/* The `open` and `close` of ping-pong benchmarks, and their state. */
typedef struct {
    void *outgoing;
    void *incoming;
} there_and_back_t;

void there_and_back_open(const work_t *work);
void there_and_back_close(const work_t *work);

#endif
