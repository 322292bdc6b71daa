/* Arithmetic on counts that detects overflow. All operands are non-negative. pto_multiply and pto_add return
 * false on overflow, and set nothing. */
#ifndef PTO_CHECKED_H
#define PTO_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool pto_multiply(int64_t a, int64_t b, int64_t *product) {
    if (a != 0 && b > INT64_MAX / a)
        return false;
    *product = a * b;
    return true;
}

static inline bool pto_add(int64_t a, int64_t b, int64_t *sum) {
    if (b > INT64_MAX - a)
        return false;
    *sum = a + b;
    return true;
}

/* The same, but INT64_MAX on overflow. */
static inline int64_t pto_saturating_product(int64_t a, int64_t b) {
    int64_t product;
    return pto_multiply(a, b, &product) ? product : INT64_MAX;
}

static inline int64_t pto_saturating_sum(int64_t a, int64_t b) {
    int64_t sum;
    return pto_add(a, b, &sum) ? sum : INT64_MAX;
}

/* Returns whether sums of the bytes of a node fit in an int64_t: `bytes` for each of `peers` peers of each of
 * `processes` processes. The limit leaves room for up to 64 rounds of an algorithm. */
static inline bool pto_bytes_countable(int64_t bytes, int64_t peers, int64_t processes) {
    int64_t all = 0;
    return pto_multiply(bytes, peers, &all) && pto_multiply(all, processes, &all) && all <= INT64_MAX / 64;
}

#endif
