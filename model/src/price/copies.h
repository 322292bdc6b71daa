/* The demand of one stage's copies on GPUs: on their copy engines and on the links between them. Pricing
 * counts the copies of all actors first, then charges each. */
#ifndef PTO_PRICE_COPIES_H
#define PTO_PRICE_COPIES_H

#include "price/ledger.h"
#include "price/table.h"

/* One GPU's share of a stage, and its queues of shared copies over all stages. Copies between two GPUs are in
 * `in_bytes` of the one and `out_bytes` of the other, all other copies in `bytes` of their kind. */
typedef struct {
    int64_t bytes[PTO_COPY_COUNT];
    int64_t in_bytes;
    int64_t out_bytes;
    pto_copy_queue_t queue[PTO_COPY_RESOURCE_COUNT];
} pto_copies_t;

/* Begin a stage: forget all but the queues. */
void pto_copies_begin(pto_copies_t *engine);

/* Count the copies of one rank's step, for each of its peers where it has any; the copy with the action's
 * peer. `engine` is of the GPU numbered 0 in the layout and those that follow, `only_gpu` the one whose
 * engine counts, or PTO_COPIES_OF_ALL. `tables`: NULL where there are none. */
enum { PTO_COPIES_OF_ALL = -1 };
void pto_copies_count(const pto_plan_t *plan, const pto_machine_t *machine, pto_tables_t *tables,
                      pto_action_t *action, int64_t only_gpu, pto_copies_t *engine);
void pto_copy_count(const pto_plan_t *plan, const pto_machine_t *machine, pto_tables_t *tables,
                    const pto_action_t *action, int64_t only_gpu, pto_copies_t *engine);

/* The charge of copies, and the resources that they are charged to. */
typedef struct {
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    pto_tables_t *tables; /* NULL: there are none */
    pto_copies_t *engine; /* of the GPU numbered 0 in the layout and those that follow */
    const int64_t *like;  /* per GPU: the one whose engine stands for its own; NULL: its own */
    pto_ledger_t *mine;   /* of the actor that copies */
    pto_charge_t *charge;
    pto_behind_t behind; /* of the next copy */
    bool streams;        /* whether copies follow each other in the process's stream */
    unsigned queued; /* resources whose queues its copies entered, a bit each: left at the end of the stage */
    pto_error_t *err;
} pto_copying_t;

/* The demand of a stage on a GPU. */
static inline const pto_copies_t *pto_copying_engine(const pto_copying_t *to, int64_t gpu) {
    return &to->engine[to->like ? to->like[gpu] : gpu];
}

/* Returns whether a step is copies that the process puts into its stream, so that such a step right after it
 * finds them there. */
bool pto_step_streams(const pto_plan_t *plan, const pto_step_t *step);

/* Charge the copies of one rank's step, for each of its peers where it has any. Errors:
 * PTO_ERR_NOT_APPLICABLE where the machine has no cost, PTO_ERR_MEMORY. */
pto_status_t pto_copies_charge(pto_copying_t *to, pto_action_t *action);

/* Check that the machine has costs for the copies of one rank's step outside kernels that have bytes. Errors:
 * PTO_ERR_NOT_APPLICABLE. */
pto_status_t pto_copies_check(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                              pto_error_t *err);

/* Charge one copy of `bytes` by the engine of a GPU. Errors: as above. */
pto_status_t pto_copy_charge(pto_copying_t *to, const pto_action_t *action, pto_reach_t reach, int64_t gpu,
                             int64_t bytes);

/* Returns whether source and target of a copy are on one socket. Memory is on the socket of the GPU of its
 * holder. */
pto_reach_t pto_copy_reach(const pto_plan_t *plan, const pto_action_t *action);

/* The copies of `who` in the queues of the resources `queued` have ended at the time of `mine`. Returns false
 * when out of memory. */
bool pto_copies_leave(pto_copies_t *engine, unsigned queued, int64_t who, const pto_ledger_t *mine);

void pto_copies_fini(pto_copies_t *engine);

/* Charge a reduction by its bytes, for each of its peers where it has any. */
void pto_reduction_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                          pto_charge_t *charge);

/* Charge one reduction: `source_bytes` of inputs, each as large as the target. */
void pto_step_charge_reduce(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step,
                            int64_t target_bytes, int64_t source_bytes, pto_charge_t *charge);

/* The totals of the copies of a kernel's step: over links, and in the GPU's own memory. */
typedef struct {
    pto_remote_access_t access; /* but for link_bytes */
    int64_t remote_bytes;       /* of all other GPUs */
    int64_t local_bytes;
    int64_t peers;     /* other GPUs */
    int64_t other_gpu; /* the last of them */
} pto_kernel_copy_t;
pto_kernel_copy_t pto_kernel_copy(const pto_plan_t *plan, pto_action_t *action);

/* Charge them, after they were counted. Errors: PTO_ERR_NOT_APPLICABLE where the machine has no cost. */
pto_status_t pto_kernel_copy_charge(const pto_copying_t *to, pto_action_t *action);

/* Returns whether a step's copies are queued on their GPU, so that they end one after another. */
bool pto_step_queues(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step);

#endif
