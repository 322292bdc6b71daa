/* Declarations shared by the files of a step. */
#ifndef PTO_STEP_INTERNAL_H
#define PTO_STEP_INTERNAL_H

#include "portolan/workload.h"

/* The calls of an entry, from `from` to before `to`. */
typedef struct {
    int from, to;
} pto_step_calls_t;
pto_step_calls_t pto_step_calls(const pto_workload_t *workload, int entry);

/* Returns the seconds of an entry's computations. */
double pto_step_compute_s(const pto_workload_t *workload, int entry);

/* Report the fault of a call at its place in the workload's file, unless it has one. Returns its status. */
pto_status_t pto_step_call_error(const pto_workload_t *workload, const pto_workload_call_t *call,
                                 const pto_error_t *fault, pto_error_t *err);

/* After calls have got another strategy (`best`): the totals of the mix. */
void pto_step_add_up_mix(pto_step_prediction_t *step);

/* The messages of one entry's simulation by the mix that is chosen, and its seconds. Errors: those of
 * pto_step_simulate. */
pto_status_t pto_step_entry_messages(const pto_step_prediction_t *step, const pto_machine_t *machine,
                                     int number, int64_t *messages, pto_error_t *err);
pto_status_t pto_step_simulate_entry(const pto_step_prediction_t *step, const pto_machine_t *machine,
                                     int number, const pto_simulate_options_t *options, double *seconds,
                                     pto_error_t *err);

#endif
