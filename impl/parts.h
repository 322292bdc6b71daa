/* How the thread blocks of a kernel share a piece of bytes: the one rule that all GPUs and devices follow. */
#ifndef PTO_PARTS_H
#define PTO_PARTS_H

#include <stdint.h>

enum { PTO_UNIT_BYTES = 16 }; /* one load or store of a thread */

typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_part_t;

/* The part of one block: as many whole units as any other's or one more, the earlier blocks' the larger ones.
 * What makes no whole unit is the last block's. */
static inline pto_part_t pto_part(int64_t bytes, int blocks, int block) {
    int64_t units = bytes / PTO_UNIT_BYTES, each = units / blocks, more = units % blocks;
    int64_t first = block * each + (block < more ? block : more);
    int64_t count = each + (block < more);
    int64_t rest = block == blocks - 1 ? bytes % PTO_UNIT_BYTES : 0;
    return (pto_part_t){first * PTO_UNIT_BYTES, count * PTO_UNIT_BYTES + rest};
}

#endif
