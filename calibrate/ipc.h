/* GPU memory of a case's other members, opened by CUDA IPC, and the pairs that can have it. */
#ifndef PORTOLAN_CALIBRATE_IPC_H
#define PORTOLAN_CALIBRATE_IPC_H

#include "benchmark.h"
#include "pairs.h"

/* Pairs of processes whose GPUs are at distance `reach` and can access each other's memory. Returns their
 * number, at most PAIRS_MAX; if 0, the list of `benchmark` notes the reason. */
int exchange_pairs(const job_t *job, pto_reach_t reach, pair_t pairs[PAIRS_MAX], const char *benchmark,
                   case_list_t *list);

/* A case of each such pair, with its level, on a socket and off it. Returns the first one's place in the
 * list. */
int exchange_cases(const job_t *job, const char *benchmark, case_list_t *list);

/* Collective over the case's members: `opened[i]` is what the i-th of them gave as `own`, and `own` itself
 * for this one. The buffers are of memory_buffer on the GPU. */
void exchange_open(const work_t *work, void *own, void **opened);

#endif
