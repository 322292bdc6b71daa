/* Collective nodes that NCCL runs. */
#ifndef PTO_NCCL_COLLECTIVE_H
#define PTO_NCCL_COLLECTIVE_H

#include "executor.h"

/* Collective: create the NCCL groups, one for each collective node that NCCL runs. */
pto_status_t pto_nccl_prepare(pto_exec_t *exec, pto_error_t *err);
void pto_nccl_free(pto_exec_t *exec);

/* Whether NCCL runs this PTO_NODE_COLLECTIVE; index of this process's part in it, or -1. */
bool pto_runs_by_nccl(const pto_node_t *node);
int pto_nccl_part(const pto_exec_t *exec, int node);

/* Start the collective; with `wait`, also complete it. */
pto_status_t pto_nccl_run(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* Enqueue it in the stream. Blocks only if the device's call does. */
pto_status_t pto_nccl_queue(pto_exec_t *exec, int index, pto_error_t *err);

#endif
