/* Either nodes of a plan (docs/decisions/0015) at run time. In every run, each member of the node's group
 * takes one of two branches. Member 0 runs the node's policy (portolan/policy.h) and tells the others. */
#ifndef PTO_CHOICES_H
#define PTO_CHOICES_H

#include "schedule_items.h"

/* Adds the current either node, and this process's choices in it. */
pto_status_t pto_choices_add(pto_schedule_t *builder);
/* Returns the either node that was added last. */
const pto_exec_either_t *pto_choices_last(const pto_schedule_t *builder);
/* Returns the index in `choices` for a lane of that node. */
int pto_choice_of(const pto_schedule_t *builder, int lane);

/* The process reaches either node `index`. */
void pto_choices_begin(pto_exec_t *exec, int index);
/* Called at member 0: the member of choice `index` has ended its branch. */
void pto_choice_completed(pto_exec_t *exec, int index);
/* The run ends. */
void pto_choices_end(pto_exec_t *exec);

/* Whether a task of a branch is executed in this run. */
typedef enum {
    PTO_GATE_UNKNOWN, /* not chosen yet: ask again */
    PTO_GATE_OPEN,    /* execute it */
    PTO_GATE_CLOSED   /* skip it */
} pto_gate_t;
pto_gate_t pto_choice_gate(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task);
/* A task of a branch has not finished: its branch is not known yet, or the task itself waits. */
void pto_choice_waits(pto_exec_t *exec, const pto_task_t *task);

#endif
