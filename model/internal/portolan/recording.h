/* Recorded calls of a program or benchmark, counted by kind: the files of the profiler and of the drop-in
 * (docs/formats.md), what OSU's and NCCL's benchmarks print, and the traces of other tools
 * (docs/replaying.md). `portolan replay`, `fit` and `score` read them. A kind is all calls with the same
 * collective, size, shape of communicator and route. Part of libportolan-traces, which is not installed. */
#ifndef PORTOLAN_RECORDING_H
#define PORTOLAN_RECORDING_H

#include "portolan/api.h"
#include "portolan/samples.h"
#include "portolan/workload.h"

PTO_C_BEGIN

typedef enum {
    PTO_RECORDING_ANY, /* detected from the content */
    PTO_RECORDING_CALLS,
    PTO_RECORDING_OSU,
    PTO_RECORDING_NCCL_TESTS,
    PTO_RECORDING_IMB, /* Intel MPI Benchmarks */
    PTO_RECORDING_UCC_PERFTEST,
    PTO_RECORDING_UCX_PERFTEST,
    PTO_RECORDING_KINETO,         /* JSON of PyTorch's profiler */
    PTO_RECORDING_NCCL_INSPECTOR, /* JSON lines of NCCL's inspector plugin */
    PTO_RECORDING_CHAKRA,         /* protobuf */
    PTO_RECORDING_CHAKRA_JSON,
    PTO_RECORDING_PYTORCH_ET, /* JSON of PyTorch's execution trace observer */
    PTO_RECORDING_ALLPROF,    /* liballprof */
    PTO_RECORDING_GOAL,
    PTO_RECORDING_COUNT
} pto_recording_format_t;

/* "OSU" */
const char *pto_recording_format_name(pto_recording_format_t format);
/* "osu", as on the command line. */
const char *pto_recording_format_word(pto_recording_format_t format);

/* The part of a file that has been read, from 0 to 1; called every 64 KiB. */
typedef void (*pto_recording_progress_t)(void *context, double part);

/* When each process of a job was in each call, collected from the files of all processes. */
typedef struct pto_timeline pto_timeline_t;

/* NULL: out of memory. */
pto_timeline_t *pto_timeline_create(void);
size_t pto_timeline_count(const pto_timeline_t *timeline); /* of calls */
void pto_timeline_destroy(pto_timeline_t *timeline);

/* Information that a file may lack, and how to read it. */
typedef struct {
    pto_recording_format_t format;
    int64_t rank;            /* calls.csv, GOAL: whose calls; Chakra, Kineto: whose file; -1: not given */
    int64_t nodes;           /* benchmarks, Chakra; 0: not given */
    int64_t gpus_per_node;   /* processes of a node, one for each GPU */
    bool places_assumed;     /* gpus_per_node is the machine's: a file that lists processes overrides it */
    bool shape_unknown;      /* benchmarks: nodes and processes are not known, and calls not needed: only the
                                format, and collectives that are not supported, are found */
    int64_t gpus_per_socket; /* 0: a node is one socket */
    pto_collective_t collective; /* benchmarks; PTO_COLLECTIVE_COUNT: as in the file */
    const char *naming;          /* how the user names the collective, for errors; NULL: by --collective */
    bool as_gpu;                 /* treat host buffers as GPU buffers */
    bool by_memory;              /* benchmarks of MPI: routes are cuda_aware, or mpi for host buffers */
    bool refuses_unused;         /* refuse rank, nodes and collective if the format does not use them */
    /* Limit of the unpacked file's bytes plus 16 for each line, value and message; 0: about a minute's. */
    int64_t limit_bytes;
    /* Collects the times of the file's processes, in addition to those of earlier files; NULL: none. */
    pto_timeline_t *timeline;
    bool times_only;                   /* the recording's calls are not used by pto_delays_find */
    pto_recording_progress_t progress; /* NULL: none */
    void *context;
} pto_recording_options_t;

enum { PTO_RECORDING_ROUTE_MAX = 32 };

