/* Shared by the strategies of a global address space (Oden, Klenk and Fröning, "Energy-Efficient Collective
 * Reduce and Allreduce Operations on Distributed GPUs", CCGrid 2014): one kernel on each GPU of a node loads
 * and stores the memory of the others and signals them by flags there. No CPU process is involved between
 * launch and completion. */
#ifndef PTO_GAS_H
#define PTO_GAS_H

#include "intranode.h"

/* The members: one process of each GPU. */
pto_exchange_t pto_gas_members(const pto_request_t *request, const pto_user_t *user);
/* Errors: PTO_ERR_NOT_APPLICABLE for several nodes, several owners on a GPU, or a single GPU. */
pto_status_t pto_gas_applicable(const pto_request_t *request, pto_error_t *err);

/* A temporary with one vector or block per member, shaped like `like`, at the members whose index is a
 * multiple of `stride`; with PTO_BLOCKS_SHARE, only the holder's share of each. */
typedef struct {
    int64_t stride;
    pto_blocks_t blocks;
    bool double_buffered;
} pto_gas_gathered_t;
int pto_gas_gathered(pto_builder_t *builder, const pto_exchange_t *who, int like, pto_gas_gathered_t how);

/* A flag raised by all for all, by member 0 for all others, or by all others for member 0. */
typedef enum { PTO_GAS_ALL_TO_ALL, PTO_GAS_ROOT_TO_OTHERS, PTO_GAS_OTHERS_TO_ROOT } pto_gas_flag_t;
void pto_gas_flag(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_gas_flag_t which);

/* Which way the data of a collective of blocks go; the opposite way; and a copy by those at the first end,
 * with those at the other end as peers. */
pto_gas_flag_t pto_gas_way(pto_collective_t collective);
pto_gas_flag_t pto_gas_back(pto_gas_flag_t way);
pto_step_t pto_gas_step(const pto_exchange_t *who, pto_gas_flag_t way);

/* A step in which each member, or only the one that holds the buffers, copies within its own memory. */
void pto_gas_own_copy(pto_builder_t *builder, const pto_exchange_t *who, pto_slice_t source,
                      pto_slice_t target);

/* A stage in which the actors of `step` copy `source` to `target`, alone or with each peer. In the same stage
 * each does its own part, from `own_source` to `own_target`: the same as the step's slices, but with its own
 * block or part where the step names its peer's. */
void pto_gas_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_step_t step,
                  pto_slice_t own_source, pto_slice_t own_target);

/* Every member stores to each other one that one's share of its vector, or its block, into `gathered`, and
 * reduces its own (gas_split.c). The buffer is made before the kernel begins, in which the stages are.
 * pto_gas_reduce_shares returns the member's share of the result. */
typedef struct {
    int64_t parts; /* of each block of the input */
    int gathered;
} pto_gas_shares_t;
pto_gas_shares_t pto_gas_shares(pto_builder_t *builder, const pto_exchange_t *who, const pto_user_t *user,
                                bool scatters, bool double_buffered);
pto_slice_t pto_gas_reduce_shares(pto_builder_t *builder, const pto_exchange_t *who, const pto_user_t *user,
                                  const pto_gas_shares_t *shares);

/* A stage in which the members below `until` reduce all blocks of `gathered` into `target`. */
void pto_gas_reduce(pto_builder_t *builder, const pto_exchange_t *who, int64_t until, int gathered,
                    pto_slice_t target);

#endif
