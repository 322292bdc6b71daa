/* Shared by step.c, step_simulate.c and step_settle.c, which predict a step of an application: a workload of
 * entries, each of which has calls that run at the same time. */
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

/* Computes the totals of the mix again after the strategy (`best`) of calls has changed. */
void pto_step_add_up_mix(pto_step_prediction_t *step);

/* Simulates entry `number` by the chosen mix. If it has more than `max_messages`, it is not simulated, and
 * `*seconds` is INFINITY. Errors: those of pto_step_simulate. */
pto_status_t pto_step_simulate_entry(const pto_step_prediction_t *step, const pto_machine_t *machine,
                                     int number, int64_t limit, int64_t max_messages, double *seconds,
                                     pto_error_t *err);

#endif
