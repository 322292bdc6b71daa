/* What gsb and btb do among processes of one node, by the memory that they share: hierarchical strategies do
 * it level by level. */
#ifndef PTO_INSIDE_H
#define PTO_INSIDE_H

#include "route.h"

/* Whether a run may find others still busy with the run before: where nothing else in the plan orders the
 * runs, processes say first when their buffers may be written again. In an allreduce everybody's data reaches
 * everybody in each run, and that is order enough. */
typedef enum { PTO_RUNS_ORDERED, PTO_RUNS_LOOSE } pto_runs_t;

/* Among the members of `who` (two or more; its group, n and cores count). */
typedef struct {
    /* Reduce all members' vector `source` to member 0, into `into` or, if that is -1, a temporary; returns
     * where it is. */
    int (*reduce)(pto_builder_t *builder, const pto_exchange_t *who, int source, int into, pto_runs_t runs);
    /* Broadcast member 0's `source` to all members' `target`. */
    void (*broadcast)(pto_builder_t *builder, const pto_exchange_t *who, int source, int target,
                      pto_runs_t runs);
} pto_inside_t;

extern const pto_inside_t pto_inside_gsb, pto_inside_btb;

/* A whole plan for reduce, broadcast or allreduce by one of them among all processes of the only node. */
void pto_inside_build(pto_builder_t *builder, const pto_request_t *request, const pto_inside_t *inside);
/* Errors: PTO_ERR_NOT_APPLICABLE. */
pto_status_t pto_inside_applicable(const pto_request_t *request, pto_error_t *err);

/* A temporary of `blocks` vectors like `like` at those members whose index is a multiple of `stride`. */
int pto_inside_buffer(pto_builder_t *builder, const pto_exchange_t *who, int like, const char *name,
                      int64_t blocks, int64_t stride);

/* The same before it is built, for what more there is to say of it. */
pto_buffer_t pto_inside_shape(const pto_builder_t *builder, const pto_exchange_t *who, int like,
                              const char *name, int64_t blocks, int64_t stride);

/* A stage in which `signal` raises a flag of its own and `wait` waits for it; the peers of both are given. */
void pto_inside_flag(pto_builder_t *builder, const char *name, pto_step_t signal, pto_step_t wait);

/* Member 0, with all others as peers; all others, with member 0 as peer. */
pto_step_t pto_inside_root(pto_step_kind_t kind, const pto_exchange_t *who);
pto_step_t pto_inside_others(pto_step_kind_t kind, const pto_exchange_t *who);
/* Every member, with all others as peers, the next one first. */
pto_step_t pto_inside_all(pto_step_kind_t kind, const pto_exchange_t *who);

/* A flag that everybody raises for all others and waits for from them. */
void pto_inside_barrier(pto_builder_t *builder, const char *name, const pto_exchange_t *who);

#endif
