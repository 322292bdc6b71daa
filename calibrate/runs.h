/* Runs that the host does not wait for one by one: many behind each other in the GPU's stream, enqueued or as
 * a captured graph (--runs). A run's time is the mean of all. */
#ifndef PORTOLAN_CALIBRATE_RUNS_H
#define PORTOLAN_CALIBRATE_RUNS_H

#include "benchmark.h"

typedef struct {
    const work_t *work;
    void (*enqueue)(const work_t *work, int64_t bytes); /* one run, into gpu.stream */
    int64_t bytes;                                      /* of the runs that are prepared; -1: none are */
    int each;                                           /* runs of a graph; fewer are not timed */
    void *graph;                                        /* NULL: they are enqueued one by one */
} runs_t;

void runs_open(runs_t *runs, const work_t *work, void (*enqueue)(const work_t *work, int64_t bytes));

/* All members of the case: the seconds of `iterations` runs of `bytes`. The first call with other bytes makes
 * a run that is not timed, in which NCCL connects its members, and the graph. */
double runs_s(runs_t *runs, int64_t bytes, int iterations);

/* Returns the seconds of `iterations` calls, each from the moment at which all members meet until the last
 * one of the node has returned. */
double runs_waited_s(const work_t *work, void (*call)(const work_t *work, int64_t bytes), int64_t bytes,
                     int iterations);

/* Before what is enqueued is freed: NCCL keeps its communicator as long as a graph uses it. */
void runs_close(runs_t *runs);

/* All members at one moment: within a node, by shared memory; between nodes, MPI_Barrier is the best there
 * is, so it comes first. */
void runs_meet(const work_t *work);

#endif
