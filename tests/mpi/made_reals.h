/* The floating-point types that reductions combine, by their bits: numbers of a type, and the next ones. */
#ifndef PTO_MADE_REALS_H
#define PTO_MADE_REALS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "portolan/scenario.h"

typedef struct {
    pto_datatype_t datatype;
    int parts;     /* of an element */
    int64_t bytes; /* of a component */
    int digits;    /* binary, of a normal number */
    int least;     /* the exponent of the smallest number above 0 */
} real_t;

static const real_t real_types[] = {
    {PTO_DATATYPE_HALF, 1, 2, 11, -24},           {PTO_DATATYPE_BFLOAT16, 1, 2, 8, -133},
    {PTO_DATATYPE_FLOAT, 1, 4, 24, -149},         {PTO_DATATYPE_DOUBLE, 1, 8, 53, -1074},
    {PTO_DATATYPE_FLOAT_COMPLEX, 2, 4, 24, -149}, {PTO_DATATYPE_DOUBLE_COMPLEX, 2, 8, 53, -1074},
};
static const size_t real_type_count = sizeof real_types / sizeof *real_types;

static long double real_least(const real_t *type) { return ldexpl(1, type->least); }

/* Of 16 bits: the sign, then the exponent, then a fraction of one digit less than the type has. */
static double real_of_bits(const real_t *type, unsigned bits) {
    unsigned magnitude = bits & 0x7fffu, fraction = magnitude % (1u << (type->digits - 1));
    int exponent = (int)(magnitude >> (type->digits - 1));
    double value = exponent == 0 ? ldexp(fraction, type->least)
                                 : ldexp(fraction + (1u << (type->digits - 1)), type->least + exponent - 1);
    return bits & 0x8000u ? -value : value;
}

static double real_get(const real_t *type, const void *place) {
    uint16_t bits;
    float narrow;
    double wide;
    switch (type->bytes) {
    case 2:
        memcpy(&bits, place, sizeof bits);
        return real_of_bits(type, bits);
    case 4:
        memcpy(&narrow, place, sizeof narrow);
        return (double)narrow;
    default:
        memcpy(&wide, place, sizeof wide);
        return wide;
    }
}

/* A number of the type, or NaN. */
static void real_put(const real_t *type, void *place, double value) {
    if (type->bytes == 4) {
        float narrow = (float)value;
        memcpy(place, &narrow, sizeof narrow);
    } else if (type->bytes == 8) {
        memcpy(place, &value, sizeof value);
    } else {
        unsigned low = 0, high = 0x7fff; /* numbers above 0 are in the order of their bits */
        while (low < high) {
            unsigned middle = (low + high) / 2;
            if (real_of_bits(type, middle) < fabs(value))
                low = middle + 1;
            else
                high = middle;
        }
        uint16_t bits = (uint16_t)(isnan(value) ? 0x7fffu : low | (value < 0 ? 0x8000u : 0));
        memcpy(place, &bits, sizeof bits);
    }
}

/* The next number of the type in a direction, 1 or -1. */
static double real_next(const real_t *type, double value, int sign) {
    if (type->bytes == 8)
        return nextafter(value, sign > 0 ? (double)INFINITY : -(double)INFINITY);
    if (type->bytes == 4)
        return (double)nextafterf((float)value, sign > 0 ? INFINITY : -INFINITY);
    int exponent;
    (void)frexp(value, &exponent);
    double unit = ldexp(1, exponent - type->digits);
    bool at_power = fabs(value) == ldexp(1, exponent - 1) && (value > 0) != (sign > 0);
    unit = at_power ? unit / 2 : unit;
    return value + sign * fmax(unit, (double)real_least(type));
}

/* The outermost number of the type that is at most `off` from another in a direction. */
static double real_within(const real_t *type, long double wanted, long double off, int sign) {
    long double edge = wanted + sign * off;
    char place[8];
    double value;
    real_put(type, place, (double)edge);
    value = real_get(type, place);
    while (sign * ((long double)value - edge) > 0)
        value = real_next(type, value, -sign);
    while (sign * ((long double)real_next(type, value, sign) - edge) <= 0)
        value = real_next(type, value, sign);
    return value;
}

#endif
