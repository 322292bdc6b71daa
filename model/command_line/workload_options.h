/* Workloads from the command line. */
#ifndef PTO_WORKLOAD_OPTIONS_H
#define PTO_WORKLOAD_OPTIONS_H

#include "command_line/options.h"
#include "portolan/workload.h"

/* Whether a file is a workload: a line begins with its key. A file that cannot be read is left to others. */
bool pto_is_workload(const char *path);

/* Open the machine that the options or the workload name, change it and the layout as the options say, and
 * bind the workload to it. */
pto_status_t pto_options_bind_workload(pto_options_t *options, pto_workload_t *workload, pto_error_t *err);

#endif
