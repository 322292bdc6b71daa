/* Collective nodes that the MPI library runs. */
#ifndef PTO_MPI_COLLECTIVE_H
#define PTO_MPI_COLLECTIVE_H

#include "executor.h"

/* Collective: prepare the library calls, one for each collective node that MPI runs. `status` is what this
 * process has come to so far: one that has failed takes part, and keeps its error. */
pto_status_t pto_library_prepare(pto_exec_t *exec, pto_status_t status, pto_error_t *err);
pto_status_t pto_library_call(const pto_library_call_t *call, pto_error_t *err);
void pto_library_free(pto_exec_t *exec);

/* Whether the MPI library runs this PTO_NODE_COLLECTIVE. */
bool pto_runs_by_library(const pto_exec_t *exec, const pto_node_t *node);
/* Whether a walk is in such a node, whose stages are not executed. */
bool pto_walk_in_library(const pto_exec_t *exec, const pto_walk_t *walk);

/* This process's membership in the collective at node `at`. */
typedef struct {
    const pto_node_t *node;
    const pto_group_t *group;
    int index; /* among the members */
    bool acts; /* this process is a member */
} pto_membership_t;

pto_membership_t pto_find_membership(const pto_exec_t *exec, int at);

/* Collective: a communicator for the members of each group, in the group's order. Other processes get
 * MPI_COMM_NULL. */
pto_status_t pto_members_comm(const pto_exec_t *exec, const pto_membership_t *member, MPI_Comm *comm,
                              pto_error_t *err);

/* Range of the slice's block for a peer, or of the whole vector, in this process's buffer. */
pto_nccl_block_t pto_exec_block(const pto_exec_t *exec, const pto_slice_t *slice, int64_t peer);

/* What MPI's reductions take for a datatype and an operation; for an average, those of the sum. Free it
 * before MPI_Finalize. */
pto_status_t pto_mpi_reduction(pto_datatype_t datatype, pto_op_t op, pto_mpi_reduction_t *reduction,
                               pto_error_t *err);
void pto_mpi_reduction_free(pto_mpi_reduction_t *reduction);

#endif
