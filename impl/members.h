/* The collective nodes of a plan (PTO_NODE_COLLECTIVE), and this process's membership in them. impl/mpi and
 * impl/nccl use it to make the calls of MPI and NCCL. */
#ifndef PTO_MEMBERS_H
#define PTO_MEMBERS_H

#include "executor.h"

/* Returns whether the MPI library runs this PTO_NODE_COLLECTIVE. Its stages are then not executed. */
bool pto_runs_by_library(const pto_exec_t *exec, const pto_node_t *node);
/* Returns whether a walk is in such a node. */
bool pto_walk_in_library(const pto_exec_t *exec, const pto_walk_t *walk);

/* This process's membership in a collective node. */
typedef struct {
    const pto_node_t *node;
    const pto_group_t *group;
    int index; /* among the members; -1: none */
    bool acts; /* this process is a member */
} pto_membership_t;

pto_membership_t pto_find_membership(const pto_exec_t *exec, int node_index);

/* Returns the range of a slice in this process's buffer: its block for a peer, or the whole vector. */
pto_nccl_block_t pto_exec_block(const pto_exec_t *exec, const pto_slice_t *slice, int64_t peer);

#endif
