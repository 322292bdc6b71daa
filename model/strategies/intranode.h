/* Shared by the strategies among processes of one node, which share memory: the operations of gsb (one buffer
 * on the root's GPU), btb (a binomial tree) and mix (gsb, but some members stage through the host), and their
 * building blocks. Hierarchical strategies use these operations for each level. */
#ifndef PTO_INTRANODE_H
#define PTO_INTRANODE_H

#include "staging.h"

/* How consecutive runs of a plan are ordered. LOOSE: a process may begin a run while others are still in the
 * previous one. It must wait for a signal before it writes their buffers again. ORDERED: no such signal is
 * needed. This is so in an allreduce, where each process waits for data of all others in each run. */
typedef enum { PTO_RUN_ORDERED, PTO_RUN_LOOSE } pto_run_order_t;

/* Operations among `members`, which are at least two. Of this exchange, only the group, n and the cores are
 * used. Member 0 is the root. Buffers are given by their index. */
typedef struct {
    /* Reduces all members' vector `source` to member 0, into `into` or, if that is -1, into a temporary.
     * Returns the buffer of the result. */
    int (*reduce)(pto_builder_t *builder, const pto_exchange_t *members, int source, int into,
                  pto_run_order_t runs);
    /* Broadcasts member 0's `source` to all members' `target`. If `source` has a block for each member, each
     * gets only its own (a scatter). */
    void (*broadcast)(pto_builder_t *builder, const pto_exchange_t *members, int source, int target,
                      pto_run_order_t runs);
    /* Gathers all members' `source` in all members' `target`, in order. NULL: not offered. */
    void (*allgather)(pto_builder_t *builder, const pto_exchange_t *members, int source, int target);
    /* Gathers all members' `source` in member 0's `target`. NULL: not offered. */
    void (*gather)(pto_builder_t *builder, const pto_exchange_t *members, int source, int target);
} pto_intranode_t;

extern const pto_strategy_t pto_strategy_mix;
extern const pto_intranode_t pto_intranode_gsb, pto_intranode_btb, pto_intranode_mix;

/* All members copy `source` by CUDA IPC into their blocks of member 0's `gathered`, which is complete when
 * member 0 has seen their flags. */
void pto_gsb_copy_in(pto_builder_t *builder, const pto_exchange_t *members, int source, int gathered);
/* Member 0 reduces the blocks of `gathered` into `into` or, if that is -1, into a temporary. Returns the
 * buffer of the result. */
int pto_gsb_combine(pto_builder_t *builder, const pto_exchange_t *members, int source, int gathered,
                    int into);
/* All members copy member 0's `source` into `target`; only their own block, if `source` has one for each. */
void pto_gsb_copy_out(pto_builder_t *builder, const pto_exchange_t *members, int source, int target);

/* Builds a complete plan of a collective among all processes of a single node. */
void pto_intranode_build(pto_builder_t *builder, const pto_request_t *request, const pto_intranode_t *inside);
/* PTO_ERR_NOT_APPLICABLE unless the layout has one node, and several processes that hold data. */
pto_status_t pto_intranode_applicable(const pto_request_t *request, pto_error_t *err);

/* PTO_ERR_NOT_APPLICABLE unless the members are more than the request's staged_members, which copy through
 * the host: the root, at least, copies by CUDA IPC. */
pto_status_t pto_mix_applicable(const pto_request_t *request, pto_error_t *err);
/* pto_strategy_t.stages of mix: the number of processes that hold data, of which some stage. */
int64_t pto_mix_members(const pto_request_t *request);

/* Builds a temporary of `blocks` blocks like those of buffer `like`, at the members whose index is a multiple
 * of `stride`. */
int pto_intranode_buffer(pto_builder_t *builder, const pto_exchange_t *members, int like, const char *name,
                         int64_t blocks, int64_t stride);

/* Builds such a temporary in host memory that the node shares, at member 0. */
int pto_intranode_host_buffer(pto_builder_t *builder, const pto_exchange_t *members, int like,
                              const char *name, int64_t blocks);

/* Returns a step of member 0 alone, without peers. */
pto_step_t pto_intranode_root_alone(pto_step_kind_t kind, const pto_exchange_t *members);

/* Builds a stage in which all members copy their `source` into `target` of member 0. */
void pto_intranode_copy_in(pto_builder_t *builder, const pto_exchange_t *members, pto_slice_t source,
                           pto_slice_t target);
/* Builds a stage in which all members copy `source` of member 0 into their `target`. */
void pto_intranode_copy_out(pto_builder_t *builder, const pto_exchange_t *members, pto_slice_t source,
                            pto_slice_t target);

/* Returns a temporary before it is built, for callers that change it. */
pto_buffer_t pto_intranode_shape(const pto_builder_t *builder, const pto_exchange_t *members, int like,
                                 const char *name, int64_t blocks, int64_t stride);

#endif
