/* The happens-before relation while a plan is checked: vector clocks over ranks (with lanes: over the lanes
 * of all ranks, which are ranks here: lane l of rank r is r + l * ranks), and traces of the last accesses to
 * the bytes of a shared buffer. Internal to libportolan.
 *
 * Memory is shared within a node, and in many plans within a GPU only. Clocks by group therefore know the
 * ranks that share their rank's memory alone, and orders that lead through others are ignored: accesses that
 * are ordered for them are ordered, but not the other way round.
 *
 * A rank's own entry counts its releases (what it sent or signalled). An access carries the number of the
 * release that will follow it, so another rank is ordered after the access once it has seen that release. */
#ifndef PTO_CHECK_CLOCKS_H
#define PTO_CHECK_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/plan.h"

typedef struct {
    int64_t ranks;            /* without lanes */
    int64_t rows;             /* with them */
    int64_t group_ranks;      /* of clocks by group: the ranks of a group; else all */
    int64_t width;            /* entries of a row: of the lanes of a group's ranks */
    uint32_t *now;            /* rows x width */
    uint32_t *next;           /* their values once the stage's messages have been delivered */
    bool *joined;             /* ranks whose row of `next` differs */
    uint32_t *gathered;       /* groups x width */
    const pto_stage_t *stage; /* the current one, for reports; NULL: the user's */
    struct pto_trace_read *read;
    int32_t read_count;
    size_t read_capacity;
    bool out_of_memory;
} pto_clocks_t;

/* Work: entries of clocks that were joined in this thread. Tests compare it with the order that it may grow
 * by. */
extern _Thread_local int64_t pto_clocks_visits;

/* Clocks by group, if a group has fewer than all ranks. If `needed` is false, nothing is shared, and every
 * call is a no-op. */
void pto_clocks_init(pto_clocks_t *clocks, int64_t ranks, int lanes, int64_t group_ranks, bool needed);
void pto_clocks_fini(pto_clocks_t *clocks);

void pto_clocks_release(pto_clocks_t *clocks, int64_t rank);

/* Record a message: at the end of the stage (pto_clocks_settle) the receiver is ordered after everything that
 * the sender had released at its start. */
void pto_clocks_deliver(pto_clocks_t *clocks, int64_t from, int64_t to);
/* Records messages from several senders to several receivers: gather each sender, with `first` for the first
 * one, then deliver what was gathered to each receiver. */
void pto_clocks_gather(pto_clocks_t *clocks, int64_t from, bool first);
void pto_clocks_deliver_gathered(pto_clocks_t *clocks, int64_t to);
void pto_clocks_settle(pto_clocks_t *clocks);

/* Returns a copy of the rank's clock, for others to join later; free it with free(). NULL if clocks are not
 * needed. */
uint32_t *pto_clocks_snapshot(pto_clocks_t *clocks, int64_t rank);
void pto_clocks_join(pto_clocks_t *clocks, int64_t from, const uint32_t *snapshot, int64_t to);
/* Order the past of one lane of a rank before the future of another. */
void pto_clocks_order(pto_clocks_t *clocks, int64_t from, int64_t to);

/* The accesses to a shared buffer's bytes: the last write, and the reads since. Unused room is a gap where a
 * span was last cut, as in contents (memory.h). */
typedef struct {
    struct pto_trace_span *span;
    int count;
    int capacity;
    int gap_at;
    int last_at; /* the span that was found last: the next access is mostly close by */
} pto_trace_t;

typedef struct {
    int64_t rank;
    int64_t begin;
    int64_t end;
    bool wrote;
    const pto_stage_t *stage;
} pto_conflict_t;

void pto_trace_init(pto_trace_t *trace, int64_t bytes, pto_clocks_t *clocks);
void pto_trace_fini(pto_trace_t *trace);

/* Record an access; false if it conflicts with an earlier access that it is not ordered after. */
bool pto_trace_access(pto_trace_t *trace, pto_clocks_t *clocks, int64_t rank, int64_t begin, int64_t end,
                      bool write, pto_conflict_t *conflict);

#endif
