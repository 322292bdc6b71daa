/* What the strategies of a global address space share (Oden, Klenk and Fröning, "Energy-Efficient Collective
 * Reduce and Allreduce Operations on Distributed GPUs", CCGrid 2014): one kernel on each GPU of a node loads
 * and stores the others' memory and tells them by flags there, with no process in its path. */
#ifndef PTO_GAS_H
#define PTO_GAS_H

#include "inside.h"

/* Those who take part: one process of each GPU. */
pto_exchange_t pto_gas_members(const pto_request_t *request, const pto_user_t *user);
/* Errors: PTO_ERR_NOT_APPLICABLE: several nodes, several processes that hold data on a GPU, one GPU. */
pto_status_t pto_gas_applicable(const pto_request_t *request, pto_error_t *err);

/* A temporary for a vector or block of every member, like `like`, at the members whose index is a multiple of
 * `stride`; or for the holder's share of each (PTO_BLOCKS_SHARE). */
typedef struct {
    int64_t stride;
    pto_blocks_t blocks;
    bool alternates;
} pto_gas_gathered_t;
int pto_gas_gathered(pto_builder_t *builder, const pto_exchange_t *who, int like, pto_gas_gathered_t how);

/* A flag that everybody raises for everybody, or member 0 for all others, or they for it. */
typedef enum { PTO_GAS_ALL_TO_ALL, PTO_GAS_ROOT_TO_OTHERS, PTO_GAS_OTHERS_TO_ROOT } pto_gas_flag_t;
void pto_gas_flag(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_gas_flag_t which);

/* A stage in which `step`'s actors copy `source` to `target`, alone or with each peer, and in the same stage
 * what they do for themselves: with `own` as both ends' block or part where the step's names its peer's. */
void pto_gas_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_step_t step,
                  pto_slice_t own_source, pto_slice_t own_target);

/* A stage in which the members from 0 up to `until` combine all blocks of `gathered` into `target`. */
void pto_gas_reduce(pto_builder_t *builder, const pto_exchange_t *who, int64_t until, int gathered,
                    pto_slice_t target);

#endif
