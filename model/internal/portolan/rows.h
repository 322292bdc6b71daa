/* Rows of bytes: pieces of one size at equal distances, as in a column of a row-major array. A kernel cuts a
 * copy of rows into parts as a whole, so the executor, which joins ranges into rows, and `check`, which
 * compares pieces, follow the same rules. */
#ifndef PORTOLAN_ROWS_H
#define PORTOLAN_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"

PTO_C_BEGIN

typedef struct {
    int64_t bytes; /* of a row */
    int64_t rows;
    int64_t pitch_bytes; /* from one row to the next; with a single row: its bytes */
} pto_rows_t;

static inline pto_rows_t pto_rows_of(int64_t bytes) {
    pto_rows_t rows = {bytes, 1, bytes};
    return rows;
}

/* Whether a range of `bytes`, `distance` after the first row, is the next row: 0 if not, else the pitch. */
static inline int64_t pto_rows_next(const pto_rows_t *rows, int64_t distance, int64_t bytes) {
    if (bytes != rows->bytes || distance < bytes * rows->rows || distance % rows->rows != 0)
        return 0;
    int64_t pitch = distance / rows->rows;
    return rows->rows == 1 || pitch == rows->pitch_bytes ? pitch : 0;
}

static inline void pto_rows_add(pto_rows_t *rows, int64_t pitch_bytes) {
    rows->rows++;
    rows->pitch_bytes = pitch_bytes;
}

/* From the first byte to the last. */
static inline int64_t pto_rows_span(const pto_rows_t *rows) {
    return (rows->rows - 1) * rows->pitch_bytes + rows->bytes;
}

/* Adjacent rows as one. */
static inline pto_rows_t pto_rows_joined(pto_rows_t rows) {
    return rows.pitch_bytes == rows.bytes ? pto_rows_of(rows.bytes * rows.rows) : rows;
}

/* Whether a range of `bytes` shares some with the rows; `distance`: from the first row to it. */
static inline bool pto_rows_meet(const pto_rows_t *rows, int64_t distance, int64_t bytes) {
    int64_t after = distance - rows->bytes; /* rows up to here end before the range */
    int64_t first = after < 0 ? 0 : after / rows->pitch_bytes + 1;
    return first < rows->rows && first * rows->pitch_bytes < distance + bytes;
}

/* Whether two sets of rows share bytes; `distance`: from the first to the other. */
static inline bool pto_rows_overlap(const pto_rows_t *one, const pto_rows_t *other, int64_t distance) {
    if (distance >= pto_rows_span(one) || -distance >= pto_rows_span(other))
        return false;
    bool share = false;
    for (int64_t row = 0; row < other->rows && one->rows >= other->rows && !share; row++)
        share = pto_rows_meet(one, distance + row * other->pitch_bytes, other->bytes);
    for (int64_t row = 0; row < one->rows && one->rows < other->rows && !share; row++)
        share = pto_rows_meet(other, row * one->pitch_bytes - distance, one->bytes);
    return share;
}

PTO_C_END

#endif
