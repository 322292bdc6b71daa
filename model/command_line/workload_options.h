/* What commands on workloads (a training step's calls, portolan/workload.h) share: they bind the workload to
 * the machine and layout that the options or the workload give. */
#ifndef PTO_WORKLOAD_OPTIONS_H
#define PTO_WORKLOAD_OPTIONS_H

#include "command_line/options.h"
#include "portolan/workload.h"

/* Whether a file is a workload: a line begins with the key "workload:". False if it cannot be read. */
bool pto_is_workload(const char *path);

/* Open the machine of the options or the workload, change it by the options, and bind the workload to it. */
pto_status_t pto_options_bind_workload(pto_options_t *options, pto_workload_t *workload, pto_error_t *err);

/* Do this, and predict the step, which borrows from the workload and the machine. Errors: those of
 * pto_options_bind_workload and pto_step_predict. */
pto_status_t pto_step_open(pto_options_t *options, pto_workload_t *workload, pto_step_prediction_t *step,
                           pto_error_t *err);

#endif
