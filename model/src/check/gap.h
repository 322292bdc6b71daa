/* A gap buffer of spans of bytes, each beginning where the one before it ends. Most changes are close to the
 * previous one, so the unused capacity (the gap) lies where spans were last inserted. The struct of a span
 * must begin with two int64_t: the offset of its first byte, and that behind its last byte. `size` is the
 * size of that struct. memory.h and clocks.h use gap buffers. Internal to libportolan. */
#ifndef PTO_CHECK_GAP_H
#define PTO_CHECK_GAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void *span;
    int count;
    int capacity;
    int gap_at;  /* the spans before the gap */
    int last_at; /* where the next search is likely to end */
} pto_gap_t;

/* Returns the address of span `i`. */
static inline void *pto_gap_at(const pto_gap_t *gap, size_t size, int i) {
    int place = i < gap->gap_at ? i : i + gap->capacity - gap->count;
    return (char *)gap->span + (size_t)place * size;
}

/* Returns the index of the span that contains the byte at `offset`; the number of spans if it is behind the
 * last one. A galloping search: from the guess `at` in growing steps, then by halves. */
static inline int pto_gap_find(const pto_gap_t *gap, size_t size, int64_t offset, int at) {
    int low = 0, high = gap->count;
    for (int step = 1; low < high; step *= 2) {
        at = at >= low && at < high ? at : low + (high - low) / 2;
        const int64_t *range = pto_gap_at(gap, size, at);
        if (range[1] <= offset) {
            low = at + 1;
            at += step;
        } else if (range[0] <= offset) {
            low = high = at;
        } else {
            high = at;
            at -= step;
        }
    }
    return low;
}

/* Moves the gap in front of the span numbered `to`, and makes room for `count` spans there. False, with
 * nothing changed, when out of memory. */
static inline bool pto_gap_open(pto_gap_t *gap, size_t size, int to, int count) {
    if (gap->capacity - gap->count < count) {
        int capacity = gap->count + count, behind = gap->count - gap->gap_at;
        capacity += capacity / 2 + 4;
        char *span = realloc(gap->span, (size_t)capacity * size);
        if (!span)
            return false;
        memmove(span + (size_t)(capacity - behind) * size, span + (size_t)(gap->capacity - behind) * size,
                (size_t)behind * size);
        gap->span = span;
        gap->capacity = capacity;
    }
    char *span = gap->span;
    size_t at = (size_t)gap->gap_at, end = at + (size_t)(gap->capacity - gap->count), new_at = (size_t)to;
    if (new_at < at)
        memmove(span + (end - (at - new_at)) * size, span + new_at * size, (at - new_at) * size);
    else
        memmove(span + at * size, span + end * size, (new_at - at) * size);
    gap->gap_at = to;
    return true;
}

#endif
