/* Times that depend on a machine's parameters, and a tape that records how they were computed, so that a
 * price can be computed again quickly with other values of the parameters (fitting, sensitivity).
 *
 * A price is computed from parameters by few kinds of operations: multiples, sums, maxima, comparisons. A
 * tape that records keeps each of them once, however often it recurs. A replay does the same operations in
 * the same order with the new values. If every comparison has the same result, the price is that of the plan
 * to the last bit, in a fraction of the time; otherwise the plan must be priced again. */
#ifndef PTO_TAPE_TAPE_H
#define PTO_TAPE_TAPE_H

#include "machine/machine_internal.h"

/* A time, with the operation on the tape that computes it. */
typedef struct {
    double s;
    int node; /* index of the operation; 0: the time depends on no parameter, or no tape records */
} pto_time_t;

typedef struct pto_tape pto_tape_t;

/* The tape that records in this thread; NULL: none. */
extern _Thread_local pto_tape_t *pto_tape_recording;

typedef enum {
    PTO_TAPE_NUMBER, /* `number` */
    PTO_TAPE_PARAM,  /* `number` times `param` */
    PTO_TAPE_SCALE,  /* `number` times `a` */
    PTO_TAPE_ADD,
    PTO_TAPE_SUBTRACT,
    PTO_TAPE_MULTIPLY,
    PTO_TAPE_DIVIDE,
    PTO_TAPE_MAXIMUM,
    PTO_TAPE_LESS, /* comparisons: they must have the same result */
    PTO_TAPE_SAME
} pto_tape_op_t;

/* An operation. Its operands are the results of earlier operations. */
typedef struct {
    pto_tape_op_t op;
    int a; /* index of the first operand's operation */
    int b;
    const pto_param_t *param;
    double number; /* as pto_tape_op_t says; of a comparison: its result, 0 or 1 */
} pto_tape_record_t;

/* Record the operations of the functions below, which compute the results `s` and `holds`. */
pto_time_t pto_tape_param(const pto_param_t *param, double count);
pto_time_t pto_tape_scale(pto_time_t time, double times, double s);
pto_time_t pto_tape_combine(pto_tape_op_t op, pto_time_t a, pto_time_t b, double s);
void pto_tape_compare(pto_tape_op_t op, pto_time_t a, pto_time_t b, bool holds);
/* Returns the maximum of one or more times, which are overwritten. The maxima form a tree: in a chain, each
 * would have to wait for the one before it in a replay. */
pto_time_t pto_tape_largest(pto_time_t *time, size_t count);

/* Returns `count` times a parameter. */
static inline pto_time_t pto_time_of(const pto_param_t *param, double count) {
    return pto_tape_recording ? pto_tape_param(param, count) : (pto_time_t){.s = count * param->value};
}

static inline pto_time_t pto_time_scale(pto_time_t time, double times) {
    double s = times * time.s;
    return time.node ? pto_tape_scale(time, times, s) : (pto_time_t){.s = s};
}

static inline pto_time_t pto_time_add(pto_time_t a, pto_time_t b) {
    double s = a.s + b.s;
    return a.node | b.node ? pto_tape_combine(PTO_TAPE_ADD, a, b, s) : (pto_time_t){.s = s};
}

static inline pto_time_t pto_time_subtract(pto_time_t a, pto_time_t b) {
    double s = a.s - b.s;
    return a.node | b.node ? pto_tape_combine(PTO_TAPE_SUBTRACT, a, b, s) : (pto_time_t){.s = s};
}

static inline pto_time_t pto_time_multiply(pto_time_t a, pto_time_t b) {
    double s = a.s * b.s;
    return a.node | b.node ? pto_tape_combine(PTO_TAPE_MULTIPLY, a, b, s) : (pto_time_t){.s = s};
}

static inline pto_time_t pto_time_divide(pto_time_t a, pto_time_t b) {
    double s = a.s / b.s;
    return a.node | b.node ? pto_tape_combine(PTO_TAPE_DIVIDE, a, b, s) : (pto_time_t){.s = s};
}

/* Returns the maximum; `a` if they are equal. */
static inline pto_time_t pto_time_max(pto_time_t a, pto_time_t b) {
    double s = b.s > a.s ? b.s : a.s;
    return a.node | b.node ? pto_tape_combine(PTO_TAPE_MAXIMUM, a, b, s) : (pto_time_t){.s = s};
}

static inline bool pto_time_less(pto_time_t a, pto_time_t b) {
    bool holds = a.s < b.s;
    if (a.node | b.node)
        pto_tape_compare(PTO_TAPE_LESS, a, b, holds);
    return holds;
}

/* Returns the time for a comparison that is not to be recorded. */
static inline pto_time_t pto_time_off_tape(pto_time_t time) { return (pto_time_t){.s = time.s}; }

static inline bool pto_time_positive(pto_time_t time) { return pto_time_less((pto_time_t){0}, time); }

/* Times that differ by no more than this share are equal except for rounding. */
#define PTO_TIME_ROUNDING 1e-9
bool pto_time_same(pto_time_t a, pto_time_t b);

/* Records the prices of this thread until pto_tape_end. NULL: out of memory. */
pto_tape_t *pto_tape_begin(void);
/* Ends the recording. Returns the tape if exactly one plan was priced and a replay gives exactly `seconds`;
 * else, and if memory has run out, frees it and returns NULL. */
pto_tape_t *pto_tape_end(pto_tape_t *tape, double seconds);
void pto_tape_destroy(pto_tape_t *tape);

/* Returns the operations of a tape that can be replayed, in their order; `*result` is the price's. */
const pto_tape_record_t *pto_tape_records(const pto_tape_t *tape, int *count, int *result);

/* Records that a plan has been priced. */
void pto_tape_result(pto_time_t price);

/* Computes the price with the parameters' current values. The recorded parameters must still be at their
 * addresses. False: a comparison has another result. */
bool pto_tape_replay(const pto_tape_t *tape, double *seconds);

/* A tape reduced to a few parameters that vary. All others keep the values of the tape's last replay
 * (pto_tape_end does one). A short tape has only the operations that depend on the few parameters. The other
 * operands of these operations are constants. The price is the same. */
typedef struct pto_short_tape pto_short_tape_t;

/* `param` has `count` entries, NULL for those that are not in the machine. NULL: out of memory. */
pto_short_tape_t *pto_tape_shorten(const pto_tape_t *tape, const pto_param_t *const *param, int count);
void pto_short_tape_destroy(pto_short_tape_t *tape);

/* Computes the price with other values of the parameters, in the order of pto_tape_shorten. `place` is
 * scratch, with room for pto_short_tape_places results. False: a comparison has another result. */
bool pto_short_tape_replay(const pto_short_tape_t *tape, const double *value, double *place, double *seconds);
size_t pto_short_tape_places(const pto_short_tape_t *tape);

#endif
