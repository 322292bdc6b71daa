/* What NCCL's own collective costs: a row of the machine file, whatever stages stand for it. */
#ifndef PTO_PRICE_NCCL_H
#define PTO_PRICE_NCCL_H

#include "price/ledger.h"

/* What its stage is called where a price is explained or a simulation traced. */
extern const char pto_nccl_stage[];

/* The collective of a node that NCCL runs. Errors: PTO_ERR_NOT_APPLICABLE where the machine has no row for
 * these numbers of GPUs and nodes, with what to measure. */
pto_status_t pto_charge_nccl(pto_charge_t *charge, const pto_machine_t *machine, const pto_plan_t *plan,
                             const pto_node_t *node, pto_error_t *err);

/* Whether processes of this core take part in it. */
bool pto_nccl_takes_core(const pto_node_t *node, int64_t core);

#endif
