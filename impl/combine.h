/* Minimum and maximum of two floating-point values, identical on the CPU and on a GPU.
 *
 * These are IEEE 754-2019's minimum and maximum. The result does not depend on the order of the operands, so
 * all ranks get the same bits whatever order an algorithm combines in. If an operand is NaN, the result is
 * always the same quiet NaN; -0 is less than +0. C's `a < b ? a : b` guarantees neither. */
#ifndef PTO_COMBINE_H
#define PTO_COMBINE_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define PTO_ANYWHERE __host__ __device__
#else
#define PTO_ANYWHERE
#endif

/* Different numbers, by far the most frequent case, cost one instruction; the rest is for equal values and
 * NaNs. Equal values have equal bits, except zeros: `|` keeps the sign and `&` clears it. A type cannot be
 * parenthesised. NOLINTBEGIN(bugprone-macro-parentheses) */
#define PTO_EXTREME(name, real, bits, quiet_nan, compare, on_equal)                                          \
    static inline PTO_ANYWHERE real name(real a, real b) {                                                   \
        if (b compare a || a compare b)                                                                      \
            return a compare b ? a : b;                                                                      \
        bits x, y;                                                                                           \
        memcpy(&x, &a, sizeof x);                                                                            \
        memcpy(&y, &b, sizeof y);                                                                            \
        x = a == b ? x on_equal y : quiet_nan;                                                               \
        memcpy(&a, &x, sizeof a);                                                                            \
        return a;                                                                                            \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

PTO_EXTREME(pto_min_float, float, uint32_t, UINT32_C(0x7fc00000), <, |)
PTO_EXTREME(pto_max_float, float, uint32_t, UINT32_C(0x7fc00000), >, &)
PTO_EXTREME(pto_min_double, double, uint64_t, UINT64_C(0x7ff8000000000000), <, |)
PTO_EXTREME(pto_max_double, double, uint64_t, UINT64_C(0x7ff8000000000000), >, &)

#endif
