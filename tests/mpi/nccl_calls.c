#include "nccl_calls.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 20000, MARGIN_BYTES = 64, UNTOUCHED = 0xEE };

unsigned calls_pick(uint64_t *state, unsigned below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % below;
}

/* --- values ----------------------------------------------------------------------------------------------
 */

static const int types[] = {PTO_NCCL_INT8,    PTO_NCCL_UINT8,   PTO_NCCL_INT32,   PTO_NCCL_UINT32,
                            PTO_NCCL_INT64,   PTO_NCCL_UINT64,  PTO_NCCL_FLOAT16, PTO_NCCL_FLOAT32,
                            PTO_NCCL_FLOAT64, PTO_NCCL_BFLOAT16};
enum { TYPES = (int)(sizeof types / sizeof *types) };

static size_t element_bytes(int type) {
    switch (type) {
    case PTO_NCCL_INT8:
    case PTO_NCCL_UINT8:
        return 1;
    case PTO_NCCL_FLOAT16:
    case PTO_NCCL_BFLOAT16:
        return 2;
    case PTO_NCCL_INT32:
    case PTO_NCCL_UINT32:
    case PTO_NCCL_FLOAT32:
        return 4;
    default:
        return 8;
    }
}

/* Of a whole number from 1 to 2047. */
static uint16_t half_of(int value) {
    int exponent = 0;
    while (value >> (exponent + 1))
        exponent++;
    return (uint16_t)(((exponent + 15) << 10) | (((value << 10) >> exponent) & 0x3ff));
}

static void store(char *at, int type, int value) {
    const float as_float = (float)value;
    const double as_double = value;
    const int64_t as_int = value;
    const uint16_t as_half = half_of(value);
    if (type == PTO_NCCL_FLOAT32)
        memcpy(at, &as_float, 4);
    else if (type == PTO_NCCL_FLOAT64)
        memcpy(at, &as_double, 8);
    else if (type == PTO_NCCL_FLOAT16)
        memcpy(at, &as_half, 2);
    else if (type == PTO_NCCL_BFLOAT16)
        memcpy(at, (const char *)&as_float + 2, 2);
    else
        memcpy(at, &as_int, element_bytes(type));
}

/* Small, so that sums and products are exact in all types. */
static int value(int of_rank, size_t i, int call) { return 1 + (of_rank + (int)(i % 1000) + call) % 2; }

static int combined(const call_t *c, size_t i) {
    int result = value(0, i, c->number);
    for (int r = 1; r < c->of->size; r++) {
        int other = value(r, i, c->number);
        result = c->op == PTO_NCCL_SUM    ? result + other
                 : c->op == PTO_NCCL_PROD ? result * other
                 : c->op == PTO_NCCL_MAX  ? (other > result ? other : result)
                                          : (other < result ? other : result);
    }
    return result;
}

/* --- calls -----------------------------------------------------------------------------------------------
 */

static size_t in_count(const call_t *c) {
    const bool has_blocks = c->function == REDUCE_SCATTER || c->function == ALL_TO_ALL;
    return c->count * (has_blocks ? (size_t)c->of->size : 1);
}

static size_t out_count(const call_t *c) {
    const bool has_blocks = c->function == ALL_GATHER || c->function == ALL_TO_ALL;
    return c->count * (has_blocks ? (size_t)c->of->size : 1);
}

call_t calls_random(const members_t *of, int number, void *stream, uint64_t *state) {
    static const size_t small[] = {1, 2, 3, 7, 8, 16, 100, 1000, 1024, 4096};
    call_t c = {.of = of, .number = number, .stream = stream};
    c.function = (int)calls_pick(state, FUNCTIONS);
    c.type = types[calls_pick(state, TYPES)];
    c.op = (int)calls_pick(state, 4);
    c.root = (int)calls_pick(state, (unsigned)of->size);
    c.count = calls_pick(state, 16) ? small[calls_pick(state, 10)] : 1 + calls_pick(state, COUNT_MAX);
    bool in_place = calls_pick(state, 3) == 0;
    if (calls_pick(state, 8) == 0)
        in_place = of->rank % 2 == 0; /* not the same on all */
    const size_t bytes = element_bytes(c.type);
    const size_t most = bytes * (in_count(&c) > out_count(&c) ? in_count(&c) : out_count(&c));
    const size_t shift = calls_pick(state, 4) == 0 ? bytes : 0; /* not aligned */
    c.bytes = most + MARGIN_BYTES;
    for (int i = 0; i < 2; i++)
        c.memory[i] = malloc(c.bytes);
    c.out = c.memory[1] + shift;
    c.in = c.memory[0] + shift;
    if (in_place && c.function == ALL_GATHER)
        c.in = c.out + (size_t)of->rank * c.count * bytes;
    else if (in_place && c.function == REDUCE_SCATTER)
        c.out = c.in + (size_t)of->rank * c.count * bytes;
    else if (in_place && c.function != ALL_TO_ALL)
        c.in = c.out;
    return c;
}

