/* Time-outs of runs. */
#ifndef PTO_WATCHDOG_H
#define PTO_WATCHDOG_H

#include "base/clock.h"
#include "executor.h"

/* Begins to watch the executor, with PTO_TIMEOUT_ABORT: a run, create or destroy that exceeds the time-out
 * ends the job.
 */
pto_status_t pto_watchdog_begin(pto_exec_t *exec, pto_error_t *err);
void pto_watchdog_end(pto_exec_t *exec);
/* Watches the end of the executor, which frees its tasks and kernels. */
void pto_watchdog_watch_end(pto_exec_t *exec);

/* Tells that a collective call other than a run begins or ends. It is not watched during an active run, which
 * is. */
static inline void pto_watchdog_watch(pto_exec_t *exec, bool begins) {
    if (!exec->under_way)
        atomic_store(&exec->watchdog.began_ns, begins ? pto_now_ns() : 0);
}

/* Returns PTO_ERR_TIMEOUT, with PTO_TIMEOUT_RETURN, if the run has exceeded the time-out. */
pto_status_t pto_exec_deadline(const pto_exec_t *exec, pto_error_t *err);

/* Describes where a lane of this process is, as "rank 3 (MPI rank 3; node 0, GPU 1, core 1) in stage 'round',
 * k 2"; with PTO_LANE_BUSY the first lane that does not wait for another one. */
enum { PTO_LANE_BUSY = -1 };
void pto_exec_where(const pto_exec_t *exec, int lane, char *text, size_t text_size);

#endif
