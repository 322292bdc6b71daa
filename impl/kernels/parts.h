/* How a kernel cuts an operand into parts (kernel.h). All GPUs cut in the same way, because a part signals
 * and waits only for the same part on other GPUs. */
#ifndef PTO_PARTS_H
#define PTO_PARTS_H

#include <stdint.h>

typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_part_t;

/* Returns part `part`, from 0, of an operand of `bytes` that is cut into `parts`. A part consists of whole
 * pieces, whose size the device chooses; only the operand's last piece may be shorter. Parts differ by at
 * most one piece, and the larger ones come first. */
static inline pto_part_t pto_part(int64_t bytes, int64_t piece_bytes, int parts, int part) {
    int64_t pieces = (bytes + piece_bytes - 1) / piece_bytes;
    int64_t pieces_each = pieces / parts, larger_parts = pieces % parts;
    int64_t pieces_before = part * pieces_each + (part < larger_parts ? part : larger_parts);
    int64_t offset = pieces_before * piece_bytes < bytes ? pieces_before * piece_bytes : bytes;
    int64_t uncut_bytes = (pieces_each + (part < larger_parts)) * piece_bytes;
    return (pto_part_t){offset, uncut_bytes < bytes - offset ? uncut_bytes : bytes - offset};
}

#endif
