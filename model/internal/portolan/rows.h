/* Strided byte ranges (rows): ranges of one size at equal distances, as in a column of a row-major array. A
 * kernel divides all rows of a copy among its thread blocks as a whole, so the executor, which joins ranges
 * into rows, and `check`, which compares them, must follow the same rules: those of this file. */
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

/* The pitch of the rows if a range of `bytes`, `distance` bytes after the first row, is their next one; else
 * 0. The second row determines the pitch; a later one must keep it. */
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

/* Bytes from the start of the first row to the end of the last. */
static inline int64_t pto_rows_span(const pto_rows_t *rows) {
    return (rows->rows - 1) * rows->pitch_bytes + rows->bytes;
}

/* Joins the rows into one if they are adjacent. */
static inline pto_rows_t pto_rows_joined(pto_rows_t rows) {
    return rows.pitch_bytes == rows.bytes ? pto_rows_of(rows.bytes * rows.rows) : rows;
}

/* Whether a range of `bytes`, `distance` after the first row, shares bytes with the rows. */
static inline bool pto_rows_meet(const pto_rows_t *rows, int64_t distance, int64_t bytes) {
    /* A row that starts at or before this offset ends before the range. */
    int64_t last_before = distance - rows->bytes;
    int64_t first = last_before < 0 ? 0 : last_before / rows->pitch_bytes + 1; /* the first row after these */
    return first < rows->rows && first * rows->pitch_bytes < distance + bytes;
}

/* Whether two sets of rows share bytes; `distance`: from the first row of `a` to that of `b`. */
static inline bool pto_rows_overlap(const pto_rows_t *a, const pto_rows_t *b, int64_t distance) {
    if (distance >= pto_rows_span(a) || -distance >= pto_rows_span(b))
        return false;
    if (a->rows < b->rows)
        return pto_rows_overlap(b, a, -distance);
    for (int64_t row = 0; row < b->rows; row++)
        if (pto_rows_meet(a, distance + row * b->pitch_bytes, b->bytes))
            return true;
    return false;
}

PTO_C_END

#endif
