/* Reductions on the CPU, with one loop for each type and operation, which the compiler can vectorise. Integer
 * sums and products are computed in an unsigned type, so that they wrap around instead of being undefined.
 * 16-bit floating point is widened tile by tile, and reduced by the loops for float. host_stream.c calls
 * these functions for the host device, tasks.c for buffers in host memory. */
#include "reduce.h"

#include <string.h>

#include "combine.h"

/* A type takes no parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define LOOP(name, type, expression)                                                                         \
    static void name(void *restrict into, const void *restrict from, size_t count) {                         \
        type *target = into;                                                                                 \
        const type *source = from;                                                                           \
        for (size_t i = 0; i < count; i++) {                                                                 \
            const type a = target[i], b = source[i];                                                         \
            target[i] = (type)(expression);                                                                  \
        }                                                                                                    \
    }

#define COMPLEX_LOOP(type)                                                                                   \
    static void prod_##type##_complex(void *restrict into, const void *restrict from, size_t count) {        \
        type *target = into;                                                                                 \
        const type *source = from;                                                                           \
        for (size_t i = 0; i < count; i++, target += 2, source += 2) {                                       \
            const type real = target[0] * source[0] - target[1] * source[1];                                 \
            target[1] = target[0] * source[1] + target[1] * source[0];                                       \
            target[0] = real;                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void sum_##type##_complex(void *restrict into, const void *restrict from, size_t count) {         \
        sum_##type(into, from, 2 * count);                                                                   \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* `1U *` widens what the language would promote to int. */
