/* From a plan to the flat schedule of this process. */
#ifndef PTO_SCHEDULE_H
#define PTO_SCHEDULE_H

#include "executor.h"

/* Resolve this process's part of the plan into the schedule. Local. */
pto_status_t pto_schedule_build(pto_exec_t *exec, pto_error_t *err);
void pto_schedule_free(pto_exec_t *exec);

#endif
