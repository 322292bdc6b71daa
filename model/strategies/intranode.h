/* The operations of gsb and btb among processes of one node that share memory. Hierarchical strategies use
 * them level by level. */
#ifndef PTO_INTRANODE_H
#define PTO_INTRANODE_H

#include "staging.h"

/* LOOSE: a process may begin a run while others are still in the previous one. Nothing else in the plan
 * orders the runs, so processes first signal when their buffers may be written again. ORDERED: no signal is
 * needed. In an allreduce every process's data reaches every other in each run, which orders the runs. */
typedef enum { PTO_RUN_ORDERED, PTO_RUN_LOOSE } pto_run_order_t;

/* Operations among the members of `who` (at least two; its group, n and cores are used). */
typedef struct {
    /* Reduce all members' vector `source` to member 0, into `into` or, if that is -1, into a temporary.
     * Returns the buffer of the result. */
    int (*reduce)(pto_builder_t *builder, const pto_exchange_t *who, int source, int into,
                  pto_run_order_t runs);
    /* Broadcast member 0's `source` to all members' `target`; if the source has a block for each, scatter it.
     */
    void (*broadcast)(pto_builder_t *builder, const pto_exchange_t *who, int source, int target,
                      pto_run_order_t runs);
    /* Gather all members' `source` in all members' `target`, in order; NULL if there is no such operation. */
    void (*allgather)(pto_builder_t *builder, const pto_exchange_t *who, int source, int target);
    /* Gather them in member 0's `target`; NULL likewise. */
    void (*gather)(pto_builder_t *builder, const pto_exchange_t *who, int source, int target);
} pto_intranode_t;

extern const pto_strategy_t pto_strategy_mix;
extern const pto_intranode_t pto_intranode_gsb, pto_intranode_btb, pto_intranode_mix;

/* The parts of gsb. Members copy `source` by CUDA IPC into their blocks of member 0's `gathered`, which is
 * complete when member 0 has seen their flags. Member 0 reduces these blocks into `into`, or into a temporary
 * if that is -1, and returns the buffer of the result. All copy member 0's `source` into `target`. */
void pto_gsb_copy_in(pto_builder_t *builder, const pto_exchange_t *who, int source, int gathered);
int pto_gsb_combine(pto_builder_t *builder, const pto_exchange_t *who, int source, int gathered, int into);
void pto_gsb_copy_out(pto_builder_t *builder, const pto_exchange_t *who, int source, int target);

/* A complete plan for a collective that `inside` supports among all processes of a single node. */
void pto_intranode_build(pto_builder_t *builder, const pto_request_t *request, const pto_intranode_t *inside);
/* Errors: PTO_ERR_NOT_APPLICABLE. */
pto_status_t pto_intranode_applicable(const pto_request_t *request, pto_error_t *err);

/* Whether the strategy's group has more members than the request stages. Errors: PTO_ERR_NOT_APPLICABLE. */
pto_status_t pto_mix_applicable(const pto_request_t *request, pto_error_t *err);

/* A temporary of `blocks` vectors like `like`, at the members whose index is a multiple of `stride`. */
int pto_intranode_buffer(pto_builder_t *builder, const pto_exchange_t *who, int like, const char *name,
                         int64_t blocks, int64_t stride);

/* The shape of that temporary before it is built, for callers that change it further. */
pto_buffer_t pto_intranode_shape(const pto_builder_t *builder, const pto_exchange_t *who, int like,
                                 const char *name, int64_t blocks, int64_t stride);

#endif
