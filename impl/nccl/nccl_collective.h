/* Collective nodes that NCCL runs. */
#ifndef PTO_NCCL_COLLECTIVE_H
#define PTO_NCCL_COLLECTIVE_H

#include "executor.h"

/* Collective: create the NCCL groups, one for each collective node that NCCL runs. `status` as in
 * pto_mpi_part; if the plan uses NCCL, all processes agree on it first. */
pto_status_t pto_nccl_prepare(pto_exec_t *exec, pto_status_t status, pto_error_t *err);
void pto_nccl_free(pto_exec_t *exec);

/* Returns whether NCCL runs this PTO_NODE_COLLECTIVE; index of this process's part in it, or -1. */
bool pto_runs_by_nccl(const pto_node_t *node);
/* Returns whether the whole plan is one such node, of all owners. */
bool pto_nccl_does_all(const pto_plan_t *plan);
/* PTO_ERR_NOT_APPLICABLE, with the reason, if NCCL does not have this operation on this type. */
pto_status_t pto_nccl_takes(pto_datatype_t datatype, pto_op_t op, pto_error_t *err);
int pto_nccl_part(const pto_exec_t *exec, int node);

/* Starts the collective; with `wait`, also completes it. */
pto_status_t pto_nccl_run(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* Enqueues the collective in the executor's stream. Blocks only if the device's call does. */
pto_status_t pto_nccl_queue(pto_exec_t *exec, int index, pto_error_t *err);
/* Enqueues the collective in any stream. */
pto_status_t pto_nccl_enqueue(const pto_exec_t *exec, int index, void *stream, pto_error_t *err);

#endif
