/* Doing one task of a lane. */
#ifndef PTO_TASKS_H
#define PTO_TASKS_H

#include "executor.h"

/* Do a task, blocking if `wait`. Unless *finished, it must be done again. */
pto_status_t pto_lane_do(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task, bool wait,
                         bool *finished, pto_error_t *err);

/* Name the need of a task beyond the device, in words for an error; NULL: none, so that it can be
 * enqueued. */
const char *pto_task_needs(const pto_exec_t *exec, const pto_task_t *task);
/* Returns whether the other lane has passed the mark that the task waits for; true of tasks that wait for
 * none. */
bool pto_task_may_follow(const pto_exec_t *exec, const pto_task_t *task);
/* Enqueue such a task in any stream, once it may follow. */
pto_status_t pto_task_enqueue(pto_exec_t *exec, const pto_task_t *task, void *stream, pto_error_t *err);

/* Drain a lane's stream before the CPU or MPI reads its results. */
pto_status_t pto_lane_settle(pto_exec_t *exec, pto_lane_t *lane, bool wait, bool *finished, pto_error_t *err);

#endif
