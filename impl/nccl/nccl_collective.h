/* The collective nodes of a plan that NCCL runs, through the device's NCCL table (portolan/nccl.h). */
#ifndef PTO_NCCL_COLLECTIVE_H
#define PTO_NCCL_COLLECTIVE_H

#include "executor.h"

/* Collective: create NCCL communicators, one for each collective node that NCCL runs. A process that has
 * already failed passes its `status`; if the plan uses NCCL, all processes first agree on that. */
pto_status_t pto_nccl_prepare(pto_exec_t *exec, pto_status_t status, pto_error_t *err);
void pto_nccl_free(pto_exec_t *exec);

/* Returns whether the node is a PTO_NODE_COLLECTIVE that NCCL runs. */
bool pto_runs_by_nccl(const pto_node_t *node);
/* Returns the index in exec->nccl of such a node, for its members; -1: this process is none. */
int pto_nccl_index(const pto_exec_t *exec, int node);
/* Returns whether the whole plan is one such node, of all owners. */
bool pto_nccl_does_all(const pto_plan_t *plan);
/* PTO_ERR_NOT_APPLICABLE, with the reason, if NCCL does not have this operation on this type. */
pto_status_t pto_nccl_takes(pto_datatype_t datatype, pto_op_t op, pto_error_t *err);

/* Starts the collective; with `wait`, also completes it. */
pto_status_t pto_nccl_run(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* Enqueues the collective in the executor's stream. Blocks only if the device's call does. */
pto_status_t pto_nccl_queue(pto_exec_t *exec, int index, pto_error_t *err);
/* Enqueues the collective in any stream. */
pto_status_t pto_nccl_enqueue(const pto_exec_t *exec, int index, void *stream, pto_error_t *err);

#endif
