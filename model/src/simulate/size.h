/* The limits on the work and the memory of a simulation. */
#ifndef PTO_SIMULATE_SIZE_H
#define PTO_SIMULATE_SIZE_H

#include "portolan/simulate.h"

/* Checks that simulating the plan is within the options' limit. `*used`: what other plans take of the limit;
 * this plan's work is added to it. `used` may be NULL. Errors: PTO_ERR_TOO_LARGE. */
pto_status_t pto_simulate_check_size(const pto_plan_t *plan, const pto_machine_t *machine,
                                     const pto_simulate_options_t *options, int64_t *used, pto_error_t *err);

/* Returns the number of nodes that one simulated node represents; 1: all are simulated. */
int64_t pto_simulate_nodes_of_one(const pto_plan_t *plan, const pto_machine_t *machine,
                                  const pto_simulate_options_t *options);

/* Returns the maximum number of processes that are simulated at once, for their memory. */
int64_t pto_simulate_max_procs(const pto_simulate_options_t *options);

#endif
