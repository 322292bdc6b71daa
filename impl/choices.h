/* Either nodes while a plan runs: member 0 runs the node's policy and tells the others what they take. */
#ifndef PTO_CHOICES_H
#define PTO_CHOICES_H

#include "schedule_items.h"

/* Add the current either node, and this process's choices in it. */
pto_status_t pto_choices_add(pto_schedule_t *builder);
/* Returns the choice added last, for this process's lane of the node. */
const pto_exec_either_t *pto_choices_mine(const pto_schedule_t *builder);
int pto_choice_of(const pto_schedule_t *builder, int lane);

/* This process reaches an either node, a member's branch has ended (at member 0), the run has ended. */
void pto_choices_begin(pto_exec_t *exec, int index);
void pto_choice_completed(pto_exec_t *exec, int index);
void pto_choices_end(pto_exec_t *exec);

/* Whether a task of a branch is done in this run. A lane that could not go on calls pto_choice_waits. */
typedef enum { PTO_GATE_UNKNOWN, PTO_GATE_OPEN, PTO_GATE_CLOSED } pto_gate_t;
pto_gate_t pto_choice_gate(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task);
void pto_choice_waits(pto_exec_t *exec, const pto_task_t *task);

#endif
