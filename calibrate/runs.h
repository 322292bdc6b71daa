/* Times runs: either many, one after the other in the GPU's stream, enqueued or as a captured graph, where
 * the time of a run is the mean; or runs that are waited for one by one (--runs). */
#ifndef PORTOLAN_CALIBRATE_RUNS_H
#define PORTOLAN_CALIBRATE_RUNS_H

#include "benchmark.h"

typedef struct {
    const work_t *work;
    void (*enqueue)(const work_t *work, int64_t bytes); /* enqueues one run in gpu.stream */
    int64_t bytes;                                      /* of the runs that are prepared; -1: none are */
    int count;   /* runs of a batch, which is a graph or enqueued at once */
    void *graph; /* NULL: the runs are enqueued one by one */
} runs_t;

void runs_open(runs_t *runs, const work_t *work, void (*enqueue)(const work_t *work, int64_t bytes));

/* Called by all members of the case. Times as many whole batches as `iterations` runs of `bytes` need, and
 * returns the seconds scaled to `iterations`. The first call with other bytes captures the graph, after a run
 * that is not timed, in which NCCL connects its members. */
double runs_s(runs_t *runs, int64_t bytes, int iterations);

/* Called by all members of the case. Returns the seconds of `iterations` calls, each from a barrier of all
 * members until the last call on this node has returned. */
double runs_waited_s(const work_t *work, void (*call)(const work_t *work, int64_t bytes), int64_t bytes,
                     int iterations);

/* Frees the graph. Call it before freeing what its runs use: NCCL keeps a communicator that a graph uses. */
void runs_close(runs_t *runs);

/* A barrier of all members: between nodes by MPI_Barrier, as there is nothing better, then within each node
 * by shared memory, so that its members leave at the same time. */
void runs_synchronize(const work_t *work);

#endif
