/* Arithmetic of reductions that gives the same bits on the CPU and on a GPU.
 *
 * Minimum and maximum of floating-point values are those of IEEE 754-2019. The result does not depend on the
 * order of the operands, so all ranks get the same bits in whatever order an algorithm combines. If an
 * operand is NaN, the result is always the same quiet NaN; -0 is less than +0. `a < b ? a : b` guarantees
 * neither. */
#ifndef PTO_COMBINE_H
#define PTO_COMBINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "anywhere.h"

/* Different numbers, by far the most frequent case, take one comparison; the rest is for equal values and
 * NaNs. Equal values have equal bits, except zeros: for a minimum, `|` keeps the sign of -0, for a maximum,
 * `&` clears it. A type cannot be parenthesised. NOLINTBEGIN(bugprone-macro-parentheses) */
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

/* --- 16-bit floating point ------------------------------------------------------------------------------
 *
 * Both types are widened to float, which holds all their values, combined there, and rounded to nearest even
 * when stored. NaNs become one quiet NaN, so that the CPU and a GPU store the same bits. */

typedef struct {
    uint16_t bits; /* IEEE 754 binary16 */
} pto_half_t;

typedef struct {
    uint16_t bits; /* the upper half of a float */
} pto_bfloat16_t;

enum { PTO_HALF_NAN = 0x7e00, PTO_BFLOAT16_NAN = 0x7fc0 };

static inline PTO_ANYWHERE uint32_t pto_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline PTO_ANYWHERE float pto_float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bits are shifted to their places in a float. The exponents' biases are 15 and 127, so the result is too
 * small by a factor of 2^112. Multiplying by that is right for subnormal values, too. */
static inline PTO_ANYWHERE float pto_half_widen(pto_half_t value) {
    const uint32_t sign = (uint32_t)(value.bits & 0x8000) << 16, rest = (uint32_t)(value.bits & 0x7fff) << 13;
    if (rest >= UINT32_C(0x0f800000)) /* infinity or NaN */
        return pto_float_of(sign | rest | UINT32_C(0x7f800000));
    return pto_float_of(sign | pto_float_bits(pto_float_of(rest) * 0x1p112f));
}

static inline PTO_ANYWHERE pto_half_t pto_half_narrow(float value) {
    const uint32_t bits = pto_float_bits(value), rest = bits & UINT32_C(0x7fffffff);
    uint32_t sign = bits >> 16 & 0x8000, rounded = 0x7c00;
    if (rest > UINT32_C(0x7f800000)) {
        sign = 0;
        rounded = PTO_HALF_NAN;
    } else if (rest < UINT32_C(0x38800000)) { /* below 2^-14: a float from 0.5 to 1 has steps of 2^-24 */
        rounded = pto_float_bits(pto_float_of(rest) + 0.5F) - UINT32_C(0x3f000000);
    } else if (rest <
               UINT32_C(0x47800000)) { /* below 2^16: rebias, and round 13 bits away, to nearest even */
        rounded = (rest - UINT32_C(0x38000000) + 0xfff + (rest >> 13 & 1)) >> 13;
    }
    const pto_half_t narrow = {(uint16_t)(sign | rounded)};
    return narrow;
}

static inline PTO_ANYWHERE float pto_bfloat16_widen(pto_bfloat16_t value) {
    return pto_float_of((uint32_t)value.bits << 16);
}

static inline PTO_ANYWHERE pto_bfloat16_t pto_bfloat16_narrow(float value) {
    const uint32_t bits = pto_float_bits(value);
    const bool is_nan = (bits & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000);
    const pto_bfloat16_t narrow = {
        (uint16_t)(is_nan ? (uint32_t)PTO_BFLOAT16_NAN : (bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
    return narrow;
}

#endif
