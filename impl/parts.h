/* How a kernel cuts a piece of bytes into parts: the one rule that all GPUs and devices follow. */
#ifndef PTO_PARTS_H
#define PTO_PARTS_H

#include <stdint.h>

enum { PTO_UNIT_BYTES = 16 }; /* one load or store of a thread */

typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_part_t;

/* One part: as many whole units as any other or one more, the earlier parts the larger ones. What makes no
 * whole unit is the last one's. */
static inline pto_part_t pto_part(int64_t bytes, int parts, int part) {
    int64_t units = bytes / PTO_UNIT_BYTES, each = units / parts, more = units % parts;
    int64_t first = part * each + (part < more ? part : more);
    int64_t count = each + (part < more);
    int64_t rest = part == parts - 1 ? bytes % PTO_UNIT_BYTES : 0;
    return (pto_part_t){first * PTO_UNIT_BYTES, count * PTO_UNIT_BYTES + rest};
}

#endif