/* The calls of one kind. */
typedef struct {
    pto_collective_t collective;
    pto_level_t distance; /* of a pair; else 0 */
    int64_t bytes;        /* as in a scenario */
    int64_t nodes;
    int64_t gpus_per_node;
    int64_t per_node; /* communicators on a node, this one included */
    int64_t times;
    double measured_s;                   /* total of all; 0: unknown */
    char route[PTO_RECORDING_ROUTE_MAX]; /* a strategy, or "mpi" */
    int64_t messages;                    /* at once, of PTO_COLLECTIVE_MESSAGES; else 0 */
    /* Set by pto_delays_find: calls whose last process's arrival is known, and their total time after it. */
    int64_t compared;
    double transfer_s;
} pto_recording_call_t;

/* Counts of calls that were left out, by reason. */
typedef struct {
    int64_t others;      /* neither a collective of portolan's nor a message */
    int64_t on_host;     /* on buffers in host memory, without the options' `as_gpu` */
    int64_t sizeless;    /* the file does not give their size */
    int64_t torn;        /* rows that were interrupted by other output and could not be joined */
    int64_t uneven;      /* on communicators that have different numbers of processes on their nodes */
    int64_t other_procs; /* benchmarks: on another number of processes than the options' nodes have */
    int64_t timeless;    /* benchmarks: rows without a time, such as nan or -1.00, or with a size like 4MB */
    int64_t foreign;     /* benchmarks: rows of another one's output */
} pto_recording_skipped_t;

enum { PTO_RECORDING_REASON_MAX = 128 };
/* Format the next reason with its count. Start with `*next` = 0. Returns false after the last. */
bool pto_recording_left_out(const pto_recording_skipped_t *skipped, int *next,
                            char text[PTO_RECORDING_REASON_MAX]);

/* Free with pto_recording_fini. */
typedef struct {
    pto_recording_format_t format;
    int64_t rank;         /* whose calls; -1: unknown */
    int64_t listed_nodes; /* nccl-tests: hosts of the processes that the file lists; 0: unknown */
    char gpu[96];         /* nccl-tests, Kineto: the name of the first GPU that the file lists; "": unknown */
    int count;
    pto_recording_call_t *call;
    pto_recording_skipped_t skipped;
    int64_t sizes_assumed; /* NCCL inspector: calls whose size is assumed to be that of one block */
    /* Kineto: calls whose group is not in the file and is assumed to be all processes of the node. */
    int64_t groups_assumed;
    int64_t on_gpu;    /* calls that are known to be on GPU buffers */
    bool has_wrong;    /* nccl-tests, OSU: their own check of the results failed */
    bool non_blocking; /* OSU, IMB: some times are of non-blocking collectives */
} pto_recording_t;

/* Read a regular file or an open pipe (/dev/stdin, /dev/fd/N), compressed by gzip or not. The memory needed
 * depends only on the number of kinds of calls and on the longest line or event. Errors: PTO_ERR_IO; _SYNTAX
 * (no known format, malformed, truncated); _RANGE (a number out of bounds); _KEY (a number of nodes or a
 * collective is needed); _NOT_FOUND (benchmarks of unsupported collectives only); _NOT_APPLICABLE (the format
 * does not use an option, or the file contradicts one); _TOO_LARGE (more than 65,536 kinds of calls or 16,384
 * hosts, an event of more than 4 MiB, a line of more than 16 MiB, the options' limit, or, without one, 64 MiB
 * of a gzip file that unpacks to 500 times its size); _MEMORY. With line and column; in a binary file the
 * line is 1, and the column is the byte. */
pto_status_t pto_recording_read(const char *path, const pto_recording_options_t *options,
                                pto_recording_t *trace, pto_error_t *err);
void pto_recording_fini(pto_recording_t *trace);

typedef enum {
    PTO_DELAY_LATE,       /* a process or node that others wait for */
    PTO_DELAY_SLOW,       /* a node whose transfers take longer than those of others */
    PTO_DELAY_SLOW_LINK,  /* a slow link between two nodes, or two processes of a node */
    PTO_DELAY_SLOW_AMONG, /* one of several links or nodes is slow; the calls do not show which */
    PTO_DELAY_CAUSES
} pto_delay_cause_t;

