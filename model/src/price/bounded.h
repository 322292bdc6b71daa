/* Prices of which only those below a bound matter, as where plans compete, and plans that have none. */
#ifndef PTO_PRICE_BOUNDED_H
#define PTO_PRICE_BOUNDED_H

#include "portolan/price.h"

/* pto_price of a plan that passes pto_price_check_size. It may end as soon as it exceeds `most_s`:
 * price->seconds is INFINITY then, and what would go wrong later in the plan is not noticed. `explanation`
 * may be NULL. */
pto_status_t pto_price_bounded(const pto_plan_t *plan, const pto_machine_t *machine, double most_s,
                               pto_price_t *price, pto_explanation_t *explanation, pto_error_t *err);

/* Whether a plan with a table of byte counts is refused before it is walked, because the machine lacks the
 * cost of a copy. Errors: PTO_ERR_NOT_APPLICABLE; PTO_ERR_MEMORY. */
pto_status_t pto_table_check_costs(const pto_plan_t *plan, const pto_machine_t *machine, pto_error_t *err);

#endif
