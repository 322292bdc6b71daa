/* What scenario.c, scenario_check.c and scenario_read.c share. */
#ifndef PORTOLAN_SCENARIO_CHECK_H
#define PORTOLAN_SCENARIO_CHECK_H

#include "portolan/scenario.h"

/* Fill `err` with a fault of a field, at its place in the file where it has one. */
pto_status_t pto_scenario_refuse(const pto_scenario_t *scenario, pto_scenario_field_t field,
                                 pto_status_t status, pto_error_t *err, const char *format, ...)
    PTO_PRINTF_LIKE(5, 6);

/* A matrix gives the size itself, its largest entry: there is nothing else to scale it by. */
int64_t pto_counts_largest(const pto_counts_t *counts);

/* A layout without open counts: that it holds together, that the sizes on it can be counted, and that a
 * matrix is as large as it has owners. */
pto_status_t pto_scenario_check_layout(const pto_scenario_t *scenario, const pto_layout_t *layout,
                                       pto_error_t *err);

#endif
