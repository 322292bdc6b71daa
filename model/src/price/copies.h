/* What the copies of one stage ask of GPUs: of their copy engines and of the links between them. Both ways of
 * pricing count it first and charge each copy then. */
#ifndef PTO_PRICE_COPIES_H
#define PTO_PRICE_COPIES_H

#include "price/ledger.h"

/* One GPU's share of a stage, and its queue of shared copies over all stages. Copies between two GPUs are in
 * `in_bytes` of the one and `out_bytes` of the other, all other copies in `bytes` of their kind. */
typedef struct {
    int64_t bytes[PTO_COPY_COUNT];
    int64_t in_bytes;
    int64_t out_bytes;
    pto_copy_queue_t queue;
} pto_copies_t;

/* Begin a stage: forget all but the queue. */
void pto_copies_begin(pto_copies_t *engine);

/* Count the copies of one rank's step, for each of its peers where it has any. `engine` is of the GPU
 * numbered 0 in the layout and those that follow. */
void pto_copies_count(const pto_plan_t *plan, pto_action_t *action, pto_copies_t *engine);

/* Charge them to the rank, which stands at `mine`; `*queued` where one of them entered its GPU's queue, which
 * the rank leaves when its stage has ended. Errors: PTO_ERR_NOT_APPLICABLE where the machine has no cost,
 * PTO_ERR_MEMORY. */
pto_status_t pto_copies_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                               pto_copies_t *engine, pto_ledger_t *mine, pto_charge_t *charge, bool *queued,
                               pto_error_t *err);

/* Charge a reduction by its bytes, for each of its peers where it has any. */
void pto_reduction_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                          pto_charge_t *charge);

/* What the copies of a kernel's step come to: over links, and in the GPU's own memory. */
typedef struct {
    pto_remote_access_t access; /* but for link_bytes */
    int64_t remote_bytes;       /* of all other GPUs */
    int64_t local_bytes;
    int64_t peers;     /* other GPUs */
    int64_t other_gpu; /* the last of them */
} pto_kernel_copy_t;
pto_kernel_copy_t pto_kernel_copy(const pto_plan_t *plan, pto_action_t *action);

/* Charge them, after they were counted. Errors: PTO_ERR_NOT_APPLICABLE where the machine has no cost. */
pto_status_t pto_kernel_copy_charge(const pto_plan_t *plan, const pto_machine_t *machine,
                                    pto_action_t *action, const pto_copies_t *engine, pto_charge_t *charge,
                                    pto_error_t *err);

/* Charge the reduction of one action, as it stands. */
void pto_reduction_charge_one(const pto_plan_t *plan, const pto_machine_t *machine,
                              const pto_action_t *action, pto_charge_t *charge);

/* Whether a step's copies stand in their GPU's queue, so that they end one after another. */
bool pto_step_queues(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step);

/* The ranges of cores that every step and every split treats alike: the first core of each of `*class_count`,
 * and behind them the number of cores. The caller's to free(); NULL where memory is out. */
int64_t *pto_core_classes(const pto_plan_t *plan, const pto_machine_t *machine, int *class_count);

/* Bytes of a slice for a class, the largest that any member's may be; `peer` is the peer's index where the
 * set has one, and `distance` the shift's. */
int64_t pto_class_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, int64_t k, int64_t core,
                              int64_t peer, int64_t distance);

#endif
