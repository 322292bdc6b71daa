/* Time-outs of runs, and descriptions of what a process is doing for their errors. With PTO_TIMEOUT_ABORT, a
 * thread watches the executor and ends the job. */
#ifndef PTO_WATCHDOG_H
#define PTO_WATCHDOG_H

#include "base/clock.h"
#include "executor.h"

/* Starts the thread, with PTO_TIMEOUT_ABORT: a run, create or destroy that takes too long ends the job. */
pto_status_t pto_watchdog_begin(pto_exec_t *exec, pto_error_t *err);
void pto_watchdog_end(pto_exec_t *exec);
/* Call it before tasks and kernels are freed: from then on, pto_exec_destroy itself is watched. */
void pto_watchdog_watch_end(pto_exec_t *exec);

/* Call it when a collective call other than a run begins and ends. An active run is watched instead. */
static inline void pto_watchdog_watch(pto_exec_t *exec, bool begins) {
    if (!exec->active)
        atomic_store(&exec->watchdog.began_ns, begins ? pto_now_ns() : 0);
}

/* Returns PTO_ERR_TIMEOUT, with PTO_TIMEOUT_RETURN, if the run has exceeded the time-out. */
pto_status_t pto_exec_deadline(const pto_exec_t *exec, pto_error_t *err);

/* Describes where a lane of this process is: "rank 3 (MPI rank 3; node 0, GPU 1, core 1) in stage 'round', k
 * 2". PTO_LANE_BUSY: the first lane that does not wait for another one. */
enum { PTO_LANE_BUSY = -1 };
void pto_exec_where(const pto_exec_t *exec, int lane, char *text, size_t text_size);

#endif
