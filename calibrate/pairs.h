/* Which processes stand for a level. */
#ifndef PORTOLAN_CALIBRATE_PAIRS_H
#define PORTOLAN_CALIBRATE_PAIRS_H

#include "benchmark.h"

enum { PAIRS_MAX = 2 };

typedef struct {
    int a;
    int b;
} pair_t;

/* At most PAIRS_MAX pairs at a level, no process in two of them. Returns how many. */
int pairs_find(const job_t *job, pto_space_t space, pto_level_t level, pair_t pairs[PAIRS_MAX]);

/* A case of the pair, which its column `pair` names. */
case_t *pairs_case(case_list_t *list, const char *benchmark, const pair_t *pair);

/* A case of `per_node` processes of each of the first nodes, as pairs_on_node orders them; its `procs` are
 * all of them, and `messages` the nodes. */
case_t *pairs_nodes_case(const job_t *job, const char *benchmark, pto_space_t members, pto_space_t buffers,
                         int nodes, int per_node, case_list_t *list);

/* Why there is none. */
const char *pairs_missing(pto_level_t level);

/* A case of each pair at a level; where there is none, `missing`_LEVEL is noted. Returns the first one's
 * place in the list. */
int pairs_cases(const job_t *job, pto_space_t space, pto_level_t level, const char *benchmark,
                const char *missing, case_list_t *list);

/* The processes at a level to `rank`, rising, `rank` itself not among them. `found` has room for all of the
 * job; returns how many. On gpu no two of them drive the same GPU. */
int pairs_partners(const job_t *job, pto_space_t space, pto_level_t level, int rank, int *found);

/* The same of a node: its processes, on gpu the first of each GPU. */
int pairs_on_node(const job_t *job, pto_space_t space, int node, int *found);

/* Of the node that has the fewest of them: cases use the same number on each. */
int pairs_fewest(const job_t *job, pto_space_t space);

#endif
