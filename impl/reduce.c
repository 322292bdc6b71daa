/* Reductions on the CPU: one loop for each type and operation, which the compiler can vectorise. Integer
 * sums and products use the unsigned type, so that they wrap around instead of being undefined. */
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
            target[i] = expression;                                                                          \
        }                                                                                                    \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

#define WHOLE_LOOPS(suffix, type, arithmetic)                                                                \
    LOOP(sum_##suffix, arithmetic, a + b)                                                                    \
    LOOP(prod_##suffix, arithmetic, a *b)                                                                    \
    LOOP(min_##suffix, type, b < a ? b : a)                                                                  \
    LOOP(max_##suffix, type, a < b ? b : a)

#define REAL_LOOPS(type)                                                                                     \
    LOOP(sum_##type, type, a + b)                                                                            \
    LOOP(prod_##type, type, a *b)                                                                            \
    LOOP(min_##type, type, pto_min_##type(a, b))                                                             \
    LOOP(max_##type, type, pto_max_##type(a, b))

WHOLE_LOOPS(int32, int32_t, uint32_t)
WHOLE_LOOPS(int64, int64_t, uint64_t)
REAL_LOOPS(float)
REAL_LOOPS(double)

#define ROW(suffix)                                                                                          \
    { sum_##suffix, prod_##suffix, min_##suffix, max_##suffix }

void pto_reduce_host(void *target, const void *source, size_t count, pto_datatype_t datatype, pto_op_t op) {
    static void (*const loop[PTO_DATATYPE_COUNT][PTO_OP_COUNT])(void *, const void *, size_t) = {
        [PTO_DATATYPE_INT32] = ROW(int32),
        [PTO_DATATYPE_INT64] = ROW(int64),
        [PTO_DATATYPE_FLOAT] = ROW(float),
        [PTO_DATATYPE_DOUBLE] = ROW(double),
    };
    loop[datatype][op](target, source, count);
}

/* Pieces fit in the first-level cache, so that the target is not loaded from memory again for each
 * source. */
enum { PIECE_BYTES = 16384 };

void pto_reduce_many_host(void *target, bool fresh, const void *const *source, int source_count, size_t count,
                          pto_datatype_t datatype, pto_op_t op) {
    size_t element = (size_t)pto_datatype_bytes(datatype), piece = PIECE_BYTES / element;
    for (size_t done = 0; done < count; done += piece) {
        size_t here = count - done < piece ? count - done : piece;
        char *into = (char *)target + done * element;
        if (fresh)
            memcpy(into, (const char *)source[0] + done * element, here * element);
        for (int i = fresh ? 1 : 0; i < source_count; i++)
            pto_reduce_host(into, (const char *)source[i] + done * element, here, datatype, op);
    }
}

const char *pto_op_name(pto_op_t op) {
    static const char *const name[] = {
        [PTO_OP_SUM] = "sum", [PTO_OP_PROD] = "prod", [PTO_OP_MIN] = "min", [PTO_OP_MAX] = "max"};
    _Static_assert(sizeof name / sizeof *name == PTO_OP_COUNT, "every operation has a name");
    return name[op];
}
