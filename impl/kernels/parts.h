/* How a kernel cuts an operand into parts: one rule for all GPUs, with a unit of each device's. */
#ifndef PTO_PARTS_H
#define PTO_PARTS_H

#include <stdint.h>

typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_part_t;

/* A part consists of whole units, except that the last part with any bytes ends where the operand ends. Parts
 * differ by at most one unit, and the larger ones come first. */
static inline pto_part_t pto_part(int64_t bytes, int64_t unit_bytes, int parts, int part) {
    int64_t units = (bytes + unit_bytes - 1) / unit_bytes, each = units / parts, more = units % parts;
    int64_t first = (part * each + (part < more ? part : more)) * unit_bytes;
    int64_t most = (each + (part < more)) * unit_bytes, offset = first < bytes ? first : bytes;
    return (pto_part_t){offset, most < bytes - offset ? most : bytes - offset};
}

#endif