void calls_fill(const call_t *c) {
    for (int i = 0; i < 2; i++)
        memset(c->memory[i], UNTOUCHED, c->bytes);
    for (size_t i = 0; i < in_count(c); i++)
        store(c->in + i * element_bytes(c->type), c->type, value(c->of->rank, i, c->number));
}

int calls_issue(const call_t *c) {
    void *comm = c->of->handle;
    switch (c->function) {
    case ALL_REDUCE:
        return ncclAllReduce(c->in, c->out, c->count, c->type, c->op, comm, c->stream);
    case ALL_GATHER:
        return ncclAllGather(c->in, c->out, c->count, c->type, comm, c->stream);
    case REDUCE_SCATTER:
        return ncclReduceScatter(c->in, c->out, c->count, c->type, c->op, comm, c->stream);
    case ALL_TO_ALL:
        return ncclAlltoAll(c->in, c->out, c->count, c->type, comm, c->stream);
    case BROADCAST:
        return c->in == c->out ? ncclBcast(c->out, c->count, c->type, c->root, comm, c->stream)
                               : ncclBroadcast(c->in, c->out, c->count, c->type, c->root, comm, c->stream);
    default:
        return ncclReduce(c->in, c->out, c->count, c->type, c->op, c->root, comm, c->stream);
    }
}

static int expected(const call_t *c, size_t i) {
    const size_t mine = (size_t)c->of->rank * c->count;
    switch (c->function) {
    case ALL_GATHER:
        return value((int)(i / c->count), i % c->count, c->number);
    case REDUCE_SCATTER:
        return combined(c, mine + i);
    case ALL_TO_ALL:
        return value((int)(i / c->count), mine + i % c->count, c->number);
    case BROADCAST:
        return value(c->root, i, c->number);
    default:
        return combined(c, i);
    }
}

/* The same place in other memory of the call. */
static char *moved(const call_t *c, const char *at, char *const memory[2]) {
    const int which = at >= c->memory[1] && at < c->memory[1] + c->bytes;
    return memory[which] + (at - c->memory[which]);
}

static bool is_same(const call_t *c, const call_t *right, int which) {
    if (memcmp(c->memory[which], right->memory[which], c->bytes) == 0)
        return true;
    size_t at = 0;
    while (c->memory[which][at] == right->memory[which][at])
        at++;
    fprintf(stderr,
            "rank %d of %d, call %d: function %d, type %d, op %d, root %d, %zu elements, in at %td, out at "
            "%td: byte %td is wrong\n",
            c->of->rank, c->of->size, c->number, c->function, c->type, c->op, c->root, c->count,
            c->in - c->memory[0], c->out - c->memory[0], c->memory[which] + at - c->memory[0]);
    return false;
}

bool calls_check(const call_t *c) {
    call_t right = *c;
    const size_t bytes = element_bytes(c->type);
    const size_t written = c->function == REDUCE && c->of->rank != c->root ? 0 : out_count(c);
    for (int i = 0; i < 2; i++)
        right.memory[i] = malloc(c->bytes);
    right.in = moved(c, c->in, right.memory);
    right.out = moved(c, c->out, right.memory);
    calls_fill(&right);
    for (size_t i = 0; i < written; i++)
        store(right.out + i * bytes, c->type, expected(c, i));
    const bool same = is_same(c, &right, 0) && is_same(c, &right, 1);
    calls_release(&right);
    return same;
}

void calls_release(call_t *c) {
    free(c->memory[0]);
    free(c->memory[1]);
}
