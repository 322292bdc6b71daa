/* Arithmetic on counts that says when it does not fit. All operands are 0 or more. */
#ifndef PORTOLAN_CHECKED_H
#define PORTOLAN_CHECKED_H

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

#endif