enum { PTO_DELAY_PLACES_MAX = 16 };

typedef struct {
    pto_delay_cause_t cause;
    bool is_node; /* its places are nodes, else processes */
    int place_count;
    int64_t place[PTO_DELAY_PLACES_MAX];
    int64_t calls;  /* that were compared */
    int64_t last;   /* of these, those in which it arrived last */
    double late_s;  /* its median arrival after the median of the others */
    double noise_s; /* variation of one process's arrivals */
    double ratio;   /* slow: time of its transfers divided by that of equal ones elsewhere */
} pto_delay_t;

/* Free with pto_delays_fini. */
typedef struct {
    int64_t procs;
    int64_t calls; /* recorded by all their processes */
    /* Of these, not compared because their root, or the processes' clocks, are unknown: */
    int64_t rootless, clockless;
    int64_t missing;     /* the first process without any recorded call if others have some; else -1 */
    bool is_cut;         /* later calls were left out */
    bool only_durations; /* the times of calls are unknown; durations show lateness less reliably */
    bool hides_messages; /* the files have only collectives: a process that waits for a message looks late */
    /* Whether there were enough calls to tell which process is late (if only durations are known: and no
     * place is slow), and enough equal calls on different nodes or links to tell which of these is slow. */
    bool late_told, slow_told;
    int count;
    pto_delay_t *delay;
} pto_delays_t;

/* Find the processes, nodes and links that make others wait, or are slower than others of their kind.
 * `trace`, the recording that was read last, gets its `compared` and `transfer_s`. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_delays_find(pto_timeline_t *timeline, const pto_recording_options_t *options,
                             pto_recording_t *trace, pto_delays_t *delays, pto_error_t *err);
void pto_delays_fini(pto_delays_t *delays);
/* "late", "slow", "slow link", "slow among" */
const char *pto_delay_cause_name(pto_delay_cause_t cause);

/* Add measured collectives from collectives.csv (portolan/samples.h) or, where the path ends in
 * ":NODESxGPUS" or ":NODESxGPUS:COLLECTIVE", from the output of a benchmark of MPI (strategy cuda_aware, or
 * mpi for host buffers) or of nccl-tests (nccl). The suffix gives the numbers of nodes and of processes per
 * node, and the collective if the output does not name it. Rows of one file with the same size are averaged.
 * Errors: those of pto_collectives_read and pto_recording_read; PTO_ERR_KEY if the shape of a benchmark is
 * not given; PTO_ERR_SYNTAX for other recordings; PTO_ERR_NOT_FOUND for an unknown collective. */
pto_status_t pto_recording_collectives(const char *path, pto_collectives_t *collectives, pto_error_t *err);

/* Remarks on times of non-blocking collectives, which are compared with the prices of blocking ones, and on
 * wrong results. */
extern const char pto_recording_non_blocking[], pto_recording_wrong[];
/* Return the next remark on files read by pto_recording_collectives: these two, and rows that were left out.
 * Start with `*next` = 0. NULL: there are no more. */
const char *pto_recording_remark(const pto_collectives_t *collectives, int *next);

/* Whether reading `path` failed with `status` because of the suffix after the file's name (malformed, or
 * contradicted by the file), and not because of a fault of the file. */
bool pto_recording_contradicts(const char *path, pto_status_t status);

/* After a command could not read a file (`status`, which is returned): if the file is of another known kind,
 * replace the error by one that says which, and which command reads it. `is_recording`: only recordings. */
pto_status_t pto_recording_explain(const char *path, bool is_recording, pto_status_t status,
                                   pto_error_t *err);

/* Make a bound workload of these calls, in their order, for pto_step_predict_some. With `in_host`, their data
 * are in host memory. `left_out` has an error for each call and receives those of pto_scenario_check and
 * _bind. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_recording_workload(const pto_recording_t *trace, const pto_machine_t *machine, bool in_host,
                                    pto_workload_t *workload, pto_error_t *left_out, pto_error_t *err);

PTO_C_END

#endif
