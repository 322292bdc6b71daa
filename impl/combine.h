/* How two values of a reduction are combined where C's operators do not say enough: the least and the
 * greatest of two floating-point values, the same on the CPU and on a GPU.
 *
 * IEEE 754-2019's minimum and maximum: the result does not depend on the order of the operands, so all ranks
 * get the same bits whatever order an algorithm combines in. A NaN makes the result NaN, always the same
 * quiet one, and -0 is less than +0. C's `a < b ? a : b` promises neither. */
#ifndef PTO_COMBINE_H
#define PTO_COMBINE_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define PTO_ANYWHERE __host__ __device__
#else
#define PTO_ANYWHERE
#endif

/* One of two different numbers, which is nearly always what is asked for, costs one instruction; the branch
 * is for the rest. Equal values have equal bits but for zeros, of which `|` keeps the sign and `&` clears it.
 * A type takes no parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
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
