/* The line format (kernel.h), bit by bit. It is the same on all devices.
 *
 * Memory in line format consists of lines of 16 bytes, followed by one tag for each line. The last line may
 * be partly used. A line has two halves of 64 bits, in the machine's byte order. The highest bit of each half
 * is the run's mark. A tag is one byte: its two lowest bits are the data bits that the marks displace, and
 * the six bits above are the low bits of the run's number. */
#ifndef PTO_LINE_FORMAT_H
#define PTO_LINE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "anywhere.h"

enum { PTO_LINE_SHIFT = 63, PTO_TAG_SHIFT = 2, PTO_TAG_RUNS = 64 };

/* Returns the mark of a run, 0 or 1. Each copy of double-buffered memory is written in every second run,
 * with the marks 1, 0, 1, ..., after a memory of zeros. One bit is enough: each reader of a line reads it in
 * every run that writes it, and once it has seen a run's value, it cannot see an older one. */
static inline PTO_ANYWHERE uint64_t pto_line_mark(uint64_t run) { return (run + 1) / 2 % 2; }

/* Returns 64 bits of data with their highest bit replaced by the mark. */
static inline PTO_ANYWHERE uint64_t pto_line_half(uint64_t data, uint64_t run) {
    return (data & ~(UINT64_C(1) << PTO_LINE_SHIFT)) | (pto_line_mark(run) << PTO_LINE_SHIFT);
}

/* Returns the tag of a line with the data `low` and `high`. */
static inline PTO_ANYWHERE uint8_t pto_line_tag(uint64_t low, uint64_t high, uint64_t run) {
    return (uint8_t)((low >> PTO_LINE_SHIFT) | (high >> PTO_LINE_SHIFT) << 1 |
                     run % PTO_TAG_RUNS << PTO_TAG_SHIFT);
}

/* Returns whether both halves of a line and its tag were written in this run. */
static inline PTO_ANYWHERE bool pto_line_of_run(uint64_t low, uint64_t high, uint8_t tag, uint64_t run) {
    return low >> PTO_LINE_SHIFT == pto_line_mark(run) && high >> PTO_LINE_SHIFT == pto_line_mark(run) &&
           tag >> PTO_TAG_SHIFT == run % PTO_TAG_RUNS;
}

/* Returns the 64 data bits of a half, whose highest is bit `displaced` of the tag: 0 (low half) or 1
 * (high). */
static inline PTO_ANYWHERE uint64_t pto_line_data(uint64_t half, uint8_t tag, int displaced) {
    return (half & ~(UINT64_C(1) << PTO_LINE_SHIFT)) | (uint64_t)(tag >> displaced & 1) << PTO_LINE_SHIFT;
}

#endif