#define BITS_LOOPS(bits)                                                                                     \
    LOOP(sum_##bits, uint##bits##_t, a + 1U * b)                                                             \
    LOOP(prod_##bits, uint##bits##_t, 1U * a * b)                                                            \
    LOOP(min_int##bits, int##bits##_t, b < a ? b : a)                                                        \
    LOOP(max_int##bits, int##bits##_t, a < b ? b : a)                                                        \
    LOOP(min_uint##bits, uint##bits##_t, b < a ? b : a)                                                      \
    LOOP(max_uint##bits, uint##bits##_t, a < b ? b : a)                                                      \
    LOOP(land_##bits, uint##bits##_t, a != 0 && b != 0)                                                      \
    LOOP(lor_##bits, uint##bits##_t, a != 0 || b != 0)                                                       \
    LOOP(lxor_##bits, uint##bits##_t, (a != 0) != (b != 0))                                                  \
    LOOP(band_##bits, uint##bits##_t, a &b)                                                                  \
    LOOP(bor_##bits, uint##bits##_t, a | b)                                                                  \
    LOOP(bxor_##bits, uint##bits##_t, a ^ b)

#define REAL_LOOPS(type)                                                                                     \
    LOOP(sum_##type, type, a + b)                                                                            \
    LOOP(prod_##type, type, a *b)                                                                            \
    LOOP(min_##type, type, pto_min_##type(a, b))                                                             \
    LOOP(max_##type, type, pto_max_##type(a, b))                                                             \
    COMPLEX_LOOP(type)

BITS_LOOPS(8)
BITS_LOOPS(16)
BITS_LOOPS(32)
BITS_LOOPS(64)
REAL_LOOPS(float)
REAL_LOOPS(double)

#define BITWISE(bits) [PTO_OP_BAND] = band_##bits, [PTO_OP_BOR] = bor_##bits, [PTO_OP_BXOR] = bxor_##bits
#define INTEGER_ROW(type, bits)                                                                              \
    {                                                                                                        \
        [PTO_OP_SUM] = sum_##bits, [PTO_OP_PROD] = prod_##bits, [PTO_OP_MIN] = min_##type,                   \
        [PTO_OP_MAX] = max_##type, [PTO_OP_LAND] = land_##bits, [PTO_OP_LOR] = lor_##bits,                   \
        [PTO_OP_LXOR] = lxor_##bits, BITWISE(bits)                                                           \
    }
#define REAL_ROW(type)                                                                                       \
    {                                                                                                        \
        [PTO_OP_SUM] = sum_##type, [PTO_OP_PROD] = prod_##type, [PTO_OP_MIN] = min_##type,                   \
        [PTO_OP_MAX] = max_##type                                                                            \
    }
#define COMPLEX_ROW(type)                                                                                    \
    { [PTO_OP_SUM] = sum_##type##_complex, [PTO_OP_PROD] = prod_##type##_complex }

static void reduce_plain(void *target, const void *source, size_t count, pto_datatype_t datatype,
                         pto_op_t op) {
    static void (*const loop[PTO_DATATYPE_COUNT][PTO_OP_COUNT])(void *, const void *, size_t) = {
        [PTO_DATATYPE_BYTE] = {BITWISE(8)},
        [PTO_DATATYPE_INT8] = INTEGER_ROW(int8, 8),
        [PTO_DATATYPE_UINT8] = INTEGER_ROW(uint8, 8),
        [PTO_DATATYPE_INT16] = INTEGER_ROW(int16, 16),
        [PTO_DATATYPE_UINT16] = INTEGER_ROW(uint16, 16),
        [PTO_DATATYPE_INT32] = INTEGER_ROW(int32, 32),
        [PTO_DATATYPE_UINT32] = INTEGER_ROW(uint32, 32),
        [PTO_DATATYPE_INT64] = INTEGER_ROW(int64, 64),
        [PTO_DATATYPE_UINT64] = INTEGER_ROW(uint64, 64),
        [PTO_DATATYPE_FLOAT] = REAL_ROW(float),
        [PTO_DATATYPE_DOUBLE] = REAL_ROW(double),
        [PTO_DATATYPE_FLOAT_COMPLEX] = COMPLEX_ROW(float),
        [PTO_DATATYPE_DOUBLE_COMPLEX] = COMPLEX_ROW(double),
    };
    loop[datatype][op](target, source, count);
}

void pto_copy_host(const pto_move_t *move) {
    for (size_t row = 0; row < move->rows; row++)
        memmove((char *)move->target + row * move->target_pitch_bytes,
                (const char *)move->source + row * move->source_pitch_bytes, move->bytes);
}

/* Tiles fit in the first-level cache, so that the target is not loaded from memory again for each source. */
enum { TILE_BYTES = 16384, TILE_FLOATS = TILE_BYTES / sizeof(float) };

static bool is_narrow(pto_datatype_t datatype) {
    return datatype == PTO_DATATYPE_HALF || datatype == PTO_DATATYPE_BFLOAT16;
}

static void widen(float *target, const void *source, size_t count, pto_datatype_t datatype) {
    if (datatype == PTO_DATATYPE_HALF)
        for (size_t i = 0; i < count; i++)
            target[i] = pto_half_widen(((const pto_half_t *)source)[i]);
    else
        for (size_t i = 0; i < count; i++)
            target[i] = pto_bfloat16_widen(((const pto_bfloat16_t *)source)[i]);
}

static void narrow(void *target, const float *source, size_t count, pto_datatype_t datatype) {
    if (datatype == PTO_DATATYPE_HALF)
        for (size_t i = 0; i < count; i++)
            ((pto_half_t *)target)[i] = pto_half_narrow(source[i]);
    else
        for (size_t i = 0; i < count; i++)
            ((pto_bfloat16_t *)target)[i] = pto_bfloat16_narrow(source[i]);
}

/* Reduces one tile for pto_reduce_many_host, and rounds once, after all sources. */
static void reduce_narrow(void *target, bool fresh, const void *const *source, int source_count, size_t done,
                          size_t count, pto_datatype_t datatype, pto_op_t op) {
    float all[TILE_FLOATS], one[TILE_FLOATS];
    size_t offset = done * sizeof(pto_half_t);
    widen(all, (const char *)(fresh ? source[0] : target) + offset, count, datatype);
    for (int i = fresh ? 1 : 0; i < source_count; i++) {
        widen(one, (const char *)source[i] + offset, count, datatype);
        reduce_plain(all, one, count, PTO_DATATYPE_FLOAT, op);
    }
    narrow((char *)target + offset, all, count, datatype);
}

static void reduce_tile(void *target, bool fresh, const void *const *source, int source_count, size_t done,
                        size_t count, pto_datatype_t datatype, pto_op_t op) {
    size_t element = (size_t)pto_datatype_bytes(datatype), offset = done * element;
    char *into = (char *)target + offset;
    if (fresh)
        memcpy(into, (const char *)source[0] + offset, count * element);
    for (int i = fresh ? 1 : 0; i < source_count; i++)
        reduce_plain(into, (const char *)source[i] + offset, count, datatype, op);
}

void pto_reduce_many_host(void *target, bool fresh, const void *const *source, int source_count, size_t count,
                          pto_datatype_t datatype, pto_op_t op) {
    size_t tile = is_narrow(datatype) ? TILE_FLOATS : TILE_BYTES / (size_t)pto_datatype_bytes(datatype);
    for (size_t done = 0; done < count; done += tile) {
        const size_t here = count - done < tile ? count - done : tile;
        if (is_narrow(datatype))
            reduce_narrow(target, fresh, source, source_count, done, here, datatype, op);
        else
            reduce_tile(target, fresh, source, source_count, done, here, datatype, op);
    }
}

void pto_reduce_host(void *target, const void *source, size_t count, pto_datatype_t datatype, pto_op_t op) {
    pto_reduce_many_host(target, false, &source, 1, count, datatype, op);
}

/* A type takes no parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define DIVISION(type, wide)                                                                                 \
    static void divide_##type(void *target, const void *source, size_t count, int64_t divisor) {             \
        const wide by = (wide)divisor;                                                                       \
        for (size_t i = 0; i < count; i++)                                                                   \
            ((type *)target)[i] = (type)(((const type *)source)[i] / by);                                    \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

DIVISION(int8_t, int64_t)
DIVISION(uint8_t, int64_t)
DIVISION(int16_t, int64_t)
DIVISION(uint16_t, int64_t)
DIVISION(int32_t, int64_t)
DIVISION(uint32_t, int64_t)
DIVISION(int64_t, int64_t)
DIVISION(uint64_t, uint64_t)
DIVISION(float, float)
DIVISION(double, double)

static void divide_narrow(void *target, const void *source, size_t count, pto_datatype_t datatype,
                          int64_t divisor) {
    float tile[TILE_FLOATS];
    for (size_t done = 0; done < count; done += TILE_FLOATS) {
        size_t here = count - done < TILE_FLOATS ? count - done : TILE_FLOATS;
        widen(tile, (const pto_half_t *)source + done, here, datatype);
        divide_float(tile, tile, here, divisor);
        narrow((pto_half_t *)target + done, tile, here, datatype);
    }
}

void pto_divide_host(void *target, const void *source, size_t count, pto_datatype_t datatype,
                     int64_t divisor) {
    static void (*const loop[PTO_DATATYPE_COUNT])(void *, const void *, size_t, int64_t) = {
        [PTO_DATATYPE_INT8] = divide_int8_t,         [PTO_DATATYPE_UINT8] = divide_uint8_t,
        [PTO_DATATYPE_INT16] = divide_int16_t,       [PTO_DATATYPE_UINT16] = divide_uint16_t,
        [PTO_DATATYPE_INT32] = divide_int32_t,       [PTO_DATATYPE_UINT32] = divide_uint32_t,
        [PTO_DATATYPE_INT64] = divide_int64_t,       [PTO_DATATYPE_UINT64] = divide_uint64_t,
        [PTO_DATATYPE_FLOAT] = divide_float,         [PTO_DATATYPE_DOUBLE] = divide_double,
        [PTO_DATATYPE_FLOAT_COMPLEX] = divide_float, [PTO_DATATYPE_DOUBLE_COMPLEX] = divide_double,
    };
    bool pairs = pto_datatype_number(datatype) == PTO_NUMBER_COMPLEX;
    if (is_narrow(datatype))
        divide_narrow(target, source, count, datatype, divisor);
    else
        loop[datatype](target, source, pairs ? 2 * count : count, divisor);
}

enum {
    INTEGERS = 1 << PTO_NUMBER_SIGNED | 1 << PTO_NUMBER_UNSIGNED,
    ORDERED = INTEGERS | 1 << PTO_NUMBER_REAL,
    NUMBERS = ORDERED | 1 << PTO_NUMBER_COMPLEX,
    BITS = INTEGERS | 1 << PTO_NUMBER_BYTE
};

static const struct {
    const char *name;
    unsigned numbers; /* the kinds of numbers that the operation takes */
    const char *needs;
} operations[] = {
    [PTO_OP_SUM] = {"sum", NUMBERS, "numbers"},
    [PTO_OP_PROD] = {"prod", NUMBERS, "numbers"},
    [PTO_OP_MIN] = {"min", ORDERED, "numbers that have an order"},
    [PTO_OP_MAX] = {"max", ORDERED, "numbers that have an order"},
    [PTO_OP_AVG] = {"avg", NUMBERS, "numbers"},
    [PTO_OP_LAND] = {"land", INTEGERS, "integers"},
    [PTO_OP_LOR] = {"lor", INTEGERS, "integers"},
    [PTO_OP_LXOR] = {"lxor", INTEGERS, "integers"},
    [PTO_OP_BAND] = {"band", BITS, "integers or bytes"},
    [PTO_OP_BOR] = {"bor", BITS, "integers or bytes"},
    [PTO_OP_BXOR] = {"bxor", BITS, "integers or bytes"},
};
_Static_assert(sizeof operations / sizeof *operations == PTO_OP_COUNT, "every operation has a row");

const char *pto_op_name(pto_op_t op) { return op < PTO_OP_COUNT ? operations[op].name : "no operation"; }

pto_status_t pto_op_takes(pto_op_t op, pto_datatype_t datatype, pto_error_t *err) {
    if (op >= PTO_OP_COUNT || datatype >= PTO_DATATYPE_COUNT)
        return pto_error_set(err, PTO_ERR_RANGE, "no such operation or datatype");
    if (operations[op].numbers >> pto_datatype_number(datatype) & 1)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "operation %s needs %s, not %s", pto_op_name(op),
                         operations[op].needs, pto_datatype_name(datatype));
}
