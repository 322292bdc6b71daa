/* How a kernel cuts an operand into parts: the one rule that all GPUs and devices follow. */
#ifndef PTO_PARTS_H
#define PTO_PARTS_H

#include <stdint.h>

enum { PTO_PART_UNIT_BYTES = 16 }; /* one load or store of a thread */

typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_part_t;

/* Parts differ by at most one unit, and the earlier parts are the larger ones. The last part also gets the
 * bytes that do not fill a unit. */
static inline pto_part_t pto_part(int64_t bytes, int parts, int part) {
    int64_t units = bytes / PTO_PART_UNIT_BYTES, each = units / parts, more = units % parts;
    int64_t first = part * each + (part < more ? part : more);
    int64_t count = each + (part < more);
    int64_t rest = part == parts - 1 ? bytes % PTO_PART_UNIT_BYTES : 0;
    return (pto_part_t){first * PTO_PART_UNIT_BYTES, count * PTO_PART_UNIT_BYTES + rest};
}

#endif
