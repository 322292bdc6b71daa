/* Finds data races while a plan is checked: vector clocks hold the happens-before relation between ranks, and
 * a trace of each shared buffer holds the last accesses to its bytes. Internal to libportolan.
 *
 * A rank's own entry in its clock counts its releases (messages and signals that it sent). An access carries
 * the number of the next release, so another rank is ordered after the access once it has seen that release.
 *
 * Each lane of a rank has a clock of its own. In this file, `rank` is the number of such a clock: that of
 * lane l of rank r is r + l * ranks.
 *
 * Only ranks of a node, and in many plans only those of a GPU, share memory. Clocks by group have entries
 * only for the ranks that share memory, so they miss orders that lead through other ranks. They find all
 * races, but may also report one where there is none. */
#ifndef PTO_CHECK_CLOCKS_H
#define PTO_CHECK_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "check/gap.h"
#include "portolan/plan.h"

typedef struct {
    int64_t ranks;            /* without lanes */
    int64_t rows;             /* clocks: ranks times lanes */
    int64_t group_ranks;      /* of clocks by group: the ranks of a group; else all */
    int64_t width;            /* entries of a clock: one for each lane of a group's ranks */
    uint32_t *now;            /* rows x width */
    uint32_t *next;           /* their values once the stage's messages have been delivered */
    bool *joined;             /* ranks whose row of `next` differs */
    uint32_t *gathered;       /* groups x width: see pto_clocks_gather */
    const pto_stage_t *stage; /* the current one, for reports; NULL: the user's */
    struct pto_trace_read *read;
    int32_t read_count;
    size_t read_capacity;
    bool out_of_memory;
} pto_clocks_t;

/* Work done in this thread, for tests: entries of clocks that were joined. */
extern _Thread_local int64_t pto_clocks_visits;

/* Clocks by group, if a group has fewer than all ranks. If `needed` is false, nothing is shared, and every
 * call is a no-op. */
void pto_clocks_init(pto_clocks_t *clocks, int64_t ranks, int lanes, int64_t group_ranks, bool needed);
void pto_clocks_fini(pto_clocks_t *clocks);

/* Records that a rank sends messages or signals: its later accesses have another number. */
void pto_clocks_release(pto_clocks_t *clocks, int64_t rank);
/* Records a message: at the end of the stage (pto_clocks_settle) the receiver is ordered after everything
 * that the sender had released at the start of the stage. */
void pto_clocks_deliver(pto_clocks_t *clocks, int64_t from, int64_t to);
/* Records messages from several senders to several receivers: gather each sender, with `first` for the first
 * one, then deliver what was gathered to each receiver. */
void pto_clocks_gather(pto_clocks_t *clocks, int64_t from, bool first);
void pto_clocks_deliver_gathered(pto_clocks_t *clocks, int64_t to);
void pto_clocks_settle(pto_clocks_t *clocks);

/* Returns a copy of the rank's clock, for others to join later; free it with free(). NULL if clocks are not
 * needed. */
uint32_t *pto_clocks_snapshot(pto_clocks_t *clocks, int64_t rank);
/* Orders `to` after all that `from` had released when the snapshot of its clock was taken. */
void pto_clocks_join(pto_clocks_t *clocks, int64_t from, const uint32_t *snapshot, int64_t to);
/* Orders the past of one lane of a rank before the future of another. */
void pto_clocks_order(pto_clocks_t *clocks, int64_t from, int64_t to);

/* The accesses to a shared buffer's bytes: for each span of bytes, the last write and the reads since. */
typedef pto_gap_t pto_trace_t;

/* The earlier one of two accesses that race. */
typedef struct {
    int64_t rank;  /* the number of its clock */
    int64_t begin; /* of its bytes */
    int64_t end;
    bool wrote;
    const pto_stage_t *stage; /* NULL: the user's access */
} pto_conflict_t;

void pto_trace_init(pto_trace_t *trace, int64_t bytes, pto_clocks_t *clocks);
void pto_trace_fini(pto_trace_t *trace);

/* Records an access; false if it races with an earlier one, which is then `*conflict`. */
bool pto_trace_access(pto_trace_t *trace, pto_clocks_t *clocks, int64_t rank, int64_t begin, int64_t end,
                      bool write, pto_conflict_t *conflict);

#endif
