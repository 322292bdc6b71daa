/* Shared by step.c, step_simulate.c and step_settle.c, which predict a step of an application: a workload of
 * entries, each of which has calls that run at once. */
#ifndef PTO_STEP_INTERNAL_H
#define PTO_STEP_INTERNAL_H

#include "portolan/workload.h"

/* The calls [from, to) of an entry. */
typedef struct {
    int from, to;
} pto_step_calls_t;
pto_step_calls_t pto_step_calls(const pto_workload_t *workload, int entry);

/* Returns the seconds of an entry's computations. */
double pto_step_compute_s(const pto_workload_t *workload, int entry);

/* Computes the totals of the mix again after calls have got another strategy (`best`). */
void pto_step_add_up_mix(pto_step_prediction_t *step);

/* Simulates one entry by the chosen mix, unless it has more than `max_messages`: then `*seconds` is INFINITY.
 * Errors: as of pto_step_simulate. */
pto_status_t pto_step_simulate_entry(const pto_step_prediction_t *step, const pto_machine_t *machine,
                                     int number, int64_t limit, int64_t max_messages, double *seconds,
                                     pto_error_t *err);

#endif
