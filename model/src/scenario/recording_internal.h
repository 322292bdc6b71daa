/* Shared by recording.c and recording_lines.c. */
#ifndef PTO_RECORDING_INTERNAL_H
#define PTO_RECORDING_INTERNAL_H

#include "portolan/recording.h"

/* Different texts, numbered in the order in which they were added. */
typedef struct {
    int count;
    size_t slots; /* a power of two */
    char **text;
    int *slot; /* 1 + the number of its text; 0: free */
} pto_text_index_t;

/* A call by its communicator, before its shape is known. */
typedef struct {
    pto_recording_call_t call;
    int communicator; /* -1: unknown */
    int64_t procs;
} pto_recording_kind_t;

/* The processes that were seen to call on a communicator. */
typedef struct {
    bool *has; /* by rank */
    int64_t ranks;
    int64_t count;
} pto_recording_members_t;

enum { PTO_RECORDING_COLUMNS_MAX = 24 };

typedef struct {
    const char *path;
    int line;
    const pto_recording_options_t *options;
    pto_recording_t *trace;
    pto_error_t *err;
    bool known; /* the format of trace->format */
    int column_count;
    int column[PTO_RECORDING_COLUMNS_MAX]; /* calls.csv: what each of its columns is; -1: not used */
    int time_column;                       /* nccl-tests */
    pto_collective_t collective;           /* of the benchmark; PTO_COLLECTIVE_COUNT: none of portolan's */
    int64_t benchmark_procs;               /* as nccl-tests lists them; 0: not yet */
    int64_t job_procs;
    pto_text_index_t communicators;
    int member_count;
    pto_recording_members_t *members; /* by communicator */
    pto_text_index_t kinds;
    pto_recording_kind_t *kind;
    int kind_room;
} pto_recording_reader_t;

/* Set the error, at the current line. */
pto_status_t pto_recording_fail(pto_recording_reader_t *reader, pto_status_t status, const char *message);

/* One line of any format, which it may change. */
pto_status_t pto_recording_line(pto_recording_reader_t *reader, char *line);

/* Count a call. */
pto_status_t pto_recording_add(pto_recording_reader_t *reader, const pto_recording_kind_t *kind,
                               double seconds);

/* The number of a communicator that this process has made a call on. */
pto_status_t pto_recording_communicator(pto_recording_reader_t *reader, const char *id, int64_t rank,
                                        int *number);

#endif
