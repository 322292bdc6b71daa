/* Recorded calls of a program or benchmark, counted by kind: the files of the profiler and of the drop-in
 * (docs/formats.md), what OSU's and NCCL's benchmarks print, and the traces of other tools
 * (docs/replaying.md). Part of libportolan-traces, which is not installed. */
#ifndef PORTOLAN_RECORDING_H
#define PORTOLAN_RECORDING_H

#include "portolan/api.h"
#include "portolan/samples.h"
#include "portolan/workload.h"

PTO_C_BEGIN

typedef enum {
    PTO_RECORDING_ANY, /* which its content tells */
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

/* When each process of a job was in each call, as the files of all of them say. */
typedef struct pto_timeline pto_timeline_t;

/* NULL: out of memory. */
pto_timeline_t *pto_timeline_create(void);
size_t pto_timeline_count(const pto_timeline_t *timeline); /* of calls */
void pto_timeline_destroy(pto_timeline_t *timeline);

/* How to read what a file does not say. */
typedef struct {
    pto_recording_format_t format;
    int64_t rank;            /* calls.csv, GOAL: whose calls; Chakra, Kineto: whose file; -1: not given */
    int64_t nodes;           /* benchmarks, Chakra; 0: not given */
    int64_t gpus_per_node;   /* processes of a node, one for each GPU */
    bool places_assumed;     /* gpus_per_node is the machine's: a file that lists processes knows better */
    bool shape_unknown;      /* benchmarks: only tell the format, and what portolan has no collective for */
    int64_t gpus_per_socket; /* 0: a node is one socket */
    pto_collective_t collective; /* benchmarks; PTO_COLLECTIVE_COUNT: as the file says */
    const char *naming;          /* how to name the collective, for errors; NULL: by --collective */
    bool as_gpu;                 /* take host buffers for GPU buffers */
    bool by_memory;              /* benchmarks of MPI: routes are cuda_aware, or mpi for host buffers */
    bool refuses_unused;         /* rank, nodes and collective where the format has no use for them */
    /* Of the unpacked file, with 16 more for each line, value and message; 0: what takes about a minute. */
    int64_t limit_bytes;
    /* Takes the times of the file's processes, besides those of others; NULL: none. */
    pto_timeline_t *timeline;
    bool times_only;                   /* the recording's calls are not those of pto_delays_find */
    pto_recording_progress_t progress; /* NULL: none */
    void *context;
} pto_recording_options_t;

enum { PTO_RECORDING_ROUTE_MAX = 32 };

/* Equal calls: of one collective, size, shape of communicator and route. */
typedef struct {
    pto_collective_t collective;
    pto_level_t distance; /* of a pair; else 0 */
    int64_t bytes;        /* as in a scenario */
    int64_t nodes;
    int64_t gpus_per_node;
    int64_t per_node; /* communicators on a node, this one included */
    int64_t times;
    double measured_s;                   /* of all; 0: unknown */
    char route[PTO_RECORDING_ROUTE_MAX]; /* a strategy, or "mpi" */
    int64_t messages;                    /* at once, of PTO_COLLECTIVE_MESSAGES; else 0 */
    /* pto_delays_find: those of them whose last process's arrival is known, and their times after it. */
    int64_t compared;
    double transfer_s;
} pto_recording_call_t;

/* Calls that are not among them. */
typedef struct {
    int64_t others; /* neither a collective of portolan's nor a message */
    int64_t on_host;
    int64_t sizeless;
    int64_t torn;        /* rows that other output interrupted, and that could not be put together */
    int64_t uneven;      /* on communicators that have different numbers of processes on their nodes */
    int64_t other_procs; /* benchmarks: on another number of processes than the options' nodes have */
    int64_t timeless;    /* benchmarks: rows without a time, such as nan or -1.00, or with a size like 4MB */
} pto_recording_skipped_t;

enum { PTO_RECORDING_REASON_MAX = 128 };
/* Formats the next reason, and how many calls were left out for it. `*next` is 0 at first. False: there are
 * no more. */
bool pto_recording_left_out(const pto_recording_skipped_t *skipped, int *next,
                            char text[PTO_RECORDING_REASON_MAX]);

/* Free with pto_recording_fini. */
typedef struct {
    pto_recording_format_t format;
    int64_t rank;         /* whose calls; -1: unknown */
    int64_t listed_nodes; /* nccl-tests: hosts of the processes that the file lists; 0: unknown, or uneven */
    char gpu[96];         /* nccl-tests, Kineto: the name of the first GPU that the file lists; "": unknown */
    int count;
    pto_recording_call_t *call;
    pto_recording_skipped_t skipped;
    int64_t sizes_assumed; /* NCCL inspector: calls whose size is taken to be that of one block */
    /* Kineto: calls whose group is not in the file, and is taken to be all processes of the node. */
    int64_t groups_assumed;
    int64_t on_gpu;    /* calls that are known to be on GPU buffers */
    bool has_wrong;    /* nccl-tests, OSU: their own check of the results failed */
    bool non_blocking; /* OSU, IMB: some times are of non-blocking collectives */
} pto_recording_t;

/* Read a regular file or an open pipe (/dev/stdin, /dev/fd/N), compressed by gzip or not, in memory that
 * depends on the kinds of calls and on the longest line or event alone. Errors: PTO_ERR_IO; _SYNTAX (none of
 * the formats, not of its format, ends early); _RANGE (a number out of bounds); _KEY (a number of nodes or a
 * collective is needed); _NOT_FOUND (benchmarks of nothing that portolan has); _NOT_APPLICABLE
 * (the format has no use for an option, or the file contradicts one); _TOO_LARGE (more than 65,536 kinds of
 * calls or 16,384 hosts, an event of more than 4 MiB, a line of more than 16 MiB, the options' limit, or,
 * without one, 64 MiB of a gzip file that unpacks to 500 times its size); _MEMORY. With line and column; of
 * a binary file the line is 1, and the column the byte. */
pto_status_t pto_recording_read(const char *path, const pto_recording_options_t *options,
                                pto_recording_t *trace, pto_error_t *err);
/* The same from memory; `path` only names the text. */
pto_status_t pto_recording_parse(const char *text, size_t text_size, const char *path,
                                 const pto_recording_options_t *options, pto_recording_t *trace,
                                 pto_error_t *err);
void pto_recording_fini(pto_recording_t *trace);

/* --- who makes others wait ------------------------------------------------------------------------------ */

typedef enum {
    PTO_DELAY_LATE,       /* a process or node that others wait for */
    PTO_DELAY_SLOW,       /* a node whose transfers take longer than those of others */
    PTO_DELAY_SLOW_LINK,  /* the same of a link between two nodes, or two processes of a node */
    PTO_DELAY_SLOW_AMONG, /* a link or node among several: calls don't tell which */
    PTO_DELAY_CAUSES
} pto_delay_cause_t;

enum { PTO_DELAY_PLACES_MAX = 16 };

typedef struct {
    pto_delay_cause_t cause;
    bool is_node; /* its places are nodes, else processes */
    int place_count;
    int64_t place[PTO_DELAY_PLACES_MAX];
    int64_t calls;  /* that were compared */
    int64_t last;   /* of these, those in which it came last */
    double late_s;  /* the median, behind the median of the others */
    double noise_s; /* how much arrivals of one process vary */
    double ratio;   /* slow: the time of its transfers, by that of equal ones elsewhere */
} pto_delay_t;

/* Free with pto_delays_fini. */
typedef struct {
    int64_t procs;
    int64_t calls; /* that all their processes show */
    int64_t rootless,
        clockless;       /* of these, not compared: their root, or the processes' clocks, are unknown */
    int64_t missing;     /* the first process of which no call is known, where some of others are; else -1 */
    bool is_cut;         /* later calls were left out */
    bool is_bare;        /* only durations are known, which tell less of who is late */
    bool hides_messages; /* the files have collectives alone: who waits for a message looks late, too */
    /* Whether there were enough calls to tell which process is late (and, of durations alone, no slow place),
     * and enough equal ones of different nodes or links to tell which of these is slow. */
    bool late_told, slow_told;
    int count;
    pto_delay_t *delay;
} pto_delays_t;

/* Which processes, nodes and links make others wait, or take longer than their like. The times after the last
 * process's arrival are added to the calls of the recording, which was read last. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_delays_find(pto_timeline_t *timeline, const pto_recording_options_t *options,
                             pto_recording_t *trace, pto_delays_t *delays, pto_error_t *err);
void pto_delays_fini(pto_delays_t *delays);
/* "late", "slow", "slow link", "slow among" */
const char *pto_delay_cause_name(pto_delay_cause_t cause);

/* Add measured collectives from collectives.csv (portolan/samples.h) or, where the path ends in
 * ":NODESxGPUS" or ":NODESxGPUS:COLLECTIVE", from the output of a benchmark of MPI (strategy cuda_aware, or
 * mpi for host buffers) or of nccl-tests (nccl), with the number of nodes and of processes on each, and the
 * collective where the output does not name it. Rows of one file with the same size are averaged. Errors:
 * those of pto_collectives_read and pto_recording_read; PTO_ERR_KEY if the output of a benchmark lacks its
 * shape; PTO_ERR_SYNTAX for other recordings; PTO_ERR_NOT_FOUND for an unknown collective. */
pto_status_t pto_recording_collectives(const char *path, pto_collectives_t *collectives, pto_error_t *err);

/* Remarks on times of non-blocking collectives, which are compared with the prices of blocking ones, and on
 * wrong results. */
extern const char pto_recording_non_blocking[], pto_recording_wrong[];
/* Returns the next remark on the files that pto_recording_collectives has read: these two, and what was left
 * out of them. `*next` is 0 at first. NULL: there are no more. */
const char *pto_recording_remark(const pto_collectives_t *collectives, int *next);

/* Whether it failed because the file contradicts the shape after its name, or by what stands there, not by a
 * fault of the file. */
bool pto_recording_contradicts(const char *path, pto_status_t status);

/* Where a file could not be read as a command needs it (`status`, which is returned): the error becomes what
 * the file is, and which command reads it, if that is known. `is_recording`: the command needs a recording.
 */
pto_status_t pto_recording_explain(const char *path, bool is_recording, pto_status_t status,
                                   pto_error_t *err);

/* A bound workload of these calls, in their order, for pto_step_predict_some. With `in_host`, their data are
 * in host memory. `left_out` has an error for each call, and takes those of pto_scenario_check and _bind.
 * Errors: PTO_ERR_MEMORY. */
pto_status_t pto_recording_workload(const pto_recording_t *trace, const pto_machine_t *machine, bool in_host,
                                    pto_workload_t *workload, pto_error_t *left_out, pto_error_t *err);

PTO_C_END

#endif
