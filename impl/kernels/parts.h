/* How a kernel cuts an operand into parts (kernel.h): the same on all GPUs, where a part has its peers. */
#ifndef PTO_PARTS_H
#define PTO_PARTS_H

#include <stdint.h>

typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_part_t;

/* Returns part number `part` of `parts`. Parts consist of whole units, whose size the device chooses, but the
 * last one ends where the operand ends. Parts differ by at most one unit, and the larger ones come first. */
static inline pto_part_t pto_part(int64_t bytes, int64_t unit_bytes, int parts, int part) {
    int64_t units = (bytes + unit_bytes - 1) / unit_bytes;
    int64_t units_each = units / parts, larger_parts = units % parts;
    int64_t units_before = part * units_each + (part < larger_parts ? part : larger_parts);
    int64_t offset = units_before * unit_bytes < bytes ? units_before * unit_bytes : bytes;
    int64_t whole = (units_each + (part < larger_parts)) * unit_bytes;
    return (pto_part_t){offset, whole < bytes - offset ? whole : bytes - offset};
}

#endif
