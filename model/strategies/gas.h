/* Shared by the strategies of a global address space (Oden, Klenk and Fröning, "Energy-Efficient Collective
 * Reduce and Allreduce Operations on Distributed GPUs", CCGrid 2014): one kernel on each GPU of a node loads
 * and stores the memory of the others and signals them by flags there. No CPU process is involved between
 * launch and completion. */
#ifndef PTO_GAS_H
#define PTO_GAS_H

#include "intranode.h"

/* PTO_ERR_NOT_APPLICABLE for several nodes, for several owners on a GPU, and for a single GPU. */
pto_status_t pto_gas_applicable(const pto_request_t *request, pto_error_t *err);

/* How to build a temporary with one vector or block of each member. The members whose index is a multiple of
 * `stride` hold one; with PTO_BLOCKS_SHARE, only their own share of each block. */
typedef struct {
    int64_t stride;
    pto_blocks_t blocks;
    bool double_buffered;
} pto_gas_gathered_t;
/* Builds it, with blocks like those of buffer `like`. */
int pto_gas_gathered(pto_builder_t *builder, const pto_exchange_t *members, int like, pto_gas_gathered_t how);

/* From which members to which: from all to all others, from member 0 to the others, or from these to it. */
typedef enum { PTO_GAS_ALL_TO_ALL, PTO_GAS_ROOT_TO_OTHERS, PTO_GAS_OTHERS_TO_ROOT } pto_gas_direction_t;
/* Builds a flag that the members at the first end raise and those at the other end wait for. */
void pto_gas_flag(pto_builder_t *builder, const char *name, const pto_exchange_t *members,
                  pto_gas_direction_t direction);

/* Returns the direction of the data in a collective of blocks. */
pto_gas_direction_t pto_gas_direction(pto_collective_t collective);
pto_gas_direction_t pto_gas_opposite(pto_gas_direction_t direction);
/* Returns a copy by the members at the first end, with those at the other end as peers. */
pto_step_t pto_gas_step(const pto_exchange_t *members, pto_gas_direction_t direction);

/* Builds a step in which the members that hold both buffers copy within their own memory. */
void pto_gas_own_copy(pto_builder_t *builder, const pto_exchange_t *members, pto_slice_t source,
                      pto_slice_t target);

typedef struct {
    pto_slice_t source;
    pto_slice_t target;
} pto_gas_move_t;
/* Builds a stage with the copy `step` from and to the slices of `move`. In the same stage, each acting member
 * also copies its own block or part: `own` is like `move`, with the member itself in place of its peer. */
void pto_gas_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *members, pto_step_t step,
                  pto_gas_move_t move, pto_gas_move_t own);

/* Builds the buffer for the shares in which members reduce a vector (gas_split.c): each member stores to each
 * other member's `gathered` that member's share of its vector or, if it `scatters`, its block, and reduces
 * what the others stored to its own. The buffer must exist before the kernel begins. */
int pto_gas_shares(pto_builder_t *builder, const pto_exchange_t *members, bool scatters,
                   bool double_buffered);
/* Builds the stages, inside the kernel. Returns the member's share of the result. */
pto_slice_t pto_gas_reduce_shares(pto_builder_t *builder, const pto_exchange_t *members, bool scatters,
                                  int gathered);

/* Builds a stage in which the members below `until` reduce all blocks of `gathered` into `target`. */
void pto_gas_reduce(pto_builder_t *builder, const pto_exchange_t *members, int64_t until, int gathered,
                    pto_slice_t target);

#endif
