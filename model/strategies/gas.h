/* Shared by the gas strategies (global address space; Oden, Klenk and Fröning, "Energy-Efficient Collective
 * Reduce and Allreduce Operations on Distributed GPUs", CCGrid 2014). One kernel on each GPU of a node loads
 * from and stores to the memory of the other GPUs, and signals them by flags in their memory. No CPU process
 * is involved between launch and completion. `members` are the GPUs' processes, with the user's buffers. */
#ifndef PTO_GAS_H
#define PTO_GAS_H

#include "intranode.h"

/* PTO_ERR_NOT_APPLICABLE for several nodes, for several owners on a GPU, and for a single GPU. */
pto_status_t pto_gas_applicable(const pto_request_t *request, pto_error_t *err);

/* How to build a temporary that gathers one vector or block from each member. */
typedef struct {
    int64_t stride;      /* the members whose index is a multiple of it hold such a temporary; 0: all */
    pto_blocks_t blocks; /* PTO_BLOCKS_SHARE: they hold only their own share of each block; 0: whole blocks */
    bool double_buffered;
} pto_gas_gathered_t;
/* Builds this temporary, with blocks like those of buffer `like`. */
int pto_gas_gathered(pto_builder_t *builder, const pto_exchange_t *members, int like, pto_gas_gathered_t how);

/* The direction of data or signals: from all to all others, from member 0 to the others, or the reverse. */
typedef enum { PTO_GAS_ALL_TO_ALL, PTO_GAS_ROOT_TO_OTHERS, PTO_GAS_OTHERS_TO_ROOT } pto_gas_direction_t;
/* Builds a flag that the sources of the direction raise and the targets wait for. */
void pto_gas_flag(pto_builder_t *builder, const char *name, const pto_exchange_t *members,
                  pto_gas_direction_t direction);

/* Returns the direction of the data in a collective of blocks. */
pto_gas_direction_t pto_gas_direction(pto_collective_t collective);
pto_gas_direction_t pto_gas_opposite(pto_gas_direction_t direction);
/* Returns a copy by the sources of the direction, with the targets as peers. */
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

/* A reduction in shares (gas_split.c): each member has a buffer `gathered`. Every other member stores to it
 * this member's share of its vector or, in a reduce-scatter (`scatters`), this member's block. Each member
 * then reduces its `gathered`. This function builds the buffer, which must exist before the kernel begins. */
int pto_gas_shares(pto_builder_t *builder, const pto_exchange_t *members, bool scatters,
                   bool double_buffered);
/* Builds the stages of this reduction, inside the kernel. Returns the member's share of the result. */
pto_slice_t pto_gas_reduce_shares(pto_builder_t *builder, const pto_exchange_t *members, bool scatters,
                                  int gathered);

/* Builds a stage in which the members below `until` reduce all blocks of `gathered` into `target`. */
void pto_gas_reduce(pto_builder_t *builder, const pto_exchange_t *members, int64_t until, int gathered,
                    pto_slice_t target);

#endif
