/* Reductions on the CPU: 16-bit floating point, averages, and which operation takes which datatype. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmath>
#include <limits>
#include <vector>

extern "C" {
#include <cmocka.h>

#include "device/reduce.h"
}
#include "device/combine.h"

enum { SHORT_VALUES = 1 << 16, SIGN = 0x8000 };

/* A format of 16 bits: by its definition, and as reductions convert it. */
struct format {
    int fraction, bias;
    uint16_t nan;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
};

static const format half = {10, 15, 0x7e00, [](uint16_t bits) { return pto_half_widen({bits}); },
                            [](float value) { return pto_half_narrow(value).bits; }};
static const format bfloat16 = {7, 127, 0x7fc0, [](uint16_t bits) { return pto_bfloat16_widen({bits}); },
                                [](float value) { return pto_bfloat16_narrow(value).bits; }};

static int infinity_of(const format &of) { return (2 * of.bias + 1) << of.fraction; }

static double defined(const format &of, int bits) {
    const int exponent = (bits & ~SIGN) >> of.fraction, rest = bits & ((1 << of.fraction) - 1);
    const double value = exponent == 0
                             ? std::ldexp(rest, 1 - of.bias - of.fraction)
                             : std::ldexp(rest + (1 << of.fraction), exponent - of.bias - of.fraction);
    return (bits & SIGN) != 0 ? -value : value;
}

static void check_round_trips(const format &of) {
    for (int bits = 0; bits < SHORT_VALUES; bits++) {
        const float value = of.widen(static_cast<uint16_t>(bits));
        const int magnitude = bits & ~SIGN;
        if (magnitude > infinity_of(of)) {
            assert_true(std::isnan(value));
            assert_int_equal(of.narrow(value), of.nan);
            continue;
        }
        assert_int_equal(of.narrow(value), bits);
        assert_int_equal(std::signbit(value), bits >= SIGN);
        if (magnitude < infinity_of(of))
            assert_true(static_cast<double>(value) == defined(of, bits));
        else
            assert_true(std::isinf(value));
    }
}

static void all_values_of_16_bits_come_back(void **) {
    check_round_trips(half);
    check_round_trips(bfloat16);
}

/* Halfway between two neighbors, and just beside it. After the greatest number comes what would be the next
 * one, which is infinity. */
static void check_rounding(const format &of) {
    for (int bits = 0; bits < infinity_of(of); bits++) {
        const double middle = (defined(of, bits) + defined(of, bits + 1)) / 2;
        const float at = static_cast<float>(middle);
        assert_true(static_cast<double>(at) == middle);
        const int even = bits + bits % 2;
        for (int sign : {0, int(SIGN)}) {
            const float tie = sign != 0 ? -at : at;
            assert_int_equal(of.narrow(tie), even | sign);
            assert_int_equal(of.narrow(std::nextafter(tie, 0.0F)), bits | sign);
            assert_int_equal(of.narrow(std::nextafter(tie, 2 * tie)), (bits + 1) | sign);
        }
    }
    assert_int_equal(of.narrow(std::numeric_limits<float>::infinity()), infinity_of(of));
    assert_int_equal(of.narrow(-std::numeric_limits<float>::quiet_NaN()), of.nan);
}

static void values_are_rounded_to_the_nearest_and_ties_to_even(void **) {
    check_rounding(half);
    check_rounding(bfloat16);
}

/* 2048 + 1 is a tie in half, and 1 is lost. Two sources with 1 each are 2 before anything is rounded. */
static void sources_are_rounded_once_after_all_of_them(void **) {
    const uint16_t large = half.narrow(2048), one = half.narrow(1), two = half.narrow(2050);
    const void *sources[] = {&large, &one, &one};
    uint16_t sum = 0;
    pto_reduce_many_host(&sum, true, sources, 3, 1, PTO_DATATYPE_HALF, PTO_OP_SUM);
    assert_int_equal(sum, two);
    sum = large;
    pto_reduce_host(&sum, &one, 1, PTO_DATATYPE_HALF, PTO_OP_SUM);
    pto_reduce_host(&sum, &one, 1, PTO_DATATYPE_HALF, PTO_OP_SUM);
    assert_int_equal(sum, large);
}

