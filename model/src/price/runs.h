/* Costs that depend on how runs begin and end, for prices and for simulations. */
#ifndef PTO_PRICE_RUNS_H
#define PTO_PRICE_RUNS_H

#include "plan/plan_internal.h"
#include "price/ledger.h"

/* Errors: PTO_ERR_NOT_APPLICABLE where the machine's costs are those of runs that the host does not wait for,
 * and a run of the plan needs it. */
pto_status_t pto_runs_check(const pto_plan_t *plan, const pto_machine_t *machine, pto_error_t *err);

/* Returns the cost of a run of the plan as a whole, by the bytes to each peer, if it is one kernel whose data
 * carry their flags; NULL: its steps are charged. */
const pto_cost_row_t *pto_runs_by_lines(const pto_plan_t *plan, const pto_machine_t *machine);
void pto_charge_run_by_lines(pto_charge_t *charge, const pto_machine_t *machine, const pto_plan_t *plan,
                             const pto_cost_row_t *row);

#endif
