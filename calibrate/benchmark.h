/* A benchmark is a descriptor that lists its cases and measures one of them. A case is a series of points
 * that differ in their bytes only; all processes make the same list. */
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
    char part[CASE_PART_MAX][CASE_NAME_MAX]; /* rows of the time of some members; "": none */
    bool sized;                              /* false: one point, of 0 bytes */
    bool every_size;                         /* the fit compares each size with its double */
    int64_t least_bytes;                     /* smaller points don't exist; sizes are multiples */
    int64_t most_bytes;                      /* larger ones would need too much memory */
    int64_t factor; /* between sizes, all of which are measured and no others; 0: that of --bytes */
    pto_space_t buffers;
    bool from_other;               /* messages come from the other memory */
    int detail[CASE_DETAIL_COUNT]; /* the benchmark's own */
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

/* A case at work, as one of its members sees it. */
typedef struct {
    const job_t *job;
    const case_t *what;
    MPI_Comm comm; /* the members, in the case's order */
    int me;        /* place among them */
    int64_t most_bytes;
    together_t *together;  /* starts the members of this node at one moment */
    void *state;           /* the benchmark's own */
    struct memory *memory; /* that is freed when the case is over (memory.h) */
} work_t;

/* Whose time a trial of `once` takes. */
typedef enum {
    TIMES_EACH,       /* every member's own */
    TIMES_LEAD,       /* that of the first, which acts alone */
    TIMES_ROUND_TRIP, /* half of the first one's */
    TIMES_TOGETHER    /* from one meeting of all members to the next, each time */
} times_t;

typedef struct {
    const char *name;
    const char *group; /* also understood by --only; NULL: the name */
    const char *rows;  /* what it writes into the column `benchmark`, with ", " between; NULL: the name */
    const char *summary;
    unsigned runs;        /* bits 1 << pto_runs_t: the ones of --runs that it is for; 0: those waited for */
    double share;         /* of --budget, for all cases; 0: all of it */
    const char *gpu_only; /* what is skipped where no GPU can be measured; NULL: `list` sees to it */
    size_t state_bytes;   /* of work_t's state, all 0 before `open` */
    /* NULL: a case of one process without sizes, on a GPU, for each of the rows, whose place is its detail.
     */
    void (*list)(const job_t *job, case_list_t *list);
    void (*open)(const work_t *work); /* NULL: nothing is to be prepared */
    /* What is timed. */
    void (*once)(const work_t *work, int64_t bytes);
    times_t times;
    /* Instead of `once`: do it `iterations` times; the seconds of this process for all of them, 0 for one
     * that only helps. */
    double (*trial)(const work_t *work, int64_t bytes, int iterations);
    /* NULL for cases without parts. The seconds of the last trial by part; leaves alone those of parts that
     * this process is not in. */
    void (*parts)(const work_t *work, double seconds[CASE_PART_MAX]);
    void (*close)(const work_t *work); /* NULL: nothing is left to undo; memory.h frees its memory */
} benchmark_t;

extern const benchmark_t *const benchmark_registry[];
extern const int benchmark_count;

/* Returns a new case in the list: sized, without a limit, one process, one message, all texts "-", and rank 0
 * as every member. The pointer holds until the next call. */
case_t *case_add(case_list_t *list, const char *benchmark, int member_count);

/* Returns such a case with buffers in a space, which its column `space` names. */
case_t *case_add_in(case_list_t *list, const char *benchmark, pto_space_t space, int member_count);

/* Lists a benchmark's cases. */
void case_list_fill(const benchmark_t *benchmark, const job_t *job, case_list_t *list);
void case_list_fini(case_list_t *list);

/* Note what can't be measured, formatted, and why. */
void case_missing(case_list_t *list, const char *reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Before the first trial of a case, and after the last. */
void work_open(work_t *work, const benchmark_t *benchmark);
void work_close(work_t *work, const benchmark_t *benchmark);

/* Do what the benchmark times `iterations` times. Returns the seconds of this process for all of them; 0 for
 * one that only helps. */
double work_trial(const work_t *work, const benchmark_t *benchmark, int64_t bytes, int iterations);

/* 1, 2, 3, 4, 6, 8, 12, ... and `most`: the counts of processes or messages that are worth a case. Returns
 * the next after `count`, or 0 after `most`. */
int next_count(int count, int most);

#endif
