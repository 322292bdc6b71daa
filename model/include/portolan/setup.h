/* setup: what a plan needs once, before its first run, in seconds, from the machine file's `setup`
 * (docs/model.md, 'Setup').
 *
 * A process allocates its temporaries (one allocation of GPU memory, one of pinned host memory), opens every
 * allocation of other processes that its slices name, once each, and where the plan has flags its node makes
 * a segment of shared memory for them. All processes meet between these, so the busiest of each counts:
 *
 *     S = max over processes of (allocations) + max over processes of (openings) + segment.
 *
 * Buffers that only the library's own collective touches are the library's and cost nothing here.
 * What every executor does whatever its plan (communicators, agreements) is not in it; it is the same for all
 * strategies. The question: I. Faraji, A. Afsahi, "GPU-Aware Intranode MPI_Allreduce" (EuroMPI/ASIA 2014),
 * Figure 3: after how many calls has a shared buffer paid back what opening it took? */
#ifndef PORTOLAN_SETUP_H
#define PORTOLAN_SETUP_H

#include "portolan/api.h"
#include "portolan/price.h"

PTO_API_BEGIN

/* Two allocations and openings of up to four ranges, each with alpha and beta; the segment. */
enum { PTO_SETUP_TERM_MAX = 2 * (2 + PTO_COST_RANGE_MAX) + 1 };

/* The terms' keys are the machine file's, with `stage` saying what is done; those that the file lacks have
 * no parameter and the key of the whole cost: setup_open. */
typedef struct {
    bool known;     /* false: the machine file lacks a cost that the plan needs */
    double seconds; /* where known */
    int term_count; /* 0: nothing to set up */
    pto_term_t term[PTO_SETUP_TERM_MAX];
} pto_setup_t;

/* The terms point into the machine. Where byte counts are equal, the first node stands for all.
 * Errors: PTO_ERR_MEMORY. A cost that the machine lacks is no error. */
pto_status_t pto_setup(const pto_plan_t *plan, const pto_machine_t *machine, pto_setup_t *setup,
                       pto_error_t *err);

PTO_API_END

#endif
