/* Costs that depend on how runs of a plan follow each other: whether the host waits for each run, and kernels
 * by lines. A kernel by lines stores data in lines that carry their own flags (portolan/lines.h), as in
 * NCCL's LL protocol. It is charged as a whole, also in simulations. */
#ifndef PTO_PRICE_RUNS_H
#define PTO_PRICE_RUNS_H

#include "plan/plan_internal.h"
#include "price/ledger.h"

/* Errors: PTO_ERR_NOT_APPLICABLE if the machine's costs were measured without the host waiting for each run,
 * and a run of the plan needs the host. */
pto_status_t pto_runs_check(const pto_plan_t *plan, const pto_machine_t *machine, pto_error_t *err);

/* Returns the cost of a run of the plan as a whole, by the bytes to each peer, if it is a single kernel by
 * lines; NULL: its steps are charged. */
const pto_cost_row_t *pto_runs_by_lines(const pto_plan_t *plan, const pto_machine_t *machine);
void pto_charge_run_by_lines(pto_charge_t *charge, const pto_machine_t *machine, const pto_plan_t *plan,
                             const pto_cost_row_t *row);

#endif
