/* Progress of long calls, and how to end them early. The library counts in any thread; one thread at a time
 * asks a question of which the progress is of interest, and another one may look. */
#ifndef PORTOLAN_PROGRESS_H
#define PORTOLAN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"

PTO_C_BEGIN

/* A long operation's state. `done` and `total` count work in a unit of the call's own: messages priced, parts
 * of a file. */
typedef struct {
    const char *what; /* "pricing", "simulating", ...; static */
    int64_t done;
    int64_t total;      /* 0: unknown */
    int64_t work_per_s; /* about what a second gets done, for a first estimate of the rest; 0: unknown */
} pto_progress_t;

/* False if no long call is under way. */
bool pto_progress_read(pto_progress_t *progress);

/* Call `ended` whenever a long call has ended, in its thread; NULL: nothing. */
void pto_progress_on_end(void (*ended)(void));

/* For the library: a long call begins, of `total` work (0: unknown), of which it does about `work_per_s` in a
 * second (0: unknown). Returns whether it is the outermost, whose progress is shown; only
 * then may the others be called. */
bool pto_progress_begin(const char *what, int64_t total, int64_t work_per_s);
void pto_progress_add(int64_t done);

/* The same for a call that makes many of one kind: those that begin with the same `what` count in its
 * progress, and their own totals are ignored. */
bool pto_progress_begin_parts(const char *what, int64_t total, int64_t work_per_s);
void pto_progress_end(void);

/* Ask long calls to end with what they have done so far; a signal handler may do so. Predictions and
 * simulations then have fewer points, scores fewer cells; what has no parts fails with PTO_ERR_INTERRUPTED,
 * as do calls that begin afterwards. */
void pto_stop(void);
bool pto_is_stopped(void);

PTO_C_END

#endif
