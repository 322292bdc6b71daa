/* Executes single tasks of the schedule (executor.h). */
#ifndef PTO_TASKS_H
#define PTO_TASKS_H

#include "executor.h"

/* Executes a task; with `wait`, blocks until it is complete. Unless *finished, call it again. */
pto_status_t pto_lane_do(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task, bool wait,
                         bool *finished, pto_error_t *err);

/* Returns, for messages, what a process does in a task. */
const char *pto_task_activity(pto_task_kind_t kind);
/* Returns, for an error, what a task needs besides the device; NULL: nothing, so that it can be enqueued. */
const char *pto_task_needs(const pto_exec_t *exec, const pto_task_t *task);
/* Returns whether the other lane has passed the mark that a PTO_TASK_AFTER waits for; true for others. */
bool pto_task_may_follow(const pto_exec_t *exec, const pto_task_t *task);
/* Enqueues a task that needs only the device in any stream, once pto_task_may_follow. */
pto_status_t pto_task_enqueue(pto_exec_t *exec, const pto_task_t *task, void *stream, pto_error_t *err);

/* Drains a lane's stream before the CPU or MPI reads its results; without `wait`, polls it. */
pto_status_t pto_lane_settle(pto_exec_t *exec, pto_lane_t *lane, bool wait, bool *finished, pto_error_t *err);

#endif
