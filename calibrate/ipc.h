/* For benchmarks that access another GPU's memory by CUDA IPC: finds the pairs, and opens the memory. */
#ifndef PORTOLAN_CALIBRATE_IPC_H
#define PORTOLAN_CALIBRATE_IPC_H

#include "benchmark.h"
#include "pairs.h"

/* Finds pairs of processes whose GPUs are at distance `reach` and can access each other's memory. Returns
 * their number, at most PAIRS_MAX; if it is 0, notes the reason in the list. */
int ipc_pairs(const job_t *job, pto_reach_t reach, pair_t pairs[PAIRS_MAX], const char *benchmark,
              case_list_t *list);

/* Adds a case of each such pair, on a socket and off it, with buffers on the GPUs. */
void ipc_cases(const job_t *job, const char *benchmark, case_list_t *list);

/* The state of benchmarks that move data to or from the memory of other members, and their `open`: buffers of
 * work->room_bytes. */
typedef struct {
    void *source;
    void *area;
    void *opened[GPU_COUNT_MAX]; /* the area of each member, as addressed here */
} ipc_buffers_t;

void ipc_buffers_open(const work_t *work);

/* Collective over the case's members: sets `opened[i]` to the i-th member's `own` buffer as addressed here.
 * The buffers are from memory_buffer, on the GPU. */
void ipc_open(const work_t *work, void *own, void **opened);

#endif
