/* Recording and replaying the operations of a price (tape.h). */
#include "price/tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pto_tape {
    pto_tape_record_t *record; /* the first one is the number 0 */
    double *value;             /* of each, scratch of a replay */
    int count;
    int capacity;
    int *slot; /* hash table of records by content; 0: empty */
    int slots; /* a power of two */
    int prices;
    int result;
    bool refused;
};

_Thread_local pto_tape_t *pto_tape_recording;

enum { CAPACITY_FIRST = 256 };

/* --- recording ------------------------------------------------------------------------------------------ */

static bool same_number(double a, double b) {
    uint64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    return a_bits == b_bits;
}

static uint64_t hash_of(const pto_tape_record_t *record) {
    uint64_t number;
    memcpy(&number, &record->number, sizeof number);
    uint64_t hash = (uint64_t)record->op;
    const uint64_t part[] = {(uint64_t)record->a, (uint64_t)record->b, (uint64_t)(uintptr_t)record->param,
                             number};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        hash = (hash ^ part[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool is_same(const pto_tape_record_t *a, const pto_tape_record_t *b) {
    return a->op == b->op && a->a == b->a && a->b == b->b && a->param == b->param &&
           same_number(a->number, b->number);
}

/* The slot that has the record, or the empty one in which to put it. */
static int *slot_of(const pto_tape_t *tape, const pto_tape_record_t *record) {
    uint64_t mask = (uint64_t)tape->slots - 1, at = hash_of(record) & mask;
    while (tape->slot[at] != 0 && !is_same(&tape->record[tape->slot[at]], record))
        at = (at + 1) & mask;
    return &tape->slot[at];
}

static bool grow(pto_tape_t *tape) {
    int capacity = tape->capacity > 0 ? 2 * tape->capacity : CAPACITY_FIRST;
    pto_tape_record_t *record = realloc(tape->record, (size_t)capacity * sizeof *record);
    if (record)
        tape->record = record;
    int *slot = calloc(2 * (size_t)capacity, sizeof *slot);
    if (!record || !slot) {
        free(slot);
        return false;
    }
    free(tape->slot);
    tape->slot = slot;
    tape->slots = 2 * capacity;
    tape->capacity = capacity;
    for (int i = 1; i < tape->count; i++)
        *slot_of(tape, &tape->record[i]) = i;
    return true;
}

static int put(pto_tape_record_t record) {
    pto_tape_t *tape = pto_tape_recording;
    if (tape->refused)
        return 0;
    if (tape->count == tape->capacity && !grow(tape)) {
        tape->refused = true;
        return 0;
    }
    int *slot = slot_of(tape, &record);
    if (*slot == 0) {
        *slot = tape->count;
        tape->record[tape->count++] = record;
    }
    return *slot;
}

/* The operand's record: numbers are put there when they are first combined with times that have one. */
static int operand(pto_time_t time) {
    if (time.node || same_number(time.s, 0))
        return time.node;
    return put((pto_tape_record_t){.op = PTO_TAPE_NUMBER, .number = time.s});
}

pto_time_t pto_tape_param(const pto_param_t *param, double count) {
    return (pto_time_t){count * param->value,
                        put((pto_tape_record_t){.op = PTO_TAPE_PARAM, .param = param, .number = count})};
}

pto_time_t pto_tape_scale(pto_time_t time, double times, double s) {
    int node = time.node;
    if (times != 1)
        node = put((pto_tape_record_t){.op = PTO_TAPE_SCALE, .a = node, .number = times});
    return (pto_time_t){s, node};
}

pto_time_t pto_tape_combine(pto_tape_op_t op, pto_time_t a, pto_time_t b, double s) {
    if (!pto_tape_recording)
        return (pto_time_t){.s = s};
    int left = operand(a), right = operand(b);
    bool sum = op == PTO_TAPE_ADD || op == PTO_TAPE_SUBTRACT;
    if (op == PTO_TAPE_SUBTRACT && left == right)
        return (pto_time_t){.s = s};
    if ((sum && right == 0) || (op == PTO_TAPE_MAXIMUM && left == right))
        return (pto_time_t){s, left};
    if (op == PTO_TAPE_ADD && left == 0)
        return (pto_time_t){s, right};
    return (pto_time_t){s, put((pto_tape_record_t){.op = op, .a = left, .b = right})};
}

void pto_tape_compare(pto_tape_op_t op, pto_time_t a, pto_time_t b, bool holds) {
    int left = operand(a), right = operand(b);
    if (left != right)
        put((pto_tape_record_t){.op = op, .a = left, .b = right, .number = holds});
}

static bool are_same(double a_s, double b_s) { return fabs(a_s - b_s) <= PTO_TIME_ROUNDING * fabs(a_s); }

bool pto_time_same(pto_time_t a, pto_time_t b) {
    bool same = are_same(a.s, b.s);
    if (a.node | b.node)
        pto_tape_compare(PTO_TAPE_SAME, a, b, same);
    return same;
}

/* --- tapes ---------------------------------------------------------------------------------------------- */

pto_tape_t *pto_tape_begin(void) {
    pto_tape_t *tape = calloc(1, sizeof *tape);
    if (!tape || !grow(tape)) {
        pto_tape_destroy(tape);
        return NULL;
    }
    tape->record[tape->count++] = (pto_tape_record_t){.op = PTO_TAPE_NUMBER};
    pto_tape_recording = tape;
    return tape;
}

void pto_tape_destroy(pto_tape_t *tape) {
    if (!tape)
        return;
    free(tape->record);
    free(tape->value);
    free(tape->slot);
    free(tape);
}

void pto_tape_result(pto_time_t price) {
    if (!pto_tape_recording)
        return;
    pto_tape_recording->prices++;
    pto_tape_recording->result = operand(price);
}

void pto_tape_refuse(void) {
    if (pto_tape_recording)
        pto_tape_recording->refused = true;
}

pto_tape_t *pto_tape_end(pto_tape_t *tape, double seconds) {
    double replayed_s = 0;
    pto_tape_recording = NULL;
    if (!tape)
        return NULL;
    free(tape->slot);
    tape->slot = NULL;
    tape->value = malloc((size_t)tape->count * sizeof *tape->value);
    if (tape->value && !tape->refused && tape->prices == 1 && pto_tape_replay(tape, &replayed_s) &&
        same_number(replayed_s, seconds))
        return tape;
    pto_tape_destroy(tape);
    return NULL;
}

const pto_tape_record_t *pto_tape_records(const pto_tape_t *tape, int *count, int *result) {
    *count = tape->count;
    *result = tape->result;
    return tape->record;
}

/* --- replaying ------------------------------------------------------------------------------------------ */

static double value_of(const pto_tape_record_t *record, const double *value) {
    double a = value[record->a], b = value[record->b];
    switch (record->op) {
    case PTO_TAPE_NUMBER:
        return record->number;
    case PTO_TAPE_PARAM:
        return record->number * record->param->value;
    case PTO_TAPE_SCALE:
        return record->number * a;
    case PTO_TAPE_ADD:
        return a + b;
    case PTO_TAPE_SUBTRACT:
        return a - b;
    case PTO_TAPE_MULTIPLY:
        return a * b;
    case PTO_TAPE_DIVIDE:
        return a / b;
    case PTO_TAPE_MAXIMUM:
        return b > a ? b : a;
    case PTO_TAPE_LESS:
        return a < b;
    case PTO_TAPE_SAME:
        return are_same(a, b);
    }
    return NAN;
}

bool pto_tape_replay(const pto_tape_t *tape, double *seconds) {
    for (int i = 0; i < tape->count; i++) {
        const pto_tape_record_t *record = &tape->record[i];
        tape->value[i] = 0;
        tape->value[i] = value_of(record, tape->value);
        if (record->op >= PTO_TAPE_LESS && tape->value[i] != record->number)
            return false;
    }
    *seconds = tape->value[tape->result];
    return true;
}
