/* Building the entries of a schedule: what schedule.c and schedule_items.c share. */
#ifndef PTO_SCHEDULE_ITEMS_H
#define PTO_SCHEDULE_ITEMS_H

#include "executor.h"

typedef struct {
    char *at;
    int64_t bytes;
} pto_byte_range_t;

typedef struct {
    pto_vector_t list; /* pto_byte_range_t */
    char *base;
    int64_t apart_bytes; /* distance between the copies of a double-buffered buffer */
    bool lines;          /* each range is a whole block of the buffer */
    const pto_exec_t *exec;
    int buffer;
    int64_t holder;
    int64_t bytes; /* sum over the list */
    bool failed;
} pto_byte_ranges_t;

/* State while the schedule is built. */
typedef struct {
    pto_exec_t *exec;
    const pto_walk_t *walk;
    pto_error_t *err;
    pto_byte_ranges_t source;
    pto_byte_ranges_t target;
    int collective;         /* the collective whose call has been added; -1: none */
    pto_program_t *program; /* program of the current kernel; NULL: outside kernels */
    pto_task_t launch;      /* entry of the current kernel */
    int lanes;              /* the node whose lanes are being built; -1: none */
    int choice;             /* of the tasks that are being built: as in pto_task_t */
    int entered;            /* number of its lanes that have tasks */
    int fork;               /* lane 0's mark at its entry */
    int event_first;        /* a pipeline's: `event_depth` for each lane */
    int event_depth;
    pto_vector_t ends; /* int: a pipeline's marks at the ends of its chunks, in the last lane */
} pto_schedule_t;

pto_status_t pto_schedule_out_of_memory(pto_error_t *err);

/* The ranges of a slice in this process's buffer, or that of the slice's holder. */
pto_status_t pto_ranges_collect(const pto_exec_t *exec, const pto_slice_t *slice, const pto_action_t *action,
                                pto_byte_ranges_t *ranges, pto_error_t *err);

/* Append an entry to a lane, for the walk's stage. */
pto_status_t pto_schedule_append(pto_schedule_t *builder, int lane, pto_task_kind_t kind, int first,
                                 int count);
/* Append items in the walk's lane: extend the last entry if it has the same kind and stage, otherwise begin a
 * new one. */
pto_status_t pto_schedule_add(pto_schedule_t *builder, pto_task_kind_t kind, int first, int count);

/* Append a copy. */
pto_status_t pto_schedule_move(pto_schedule_t *builder, const pto_move_t *move, bool on_device,
                               int64_t divisor);

/* Append what one action of a step does: a copy or a reduction; a message's request (but not its start); a
 * signal or a wait. In a kernel, append it to the kernel's program. */
pto_status_t pto_schedule_local(pto_schedule_t *builder, const pto_action_t *action);
pto_status_t pto_schedule_message(pto_schedule_t *builder, const pto_action_t *action);
pto_status_t pto_schedule_signal(pto_schedule_t *builder, const pto_action_t *action);

#endif
