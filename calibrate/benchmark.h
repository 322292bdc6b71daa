/* A benchmark is a descriptor with functions that list its cases and measure one of them. A case has fixed
 * values in the columns of the samples file, and is measured at a series of sizes; a point is one size of a
 * case. Its members are the processes that take part; the first one leads. All processes make the same list
 * of cases, which engine.c measures. bench/ has the benchmarks, and registry.c lists them. */
#ifndef PORTOLAN_CALIBRATE_BENCHMARK_H
#define PORTOLAN_CALIBRATE_BENCHMARK_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "barrier.h"
#include "clock.h"
#include "job.h"

enum {
    CASE_NAME_MAX = 48,
    CASE_PAIR_MAX = 48,
    CASE_DETAIL_COUNT = 3,
    CASE_PART_MAX = 2,
    SKIP_REASON_MAX = 256
};

typedef struct {
    char benchmark[CASE_NAME_MAX]; /* the columns of the samples file */
    const char *space;
    const char *level;
    char pair[CASE_PAIR_MAX];
    int procs;
    int messages;
    /* Parts are additional rows, each with the time of some of the members. Their names; "": none. */
    char part[CASE_PART_MAX][CASE_NAME_MAX];
    bool sized;        /* false: one point, of 0 bytes */
    bool every_size;   /* measure every size of --bytes, as the fit compares each with its double */
    int64_t min_bytes; /* sizes are multiples of it */
    int64_t max_bytes;
    int64_t factor; /* between sizes: exactly these are measured; 0: the plan of sizes.h for --bytes */
    pto_space_t buffers;
    bool from_other;               /* messages are sent from the other space */
    int64_t room;                  /* size of a buffer, in multiples of the largest size */
    int detail[CASE_DETAIL_COUNT]; /* for the benchmark's own use */
    int member_count;              /* the processes that take part; the first leads */
    int *member;                   /* their ranks */
} case_t;

typedef struct {
    char what[CASE_NAME_MAX];
    char reason[SKIP_REASON_MAX];
} skip_t;

typedef struct {
    int case_count;
    case_t *cases;
    int skip_count;
    skip_t *skips;
} case_list_t;

/* A case that is being measured, in one of its members. */
typedef struct {
    const job_t *job;
    const case_t *bench_case;
    MPI_Comm comm;         /* the members, in the case's order */
    int me;                /* rank in `comm`; -1: this process is no member */
    int64_t max_bytes;     /* the largest size that will be measured */
    int64_t room_bytes;    /* of a buffer: the case's room times max_bytes */
    together_t *together;  /* a barrier of the members of this node */
    void *state;           /* the benchmark's own */
    struct memory *memory; /* freed at the end of the case (memory.h) */
    int64_t bytes;         /* of the last trial; -1: there was none */
    int run_count;         /* of TIMES_RUNS: runs of a batch, which are one graph or enqueued one by one */
    void *graph;           /* NULL: the runs are enqueued one by one */
} work_t;

typedef enum {
    TIMES_EACH,       /* in every member */
    TIMES_LEAD,       /* in the first member, which acts alone */
    TIMES_ROUND_TRIP, /* in the first `procs` members, half of the time */
    TIMES_TOGETHER,   /* from a barrier of all members until the last one on this node has returned */
    /* `once` enqueues a run in gpu.stream. With --runs waited, timed like TIMES_TOGETHER, until the run has
     * ended; otherwise the mean of many runs, which are enqueued one by one or as a graph. */
    TIMES_RUNS
} times_t;

typedef struct {
    const char *name;
    const char *group; /* a second name for --only, which benchmarks can share; NULL: the name */
    const char *rows;  /* names in the column `benchmark`, separated by ", "; NULL: the name */
    const char *summary;
    unsigned runs; /* bits 1 << pto_runs_t: the values of --runs that it supports; 0: runs waited for */
    double share;  /* the fraction of --budget for all cases; 0: all of it */
    const char *gpu_only; /* the name to report as skipped if there is no GPU; NULL: `list` checks that */
    size_t state_bytes;   /* of work_t's state, which is zero before `open` */
    void (*list)(const job_t *job, case_list_t *list);
    /* Instead of `list`: lists the cases of messages between buffers in a space, if the job has any. Without
     * both, each row has a case of one process and its GPU, without sizes; detail[0] is the row's index. */
    void (*list_in)(const job_t *job, pto_space_t space, case_list_t *list);
    void (*open)(const work_t *work); /* prepares a case; may be NULL */
    /* Prepares trials of another size than the last one's, including the first; may be NULL. */
    void (*resize)(const work_t *work, int64_t bytes);
    /* The operation that is timed. */
    void (*once)(const work_t *work, int64_t bytes);
    times_t times;
    /* Instead of `once` and `times`: performs the operation `iterations` times. Returns the seconds of this
     * process for all of them; 0 if it only assists. */
    double (*trial)(const work_t *work, int64_t bytes, int iterations);
    /* Sets the seconds of the last trial for those parts of case_t that this process is in. NULL: no parts.
     */
    void (*parts)(const work_t *work, double seconds[CASE_PART_MAX]);
    void (*close)(const work_t *work); /* may be NULL; memory.h frees the case's memory */
} benchmark_t;

extern const benchmark_t *const benchmark_registry[];
extern const int benchmark_count;

/* Adds a case: sized, without a limit, one process, one message, all texts "-", and rank 0 as every member.
 * The caller then changes what differs. The pointer is valid until the next call. */
case_t *case_add(case_list_t *list, const char *benchmark, int member_count);

/* Adds such a case with buffers in a space, which its column `space` names. */
case_t *case_add_in(case_list_t *list, const char *benchmark, pto_space_t space, int member_count);

/* Lists a benchmark's cases. */
void case_list_fill(const benchmark_t *benchmark, const job_t *job, case_list_t *list);
void case_list_fini(case_list_t *list);

/* Notes that something, formatted, can't be measured, and why. */
void case_skip(case_list_t *list, const char *reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Call them before the first trial of a case, and after the last. */
void work_open(work_t *work, const benchmark_t *benchmark);
void work_close(work_t *work, const benchmark_t *benchmark);

/* Frees the graph of TIMES_RUNS. It must be freed before what its runs use: NCCL keeps a communicator that a
 * graph uses. */
void work_end_runs(work_t *work);

/* Performs the operation `iterations` times. Returns this process's seconds; 0 if it only assists. For
 * TIMES_RUNS, it times as many whole batches as `iterations` runs need, and scales their seconds. */
double work_trial(work_t *work, const benchmark_t *benchmark, int64_t bytes, int iterations);
/* Returns the next count of processes or messages to measure, 0 after `max`: 1, 2, 3, 4, 6, 8, ... `max`. */
int next_count(int count, int max);

#endif
