/* Records and replays the operations of a price, and reduces tapes to a few parameters (tape.h). */
#include "tape/tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/slots.h"

/* The place of a record in a hash table by content, which finds operations that were recorded before. */
typedef struct {
    uint64_t key[4]; /* 1 + the operation, the operands, the parameter, the number */
    int64_t index;   /* of the record; 0: not set yet */
} entry_t;

struct pto_tape {
    pto_tape_record_t *record; /* the first one is the number 0 */
    double *value;             /* [record], in the last replay */
    int count;
    size_t capacity;
    pto_slots_t entries; /* entry_t of each record but the first */
    int prices;          /* number of plans that were priced */
    int result;          /* the index of the price */
    bool failed;         /* out of memory */
};

_Thread_local pto_tape_t *pto_tape_recording;

static bool same_number(double a, double b) {
    uint64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    return a_bits == b_bits;
}

static entry_t entry_of(const pto_tape_record_t *record) {
    entry_t entry = {.key = {1 + (uint64_t)record->op, (uint64_t)record->a << 32 | (uint64_t)record->b,
                             (uint64_t)(uintptr_t)record->param}};
    memcpy(&entry.key[3], &record->number, sizeof entry.key[3]);
    return entry;
}

/* Returns the index of a record, which is appended if the tape does not have it; 0 when out of memory. */
static int put(pto_tape_record_t record) {
    pto_tape_t *tape = pto_tape_recording;
    if (tape->failed)
        return 0;
    const entry_t wanted = entry_of(&record);
    entry_t *entry = pto_slots_add(&tape->entries, &wanted);
    if (entry && entry->index > 0)
        return (int)entry->index;
    tape->failed = !entry || !PTO_RESERVE(tape->record, tape->capacity, tape->count + 1);
    if (tape->failed)
        return 0;
    entry->index = tape->count;
    tape->record[tape->count] = record;
    return tape->count++;
}

/* Returns the index of an operand. A number is recorded when it is first combined with a recorded time. */
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

/* Records nothing if the result is one of the operands. */
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

static int by_node(const void *a, const void *b) {
    int x = ((const pto_time_t *)a)->node, y = ((const pto_time_t *)b)->node;
    return (x > y) - (x < y);
}

pto_time_t pto_tape_largest(pto_time_t *time, size_t count) {
    size_t kept = 1;
    qsort(time, count, sizeof *time, by_node);
    for (size_t i = 1; i < count; i++)
        if (time[i].node != time[kept - 1].node || time[i].node == 0)
            time[kept++] = time[i];
    for (; kept > 1; kept -= kept / 2)
        for (size_t i = 0; i < kept / 2; i++)
            time[i] = pto_time_max(time[i], time[kept - 1 - i]);
    return time[0];
}

static bool are_same(double a_s, double b_s) { return fabs(a_s - b_s) <= PTO_TIME_ROUNDING * fabs(a_s); }

bool pto_time_same(pto_time_t a, pto_time_t b) {
    bool same = are_same(a.s, b.s);
    if (a.node | b.node)
        pto_tape_compare(PTO_TAPE_SAME, a, b, same);
    return same;
}

pto_tape_t *pto_tape_begin(void) {
    pto_tape_t *tape = calloc(1, sizeof *tape);
    if (!tape || !PTO_RESERVE(tape->record, tape->capacity, 1)) {
        pto_tape_destroy(tape);
        return NULL;
    }
    tape->entries = (pto_slots_t){.slot_size = sizeof(entry_t), .key_words = 4};
    tape->record[tape->count++] = (pto_tape_record_t){.op = PTO_TAPE_NUMBER};
    pto_tape_recording = tape;
    return tape;
}

void pto_tape_destroy(pto_tape_t *tape) {
    if (!tape)
        return;
    free(tape->record);
    free(tape->value);
    free(tape->entries.slot);
    free(tape);
}

void pto_tape_result(pto_time_t price) {
    if (!pto_tape_recording)
        return;
    pto_tape_recording->prices++;
    pto_tape_recording->result = operand(price);
}

