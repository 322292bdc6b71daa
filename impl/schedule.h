/* Resolves a plan into the flat schedule of this process (executor.h), once, when the executor is created. */
#ifndef PTO_SCHEDULE_H
#define PTO_SCHEDULE_H

#include "executor.h"

/* Not collective. The processes must agree on errors. */
pto_status_t pto_schedule_build(pto_exec_t *exec, pto_error_t *err);
void pto_schedule_free(pto_exec_t *exec);

#endif