/* The vectors that are longer than a piece are reduced piece by piece. */
static void long_vectors_of_16_bits_are_right(void **) {
    enum { COUNT = 10001 };
    std::vector<uint16_t> target(COUNT), source(COUNT, half.narrow(3));
    for (int i = 0; i < COUNT; i++)
        target[static_cast<size_t>(i)] = half.narrow(static_cast<float>(i % 1000));
    pto_reduce_host(target.data(), source.data(), COUNT, PTO_DATATYPE_HALF, PTO_OP_PROD);
    pto_divide_host(target.data(), target.data(), COUNT, PTO_DATATYPE_HALF, 3);
    for (int i = 0; i < COUNT; i++) /* up to 2048 all products are exact, and later they are rounded */
        assert_true(std::fabs(half.widen(target[static_cast<size_t>(i)]) - static_cast<float>(i % 1000)) <=
                    (i % 1000 * 3 <= 2048 ? 0.0F : 1.0F));
}

template <typename T> static void check_average(pto_datatype_t datatype, T sum, int64_t divisor, T wanted) {
    T got = 0;
    pto_divide_host(&got, &sum, 1, datatype, divisor);
    assert_true(got == wanted);
}

static void averages_of_integers_are_rounded_toward_zero(void **) {
    check_average<int8_t>(PTO_DATATYPE_INT8, -7, 2, -3);
    check_average<int8_t>(PTO_DATATYPE_INT8, 127, 300, 0);
    check_average<uint8_t>(PTO_DATATYPE_UINT8, 255, 2, 127);
    check_average<int64_t>(PTO_DATATYPE_INT64, INT64_MIN, 3, INT64_MIN / 3);
    check_average<uint64_t>(PTO_DATATYPE_UINT64, UINT64_MAX, 2, UINT64_MAX / 2);
    check_average<float>(PTO_DATATYPE_FLOAT, 1, 4, 0.25F);
}

/* By row: bytes, signed, unsigned, real, complex. */
static void operations_take_the_datatypes_for_which_they_make_sense(void **) {
    static const pto_datatype_t of[] = {PTO_DATATYPE_BYTE, PTO_DATATYPE_INT8, PTO_DATATYPE_UINT64,
                                        PTO_DATATYPE_BFLOAT16, PTO_DATATYPE_FLOAT_COMPLEX};
    static const struct {
        pto_op_t op;
        const char *takes;
    } row[] = {{PTO_OP_SUM, "01111"},  {PTO_OP_PROD, "01111"}, {PTO_OP_MIN, "01110"}, {PTO_OP_MAX, "01110"},
               {PTO_OP_AVG, "01111"},  {PTO_OP_LAND, "01100"}, {PTO_OP_LOR, "01100"}, {PTO_OP_LXOR, "01100"},
               {PTO_OP_BAND, "11100"}, {PTO_OP_BOR, "11100"},  {PTO_OP_BXOR, "11100"}};
    static_assert(sizeof row / sizeof *row == PTO_OP_COUNT, "all operations");
    for (const auto &one : row)
        for (size_t i = 0; i < sizeof of / sizeof *of; i++)
            assert_int_equal(pto_op_takes(one.op, of[i], nullptr),
                             one.takes[i] == '1' ? PTO_OK : PTO_ERR_NOT_APPLICABLE);
    pto_error_t err;
    pto_op_takes(PTO_OP_MIN, PTO_DATATYPE_DOUBLE_COMPLEX, &err);
    assert_string_equal(err.message, "operation min needs numbers that have an order, not double_complex");
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_values_of_16_bits_come_back),
        cmocka_unit_test(values_are_rounded_to_the_nearest_and_ties_to_even),
        cmocka_unit_test(sources_are_rounded_once_after_all_of_them),
        cmocka_unit_test(long_vectors_of_16_bits_are_right),
        cmocka_unit_test(averages_of_integers_are_rounded_toward_zero),
        cmocka_unit_test(operations_take_the_datatypes_for_which_they_make_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
