/* Runs that the host does not wait for one by one: many behind each other in the GPU's stream, enqueued or as
 * a captured graph (--runs). A run's time is the mean of all. */
#ifndef PORTOLAN_CALIBRATE_RUNS_H
#define PORTOLAN_CALIBRATE_RUNS_H

#include "benchmark.h"

typedef struct {
    const work_t *work;
    void (*enqueue)(const work_t *work, int64_t bytes); /* enqueues one run in gpu.stream */
    int64_t bytes;                                      /* of the runs that are prepared; -1: none are */
    int each;                                           /* runs of a graph; fewer are not timed */
    void *graph;                                        /* NULL: they are enqueued one by one */
} runs_t;

void runs_open(runs_t *runs, const work_t *work, void (*enqueue)(const work_t *work, int64_t bytes));

/* To be called by all members of the case. Returns the seconds of `iterations` runs of `bytes`. The first
 * call with other bytes makes the graph, and a run that is not timed, in which NCCL connects its members. */
double runs_s(runs_t *runs, int64_t bytes, int iterations);

/* Returns the seconds of `iterations` calls, each from the moment at which all members meet until the last
 * one of the node has returned. */
double runs_waited_s(const work_t *work, void (*call)(const work_t *work, int64_t bytes), int64_t bytes,
                     int iterations);

/* Frees the graph. Call it before what is enqueued is freed: NCCL keeps its communicator as long as a graph
 * uses it. */
void runs_close(runs_t *runs);

/* Waits for all members: between nodes by MPI_Barrier, as there is nothing better; then within each node by
 * shared memory, so that its members leave together. */
void runs_meet(const work_t *work);

#endif
