/* Workloads from the command line. */
#ifndef PTO_WORKLOAD_OPTIONS_H
#define PTO_WORKLOAD_OPTIONS_H

#include "options.h"
#include "portolan/workload.h"

/* Changes the machine and the layout of options. */
typedef pto_status_t (*pto_more_changes_t)(const void *context, pto_options_t *options, pto_error_t *err);

/* Open the machine that the options or the workload name, change it and the layout as the options say and
 * then as `more` does (NULL: nothing more), and bind the workload to it. */
pto_status_t pto_options_bind_workload(pto_options_t *options, pto_workload_t *workload,
                                       pto_more_changes_t more, const void *context, pto_error_t *err);

#endif
