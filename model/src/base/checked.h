/* Arithmetic on counts that detects overflow. All operands are non-negative. */
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

/* The same, or INT64_MAX. */
static inline int64_t pto_saturating_product(int64_t a, int64_t b) {
    int64_t product;
    return pto_multiply(a, b, &product) ? product : INT64_MAX;
}

static inline int64_t pto_saturating_sum(int64_t a, int64_t b) {
    int64_t sum;
    return pto_add(a, b, &sum) ? sum : INT64_MAX;
}

/* Returns whether the bytes that the `processes` of a node hold or send can be counted: `bytes` for each of
 * `peers`, for each process. Sums over a node's processes and over an algorithm's rounds must fit in an
 * int64_t too; an algorithm has at most 64 rounds for any number of processes. */
static inline bool pto_bytes_countable(int64_t bytes, int64_t peers, int64_t processes) {
    int64_t all = 0;
    return pto_multiply(bytes, peers, &all) && pto_multiply(all, processes, &all) && all <= INT64_MAX / 64;
}

#endif
