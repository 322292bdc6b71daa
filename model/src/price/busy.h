/* The processes that have bytes in a chunk of a pipeline. Internal to libportolan. */
#ifndef PTO_PRICE_BUSY_H
#define PTO_PRICE_BUSY_H

#include "price/pricing.h"

/* A GPU one of whose processes has bytes in a chunk. */
typedef struct {
    int64_t chunk;
    int64_t gpu;
} pto_part_t;

typedef struct {
    pto_part_t *part; /* in order of chunks */
    size_t capacity;
    int64_t count;
    int64_t at;     /* behind those that have been listed */
    int64_t *actor; /* of one chunk */
} pto_busy_t;

/* For a pipeline of steps [first, until) whose chunks, from 0 on, are groups of partners, and whose table is
 * sparse. False: it is another one, or out of memory. `busy`: zeroed; to be freed in either case. */
bool pto_busy_find(const pto_pricing_t *pricing, int first, int until, pto_busy_t *busy);
/* List the actors of a later chunk than before, all of a GPU's one after another; returns their number. */
int64_t pto_busy_list(const pto_pricing_t *pricing, int64_t chunk, pto_busy_t *busy);
void pto_busy_fini(pto_busy_t *busy);

#endif
