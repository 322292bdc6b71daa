/* Progress of long library calls, and how to stop them early. One thread at a time makes a call whose
 * progress is reported; library threads count the work done, and any other thread may read the progress. */
#ifndef PORTOLAN_PROGRESS_H
#define PORTOLAN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"

PTO_C_BEGIN

/* A long operation's state. `done` and `total` count in a unit of its own, such as messages. */
typedef struct {
    const char *what; /* "pricing", "simulating", ...; static */
    int64_t done;
    int64_t total;      /* 0: unknown */
    int64_t work_per_s; /* approximate rate, for a first estimate of the remaining time; 0: unknown */
} pto_progress_t;

/* False if no long call is in progress. */
bool pto_progress_read(pto_progress_t *progress);

/* Call `ended` at the end of every long call, in its thread; NULL: nothing. */
void pto_progress_on_end(void (*ended)(void));

/* For the library: a long call begins, of `total` work (0: unknown) at about `work_per_s` (0: unknown).
 * Returns whether it is the outermost one, which is reported; only then may it call _add and _end. */
bool pto_progress_begin(const char *what, int64_t total, int64_t work_per_s);
void pto_progress_add(int64_t done);
void pto_progress_end(void);

/* pto_progress_begin for a call that consists of many calls of one kind: inner calls that begin with the same
 * `what` count towards its progress, and their own totals are ignored. */
bool pto_progress_begin_parts(const char *what, int64_t total, int64_t work_per_s);

/* Ask long calls to end early; a signal handler may do so. Predictions and simulations then have fewer
 * points, scores fewer cells; other calls fail with PTO_ERR_INTERRUPTED, as do later ones. */
void pto_stop(void);
bool pto_is_stopped(void);

PTO_C_END

#endif
