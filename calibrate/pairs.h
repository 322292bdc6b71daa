/* Finds the processes of a case: pairs at a level, partners of a process, the processes of a node. */
#ifndef PORTOLAN_CALIBRATE_PAIRS_H
#define PORTOLAN_CALIBRATE_PAIRS_H

#include "benchmark.h"

enum { PAIRS_MAX = 2 };

typedef struct {
    int a;
    int b;
} pair_t;

/* Finds at most PAIRS_MAX pairs at a level, with no process in two of them. Returns how many. */
int pairs_find(const job_t *job, pto_space_t space, pto_level_t level, pair_t pairs[PAIRS_MAX]);

/* Adds a case of the pair at a level, with buffers in a space. Its columns `pair` and `level` name both. */
case_t *pairs_case(case_list_t *list, const char *benchmark, const pair_t *pair, const char *level,
                   pto_space_t buffers);

/* Adds a case of a collective, named LIBRARY_COLLECTIVE, among the first `per_node` processes (pairs_on_node)
 * of each of the first `nodes` nodes. In the case, `procs` is the number of members, `messages` that of
 * nodes, and detail[0] the collective. A size is that of a vector, or of a member's block; a buffer then has
 * a block for each member. No buffer is larger than `buffer_bytes`. */
case_t *pairs_collective_case(const job_t *job, const char *library, pto_collective_t collective,
                              pto_space_t members, pto_space_t buffers, int nodes, int per_node,
                              int64_t buffer_bytes, case_list_t *list);

/* Returns why there is no pair at a level. */
const char *pairs_why_none(pto_level_t level);

/* Adds a case of each pair at a level, with buffers in a space, which its column `space` names; if there is
 * none, notes that `missing`_LEVEL is skipped. */
void pairs_cases(const job_t *job, pto_space_t space, pto_level_t level, pto_space_t buffers,
                 const char *benchmark, const char *missing, case_list_t *list);

/* Finds the processes at a level from `rank`, in rising order and without `rank`. For the space `gpu`, no two
 * of them drive the same GPU. `found` has room for all processes of the job. Returns how many. */
int pairs_partners(const job_t *job, pto_space_t space, pto_level_t level, int rank, int *found);

/* Finds the processes of a node, or for the space `gpu` the first process of each GPU. `found` has room for
 * all processes of the job. Returns how many. */
int pairs_on_node(const job_t *job, pto_space_t space, int node, int *found);

/* Returns the number of processes that pairs_on_node finds on the node with the fewest. Cases use the same
 * number on each node. */
int pairs_fewest(const job_t *job, pto_space_t space);

#endif
