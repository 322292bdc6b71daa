/* What the copies of one stage ask of GPUs: of their copy engines and of the links between them. Both ways of
 * pricing count it first and charge each copy then. */
#ifndef PTO_PRICE_COPIES_H
#define PTO_PRICE_COPIES_H

#include "price_ledger.h"

/* One GPU's share. Copies between two GPUs are in `in_bytes` of the one and `out_bytes` of the other, all
 * other copies in `procs` and `bytes` of their kind. */
typedef struct {
    int64_t procs[PTO_COPY_COUNT];
    int64_t bytes[PTO_COPY_COUNT];
    int64_t in_bytes;
    int64_t out_bytes;
} pto_engine_t;

/* Count the copies of one rank's step, for each of its peers where it has any. `engine` is of the GPU
 * numbered 0 in the layout and those that follow. */
void pto_engine_count(const pto_plan_t *plan, pto_action_t *action, pto_engine_t *engine);

/* Charge them. Errors: those of pto_charge_copy. */
pto_status_t pto_engine_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                               const pto_engine_t *engine, pto_charge_t *charge, pto_error_t *err);

/* Charge a reduction by its bytes, for each of its peers where it has any: k inputs are k - 1 times two. */
void pto_reduction_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                          pto_charge_t *charge);

#endif
