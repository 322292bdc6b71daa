/* The state of a check, shared by the part that knows what collectives promise (check.c) and the part that
 * walks stages (check_stage.c). Internal to libportolan. */
#ifndef PTO_CHECK_INTERNAL_H
#define PTO_CHECK_INTERNAL_H

#include "check/clocks.h"
#include "check/memory.h"
#include "portolan/check.h"

/* Bytes of one rank's buffer that a step names. */
typedef struct {
    int64_t holder;
    int buffer;
    int64_t begin;
    int64_t end;
    bool write;
} pto_touch_t;

typedef struct {
    pto_touch_t *item;
    int count;
    int capacity;
} pto_touches_t;

/* One end of a message, found again by its step and the number of the peer in that step's set. */
typedef struct {
    int32_t from;
    int32_t to;
    int32_t step;
    int64_t ordinal;
    int64_t bytes;
} pto_end_t;

typedef struct {
    pto_end_t *item;
    int64_t count;
    int64_t capacity;
} pto_ends_t;

/* A signal that has not been waited for; those to one rank are a list, oldest first. */
typedef struct pto_signal {
    struct pto_signal *next;
    int64_t from;
    int flag;
    uint32_t *clock;
} pto_signal_t;

/* A piece into which a kernel's steps cut a buffer: check_kernel.c. */
typedef struct pto_piece_use pto_piece_use_t;

typedef struct {
    int step; /* of the stage's, the one to do next */
    int64_t peer;
} pto_progress_t;

typedef struct {
    const pto_plan_t *plan;
    const pto_request_t *request;
    int64_t ranks;
    int buffers;
    pto_walk_t walk;
    pto_spans_t *contents; /* ranks x buffers */
    int64_t *bytes;        /* ranks x buffers; -1 where the rank holds none */
    pto_trace_t *trace;    /* ranks x buffers, and as many again for the other ones of those that alternate */
    pto_piece_use_t **piece; /* ranks x buffers, of the kernel at hand */
    int kernel;              /* the node that these are of */
    bool *shared;            /* buffers that others than their holders use */
    pto_signal_t **signal;   /* by the rank that shall wait */
    pto_progress_t *progress;
    int64_t *tally; /* ranks + 1, for sorting */
    pto_sets_t sets;
    pto_clocks_t clocks;
    pto_touches_t source; /* scratch */
    pto_touches_t target;
    pto_touches_t touched;
    pto_spans_t moved;
    pto_spans_t present;
    pto_ends_t sends;
    pto_ends_t receives;
    pto_ends_t sorted;
    int run; /* from 0; where memory is shared the plan is walked again */
    pto_check_report_t report;
    pto_status_t status;
    pto_error_t *err;
} pto_checker_t;

/* Report a fault of a rank in the stage at hand; returns false. */
bool pto_check_fail(pto_checker_t *checker, int64_t rank, const char *format, ...) PTO_PRINTF_LIKE(3, 4);
bool pto_check_out_of_memory(pto_checker_t *checker);

/* Faults that show without walking: what a step names exists, and no arithmetic of it can fail. */
bool pto_check_parts(pto_checker_t *checker);

/* The same for what depends on the iteration and the rank: before asking whether a rank acts in a step, of
 * each peer that its set gives, and before walking a slice. */
bool pto_check_actor(pto_checker_t *checker, const pto_step_t *step, int64_t rank);
bool pto_check_peer(pto_checker_t *checker, const pto_action_t *action);
bool pto_check_slice(pto_checker_t *checker, const pto_slice_t *slice, const pto_action_t *action);

/* Walk the stage at hand for all ranks. */
bool pto_check_stage(pto_checker_t *checker);

/* What stands in kernels, once for a plan; then whether the copy or reduction whose ranges are in
 * checker->source and checker->target cuts buffers as all others of its kernel do. */
bool pto_check_kernels(pto_checker_t *checker);
bool pto_check_pieces(pto_checker_t *checker, const pto_action_t *action);
void pto_check_forget_pieces(pto_checker_t *checker);

/* Note an access to a shared buffer. */
bool pto_check_access(pto_checker_t *checker, int64_t rank, const pto_touch_t *touch);

enum { PTO_CONTENTS_TEXT_MAX = 96 };
/* "owner 3's bytes from 16 on", "the sum of 4 owners' bytes from 0 on" or "nothing". */
void pto_check_describe(const pto_checker_t *checker, const pto_span_t *span, char *text);

static inline pto_spans_t *pto_check_contents(const pto_checker_t *checker, int64_t rank, int buffer) {
    return &checker->contents[rank * checker->buffers + buffer];
}

#endif