pto_tape_t *pto_tape_end(pto_tape_t *tape, double seconds) {
    double replayed_s = 0;
    pto_tape_recording = NULL;
    if (!tape)
        return NULL;
    free(tape->entries.slot);
    tape->entries.slot = NULL;
    tape->value = malloc((size_t)tape->count * sizeof *tape->value);
    if (tape->value && !tape->failed && tape->prices == 1 && pto_tape_replay(tape, &replayed_s) &&
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

/* Returns the result of an operation; `number` is that of its record. */
static inline double operate(pto_tape_op_t op, double number, double param, double a, double b) {
    switch (op) {
    case PTO_TAPE_NUMBER:
        return number;
    case PTO_TAPE_PARAM:
        return number * param;
    case PTO_TAPE_SCALE:
        return number * a;
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
        double param = record->op == PTO_TAPE_PARAM ? record->param->value : 0;
        tape->value[i] = 0;
        tape->value[i] =
            operate(record->op, record->number, param, tape->value[record->a], tape->value[record->b]);
        if (record->op >= PTO_TAPE_LESS && tape->value[i] != record->number)
            return false;
    }
    *seconds = tape->value[tape->result];
    return true;
}

/* An operation on two places. */
typedef struct {
    double number; /* as in its record */
    pto_tape_op_t op;
    int a;
    int b;
} operation_t;

/* A replay has one array of values: parameters, constants, results of operations. A place is its index. */
struct pto_short_tape {
    int params;
    int first; /* place of the first operation's result */
    int operations;
    int result;       /* place of the price */
    double *constant; /* [place - params] */
    operation_t *operation;
};

static int index_of(const pto_param_t *param, const pto_param_t *const *among, int count) {
    for (int i = 0; i < count; i++)
        if (among[i] == param)
            return i;
    return -1;
}

/* How a short tape uses a record. */
typedef struct {
    bool varies; /* it depends on the few parameters */
    bool needed; /* by the price, or by a comparison that varies */
    int place;   /* of its result; set if it is needed */
} record_info_t;

static bool is_comparison(pto_tape_op_t op) { return op >= PTO_TAPE_LESS; }

/* Finds which records vary, in their order, and then which are needed, from the last one back. */
static void find_needed(const pto_tape_t *tape, const pto_param_t *const *param, int count,
                        record_info_t *info) {
    for (int i = 1; i < tape->count; i++) {
        const pto_tape_record_t *record = &tape->record[i];
        info[i].varies = record->op == PTO_TAPE_PARAM ? index_of(record->param, param, count) >= 0
                                                      : info[record->a].varies || info[record->b].varies;
    }
    info[tape->result].needed = true;
    for (int i = tape->count - 1; i >= 0; i--) {
        const pto_tape_record_t *record = &tape->record[i];
        info[i].needed = info[i].needed || (info[i].varies && is_comparison(record->op));
        if (info[i].needed && info[i].varies && record->op != PTO_TAPE_PARAM)
            info[record->a].needed = info[record->b].needed = true;
    }
}

static pto_short_tape_t *short_tape_create(int params, int numbers, int operations) {
    pto_short_tape_t *reduced = calloc(1, sizeof *reduced);
    if (!reduced)
        return NULL;
    *reduced = (pto_short_tape_t){.params = params, .first = params + numbers, .operations = operations};
    reduced->constant = calloc((size_t)numbers + 1, sizeof *reduced->constant);
    reduced->operation = calloc((size_t)operations + 1, sizeof *reduced->operation);
    if (reduced->constant && reduced->operation)
        return reduced;
    pto_short_tape_destroy(reduced);
    return NULL;
}

/* Constants and operations keep the order of their records. A record of a parameter scales its place. */
static void fill(const pto_tape_t *tape, const pto_param_t *const *param, record_info_t *info,
                 pto_short_tape_t *reduced) {
    int number = reduced->params, operation = reduced->first;
    for (int i = 0; i < tape->count; i++) {
        const pto_tape_record_t *from = &tape->record[i];
        if (!info[i].needed)
            continue;
        info[i].place = info[i].varies ? operation++ : number++;
        if (!info[i].varies)
            reduced->constant[info[i].place - reduced->params] = tape->value[i];
        else if (from->op == PTO_TAPE_PARAM)
            reduced->operation[info[i].place - reduced->first] =
                (operation_t){.number = from->number,
                              .op = PTO_TAPE_SCALE,
                              .a = index_of(from->param, param, reduced->params)};
        else
            reduced->operation[info[i].place - reduced->first] =
                (operation_t){from->number, from->op, info[from->a].place, info[from->b].place};
    }
    reduced->result = info[tape->result].place;
}

pto_short_tape_t *pto_tape_shorten(const pto_tape_t *tape, const pto_param_t *const *param, int count) {
    record_info_t *info = calloc((size_t)tape->count, sizeof *info);
    if (!info)
        return NULL;
    find_needed(tape, param, count, info);
    int numbers = 0, operations = 0;
    for (int i = 0; i < tape->count; i++) {
        operations += info[i].needed && info[i].varies;
        numbers += info[i].needed && !info[i].varies;
    }
    pto_short_tape_t *reduced = short_tape_create(count, numbers, operations);
    if (reduced)
        fill(tape, param, info, reduced);
    free(info);
    return reduced;
}

void pto_short_tape_destroy(pto_short_tape_t *tape) {
    if (!tape)
        return;
    free(tape->constant);
    free(tape->operation);
    free(tape);
}

size_t pto_short_tape_places(const pto_short_tape_t *tape) {
    return (size_t)tape->first + (size_t)tape->operations;
}

bool pto_short_tape_replay(const pto_short_tape_t *tape, const double *value, double *place,
                           double *seconds) {
    memcpy(place, value, (size_t)tape->params * sizeof *place);
    memcpy(place + tape->params, tape->constant, (size_t)(tape->first - tape->params) * sizeof *place);
    for (int i = 0; i < tape->operations; i++) {
        const operation_t *operation = &tape->operation[i];
        double result =
            operate(operation->op, operation->number, 0, place[operation->a], place[operation->b]);
        if (is_comparison(operation->op) && result != operation->number)
            return false;
        place[tape->first + i] = result;
    }
    *seconds = place[tape->result];
    return true;
}
