/* The builder of a schedule (executor.h). schedule.c walks the plan; schedule_items.c appends the items. */
#ifndef PTO_SCHEDULE_ITEMS_H
#define PTO_SCHEDULE_ITEMS_H

#include "executor.h"

typedef struct {
    char *at;
    int64_t bytes;
} pto_byte_range_t;

/* The ranges of bytes that a slice covers in one process's buffer. */
typedef struct {
    pto_vector_t list;         /* pto_byte_range_t */
    char *base;                /* of the buffer */
    int64_t copy_stride_bytes; /* distance between the copies of a double-buffered buffer */
    bool lines;                /* in line format (kernel.h): each range is a whole block of the buffer */
    const pto_exec_t *exec;
    int buffer;
    int64_t holder; /* logical rank */
    int64_t bytes;  /* sum over the list */
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
    int choice;             /* goes into pto_task_t.choice of each appended task; 0: unconditional */
    int lanes;              /* index of the plan's node whose lanes are being built; -1: none */
    int lanes_begun;        /* 1 + the last of its lanes that has tasks */
    int fork_mark; /* index of the task in lane 0 that other lanes wait for before their first task */
    /* Of a pipeline: chunk c in lane l uses event event_first + l * event_depth + c % event_depth. */
    int event_first;
    int event_depth;
    pto_vector_t
        chunk_ends; /* int, by chunk: index of the task in the last lane that marks the chunk's end */
} pto_schedule_t;

pto_status_t pto_schedule_out_of_memory(pto_error_t *err);

/* Finds the ranges of a slice in the buffer of its holder: this process, or another one of the node. */
pto_status_t pto_ranges_collect(const pto_exec_t *exec, const pto_slice_t *slice, const pto_action_t *action,
                                pto_byte_ranges_t *ranges, pto_error_t *err);

/* Appends a task to a lane, for the walk's stage. */
pto_status_t pto_schedule_append(pto_schedule_t *builder, int lane, pto_task_kind_t kind, int first,
                                 int count);
/* Appends items in the walk's lane: to the last task if it differs in nothing but its items, which these
 * continue (never for NCCL's and library calls), or to a new one. */
pto_status_t pto_schedule_add(pto_schedule_t *builder, pto_task_kind_t kind, int first, int count);

/* Appends a copy. `divisor`: divides the values, too; 0: none. */
pto_status_t pto_schedule_move(pto_schedule_t *builder, const pto_move_t *move, bool on_device,
                               int64_t divisor);

/* Appends a copy or a reduction; in a kernel, to the kernel's program. */
pto_status_t pto_schedule_local(pto_schedule_t *builder, const pto_action_t *action);
/* Appends the request of a message. */
pto_status_t pto_schedule_message(pto_schedule_t *builder, const pto_action_t *action);
/* Appends a signal or a wait; in a kernel, to the kernel's program. */
pto_status_t pto_schedule_signal(pto_schedule_t *builder, const pto_action_t *action);

#endif
