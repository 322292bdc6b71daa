/* The copies and reductions of a stage: how many bytes they move by each GPU's copy engines and links, and
 * what each actor is charged. price.c first counts the copies of all actors, then charges each actor. */
#ifndef PTO_PRICE_COPIES_H
#define PTO_PRICE_COPIES_H

#include "price/ledger.h"
#include "price/table.h"

/* What a stage copies at one GPU, and the GPU's queues over all stages. Copies between two GPUs count in
 * `out_bytes` of the one and `in_bytes` of the other, all other copies in `bytes` of their kind. */
typedef struct {
    int64_t bytes[PTO_COPY_COUNT];
    int64_t in_bytes;
    int64_t out_bytes;
    pto_copy_queue_t queue[PTO_COPY_RESOURCE_COUNT];
} pto_copies_t;

/* Begins a stage: clears all but the queues. */
void pto_copies_begin(pto_copies_t *engine);

/* Adds the bytes of one rank's step to `engine`, [GPU of the layout]: pto_copies_count those of the copies
 * with all of its peers, pto_copy_count those of the copy with the action's current peer. Only the element
 * `only_gpu` is changed, unless that is PTO_COPIES_ALL_GPUS. `tables`: NULL if there are none. */
enum { PTO_COPIES_ALL_GPUS = -1 };
void pto_copies_count(const pto_plan_t *plan, const pto_machine_t *machine, pto_tables_t *tables,
                      pto_action_t *action, int64_t only_gpu, pto_copies_t *engine);
void pto_copy_count(const pto_plan_t *plan, const pto_machine_t *machine, pto_tables_t *tables,
                    const pto_action_t *action, int64_t only_gpu, pto_copies_t *engine);

/* The charge of copies, and the resources that they are charged to. */
typedef struct {
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    pto_tables_t *tables;          /* NULL: there are none */
    pto_copies_t *engine;          /* by GPU of the layout */
    const int64_t *represented_by; /* by GPU: the one whose engine represents it; NULL: each has its own */
    pto_ledger_t *own;             /* of the actor that copies */
    pto_charge_t *charge;
    pto_behind_t behind; /* of the next copy */
    bool streams;        /* copies follow each other in the process's stream */
    unsigned queued;     /* a bit for each resource whose queue they entered. The caller ends them by
                            pto_copies_leave at the end of the stage */
    pto_error_t *err;
} pto_copying_t;

/* Returns what the stage copies at a GPU. */
static inline const pto_copies_t *pto_copying_engine(const pto_copying_t *copying, int64_t gpu) {
    return &copying->engine[copying->represented_by ? copying->represented_by[gpu] : gpu];
}

/* Returns whether a step's copies are enqueued in a stream, so that the process does not wait for each. */
bool pto_step_streams(const pto_plan_t *plan, const pto_step_t *step);

/* Charges the copies of one rank's step with all of its peers. Errors: PTO_ERR_NOT_APPLICABLE if the machine
 * has no cost for them, PTO_ERR_MEMORY. */
pto_status_t pto_copies_charge(pto_copying_t *copying, pto_action_t *action);

/* Checks that the machine has costs for the copies of one rank's step outside kernels, unless they have no
 * bytes. Errors: PTO_ERR_NOT_APPLICABLE. */
pto_status_t pto_copies_check(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                              pto_error_t *err);

/* Charges one copy of `bytes` by the engine of a GPU. Errors: as above. */
pto_status_t pto_copy_charge(pto_copying_t *copying, const pto_action_t *action, pto_reach_t reach,
                             int64_t gpu, int64_t bytes);

/* Returns whether source and target of a copy are on one socket, by the GPUs of their holders. */
pto_reach_t pto_copy_reach(const pto_plan_t *plan, const pto_action_t *action);

/* Ends an actor's copies in the queues of `queued`, at the time of its ledger. False: out of memory. */
bool pto_copies_leave(pto_copies_t *engine, unsigned queued, int64_t actor, const pto_ledger_t *own);

void pto_copies_fini(pto_copies_t *engine);

/* Charges the reductions of one rank's step with all of its peers. */
void pto_reduction_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                          pto_charge_t *charge);

/* Charges one reduction of inputs that have `source_bytes` in total, each as large as the target. */
void pto_step_charge_reduce(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step,
                            int64_t target_bytes, int64_t source_bytes, pto_charge_t *charge);

/* The totals of the copies of a kernel's step: over links, and in the GPU's own memory. */
typedef struct {
    pto_remote_access_t access; /* without link_bytes */
    int64_t remote_bytes;       /* of all other GPUs */
    int64_t local_bytes;
    int64_t peers;     /* other GPUs */
    int64_t other_gpu; /* the last of them */
} pto_kernel_copy_t;
pto_kernel_copy_t pto_kernel_copy(const pto_plan_t *plan, pto_action_t *action);

/* Charges a kernel's copies, once all are counted. Errors: PTO_ERR_NOT_APPLICABLE if there is no cost. */
pto_status_t pto_kernel_copy_charge(const pto_copying_t *copying, pto_action_t *action);

/* Returns whether a step's copies are queued on their GPU, so that they end one after another. */
bool pto_step_queues(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step);

#endif
