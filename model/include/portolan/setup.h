/* setup: the one-time cost of a plan before its first run, in seconds, from the machine file's `setup`
 * (docs/model.md, 'Setup').
 *
 * A process allocates its temporaries (one allocation of GPU memory, one of pinned host memory) and opens
 * every allocation of other processes that its slices name, once each. If the plan has flags, the node
 * creates a segment of shared memory for them. All processes synchronise between these phases, so the busiest
 * process counts in each:
 *
 *     S = max over processes of (allocations) + max over processes of (openings) + segment.
 *
 * Buffers that only the library's own collective touches belong to the library and cost nothing here. What
 * every executor does for any plan (communicators, agreements) is not included; it is the same for all
 * strategies. The question: I. Faraji, A. Afsahi, "GPU-Aware Intranode MPI_Allreduce" (EuroMPI/ASIA 2014),
 * Figure 3: after how many calls does a shared buffer pay back the cost of opening it? */
#ifndef PORTOLAN_SETUP_H
#define PORTOLAN_SETUP_H

#include "portolan/api.h"
#include "portolan/price.h"

PTO_API_BEGIN

/* Two allocations and openings of up to four ranges, each with alpha and beta; and the segment. */
enum { PTO_SETUP_TERM_MAX = 2 * (2 + PTO_COST_RANGE_MAX) + 1 };

/* The terms' keys are those of the machine file; `stage` names the operation. A cost that the file lacks has
 * no parameter, and the key of the whole cost, such as setup_open. */
typedef struct {
    bool known;     /* false: the machine file lacks a cost that the plan needs */
    double seconds; /* valid if known */
    int term_count; /* 0: nothing to set up */
    pto_term_t term[PTO_SETUP_TERM_MAX];
} pto_setup_t;

/* Compute the setup of a plan. The terms point into the machine. If byte counts are equal, the first node
 * represents all.
 * Errors: PTO_ERR_MEMORY. A cost that the machine lacks is not an error. */
pto_status_t pto_setup(const pto_plan_t *plan, const pto_machine_t *machine, pto_setup_t *setup,
                       pto_error_t *err);

PTO_API_END

#endif
