/* Finds the processes that have bytes in each chunk of a pipeline that exchanges a sparse table (alltoallv
 * with few partners). lanes.c prices only these, from the second chunk on. Internal to libportolan. */
#ifndef PTO_PRICE_BUSY_H
#define PTO_PRICE_BUSY_H

#include "price/pricing.h"

/* A chunk, and a GPU of which a process has bytes in it. */
typedef struct {
    int64_t chunk;
    int64_t gpu;
} pto_busy_gpu_t;

typedef struct {
    pto_busy_gpu_t *gpu; /* in order of chunks */
    size_t capacity;
    int64_t count;
    int64_t next;   /* the first in `gpu` that no call of pto_busy_list has used yet */
    int64_t *actor; /* of the chunk that was listed last */
} pto_busy_t;

/* Finds the busy GPUs for a pipeline of steps [first, until) whose chunks exchange with one group of partners
 * each. Returns false if the steps are no such pipeline, the table is not sparse, or out of memory. `busy` is
 * zeroed before, and needs pto_busy_fini in any case. */
bool pto_busy_find(const pto_pricing_t *pricing, int first, int until, pto_busy_t *busy);
/* Sets busy->actor to the actors of a chunk, by GPU, and returns their number. Chunks must ascend. */
int64_t pto_busy_list(const pto_pricing_t *pricing, int64_t chunk, pto_busy_t *busy);
void pto_busy_fini(pto_busy_t *busy);

#endif
