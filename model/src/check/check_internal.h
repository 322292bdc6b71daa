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
    int64_t instance; /* of the walk: the stage that raised it */
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
    pto_spans_t *inside;   /* ranks x buffers, as the stages of a collective node see them; or NULL */
    int collective;        /* the node whose stages are walked; -1: none */
    bool leaving;          /* ... whose stages have just ended */
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

/* That a slice names a buffer, and sensible parts of it. */
bool pto_check_slice_named(pto_checker_t *checker, const pto_slice_t *slice);

/* Collective nodes: once for a plan, and around the stages of one. */
bool pto_check_collectives(pto_checker_t *checker);
bool pto_check_enter_collective(pto_checker_t *checker, int at);
bool pto_check_leave_collective(pto_checker_t *checker);

/* Walk the stage at hand for all ranks. */
bool pto_check_stage(pto_checker_t *checker);

/* What stands in kernels, once for a plan; then whether the copy or reduction whose ranges are in
 * checker->source and checker->target cuts buffers as all others of its kernel do. */
bool pto_check_kernels(pto_checker_t *checker);
bool pto_check_pieces(pto_checker_t *checker, const pto_action_t *action);
void pto_check_forget_pieces(pto_checker_t *checker);

/* Add a slice's ranges to `touches`, as far as the action may use them. */
bool pto_check_collect(pto_checker_t *checker, const pto_slice_t *slice, const pto_action_t *action,
                       bool write, pto_touches_t *touches);
int64_t pto_check_touched_bytes(const pto_touches_t *touches);

/* Note an access to a shared buffer. */
bool pto_check_access(pto_checker_t *checker, int64_t rank, const pto_touch_t *touch);

/* Move the bytes of checker->source, in order, to those of checker->target, which are as many; in a reduction
 * the source may be several times as long, and its pieces come one upon the other. */
bool pto_check_move_touched(pto_checker_t *checker, const pto_action_t *reader, const pto_action_t *writer);

/* Move a range to an equally long one. Put a vector into `result`, from 0 on, or reduce it into what is
 * there; put that result in a range. */
bool pto_check_move(pto_checker_t *checker, const pto_touch_t *source, const pto_touch_t *target);
bool pto_check_gather(pto_checker_t *checker, const pto_touch_t *vector, pto_spans_t *result, bool reduce);
bool pto_check_give(pto_checker_t *checker, const pto_spans_t *result, const pto_touch_t *vector);

/* Whether a range of `contents` (the plan's, or checker->inside) holds what is wanted. */
bool pto_check_expect(pto_checker_t *checker, const pto_spans_t *contents, int64_t rank, int buffer,
                      pto_span_t wanted);
/* Whether two ranges that hold the same sum have combined it in the same order. */
bool pto_check_same_order(pto_checker_t *checker, const pto_spans_t *contents, const pto_touch_t *one,
                          const pto_touch_t *other);

enum { PTO_CONTENTS_TEXT_MAX = 96 };

static inline pto_spans_t *pto_check_contents(const pto_checker_t *checker, int64_t rank, int buffer) {
    pto_spans_t *contents = checker->collective >= 0 ? checker->inside : checker->contents;
    return &contents[rank * checker->buffers + buffer];
}

#endif
