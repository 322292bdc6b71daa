/* Shared functions of the readers of the formats: counting calls, communicators, errors with their place. */
#ifndef PTO_TRACES_READER_H
#define PTO_TRACES_READER_H

#include <jansson.h>

#include "portolan/recording.h"
#include "source.h"
#include "texts.h"
#include "timeline.h"

/* A call by its communicator, before its shape is known. */
typedef struct {
    pto_recording_call_t call;
    int communicator; /* -1: unknown */
    int64_t procs;
    int64_t nodes;  /* that the communicator extends over; 0: not given; -1: in unequal numbers */
    bool is_launch; /* on a CPU; where the file has the GPU's calls as well, it is one of them */
    int number;     /* among the reader's kinds */
} pto_recording_kind_t;

enum { PTO_RECORDING_COLUMNS_MAX = 24, PTO_BENCH_ROW_MAX = 1024 };

/* The form of what a launcher puts before each line (prefix.c); an empty form: nothing. */
typedef struct {
    char form[128];
    int blanks; /* that follow */
    size_t last_length;
    char last[256]; /* the text of the last one, which often comes again */
} pto_prefix_t;

/* The processes that a benchmark lists, by host. */
typedef struct {
    char name[64];
    int64_t procs;
} pto_recording_host_t;

typedef struct {
    int64_t procs; /* 0: none yet */
    int host_count;
    size_t host_room;
    pto_recording_host_t *host;
    int64_t last_rank; /* the highest */
    int64_t rank_room;
    bool *has_rank;
} pto_recording_listed_t;

/* The table of a benchmark that is being read. */
typedef struct {
    char program[64];            /* "": the file does not name it */
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT: unknown, or none of portolan's */
    bool of_all;                 /* sizes are bytes of the blocks of all processes */
    bool on_host;                /* the buffers are in host memory */
    bool of_nccl;                /* OSU's benchmarks of NCCL */
    bool on_gpus;                /* IMB: the program was told to allocate them on a GPU */
    bool is_foreign;             /* rows of another format than the file's are passed over */
    int column;                  /* of the value in each row; 0: no heading yet */
    int columns;                 /* of the heading */
    int least;                   /* columns that a row must have */
    int numbers;                 /* how many of the first are whole numbers */
    int size_column;
    int wrong_column;    /* nccl-tests: of how many elements were wrong; 0: none */
    bool is_rate;        /* the value is 10^6 bytes a second, else microseconds */
    int64_t messages;    /* that are in flight at once, where the benchmark sends messages; else 0 */
    int64_t procs;       /* as the heading says; 0: it does not */
    int64_t unfit_procs; /* of the first row whose processes the options' nodes don't have */
    int unfit_line;
    int64_t message_bytes;        /* ucx_perftest: of the test; 0: not known */
    int element_bytes;            /* OSU: what it divides among the processes, where `of_all`; else 0 */
    bool rounds_down;             /* its blocks leave a remainder out */
    char torn[PTO_BENCH_ROW_MAX]; /* the beginning of a row that another line interrupted; "": none */
    char debug_host[64];          /* of a debug line; "": there was none */
} pto_bench_t;

/* An operator's request to the kernels that it launches. */
typedef struct {
    int64_t id; /* 1 and up; 0: none */
    pto_collective_t collective;
    double bytes;
} pto_launch_t;

typedef struct {
    size_t count, slots; /* a power of two, or 0 */
    pto_launch_t *slot;
} pto_launches_t;

/* Kineto: which process wrote the file, and of how many. Where that came after the calls, the file is read a
 * second time. */
typedef struct {
    int64_t rank, procs; /* -1, 0: unknown */
    bool came_late;
} pto_recording_job_t;

typedef struct {
    const char *path;
    pto_source_t *source;
    int line, column; /* of what is being read */
    const pto_recording_options_t *options;
    pto_recording_t *trace;
    pto_error_t *err;
    bool known; /* the format of trace->format */
    int column_count;
    int columns[PTO_RECORDING_COLUMNS_MAX]; /* calls.csv: what each of its columns is; -1: not used */
    pto_prefix_t prefix;
    pto_bench_t benchmark;
    pto_recording_listed_t listed;
    int64_t goal_ranks;      /* GOAL */
    int64_t goal_rank;       /* GOAL: of the block that is open; -1: none */
    pto_launches_t launches; /* Kineto */
    bool has_first_us;       /* Kineto, NCCL inspector */
    double first_us;         /* of the first timed call; times are from there, to be exact */
    char process[256];       /* NCCL inspector: of the first call */
    int64_t job_procs;
    pto_recording_job_t *job;
    bool has_job;       /* what `job` is from has been read */
    int64_t most_rank;  /* that a message names */
    bool has_gpu_calls; /* besides launches */
    pto_recording_skipped_t launch_skipped;
    pto_recording_groups_t own_groups, *groups; /* of all files, where calls.csv's are compared */
    pto_text_index_t kinds;
    pto_recording_kind_t *kind;
    size_t kind_room;
    int last_kind; /* of the call that was counted last; -1: it was left out */
} pto_recording_reader_t;

bool pto_recording_is_benchmark(pto_recording_format_t format);
/* Returns whether traces of a format may leave open how many processes there were. Benchmarks may as well. */
bool pto_recording_takes_nodes(pto_recording_format_t format);
/* Set the error, at the place of what is being read. Returns `status`. */
pto_status_t pto_recording_fail(pto_recording_reader_t *reader, pto_status_t status, const char *format, ...)
    PTO_PRINTF_LIKE(3, 4);
/* The format is known now. PTO_ERR_SYNTAX if the options ask for another, or if it was another before. */
pto_status_t pto_recording_found(pto_recording_reader_t *reader, pto_recording_format_t format);

/* The name of a GPU of the machine that the file is from. The first one is kept, unless it is too long. */
void pto_recording_note_gpu(pto_recording_reader_t *reader, const char *name);

/* --- calls ---------------------------------------------------------------------------------------------- */

/* Count a call; 0 seconds: unknown. */
pto_status_t pto_recording_add(pto_recording_reader_t *reader, const pto_recording_kind_t *kind,
                               double seconds);

/* Note when a process was in a call: the one that was counted last. Nothing without a timeline, and if
 * neither the rank nor a seat is known. */
pto_status_t pto_recording_time(pto_recording_reader_t *reader, const char *communicator, const char *routine,
                                pto_timed_t *timed);

/* Returns the number of a communicator that was seen before; -1: it was not. */
int pto_recording_known_communicator(const pto_recording_reader_t *reader, const char *id);
/* The number of a communicator that this process has made a call on. */
pto_status_t pto_recording_communicator(pto_recording_reader_t *reader, const char *id, int64_t rank,
                                        int *number);

/* A trace's record of one call of one process. */
typedef struct {
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT: none of portolan's */
    double input_bytes;          /* of the process; negative: unknown */
    double output_bytes;         /* the same */
    int64_t procs;               /* 0: those of the options */
    int64_t nodes;               /* 0: not given */
    int communicator;            /* -1: unknown */
    int64_t rank, peer;          /* of a message; negative: unknown, then they are neighbors */
    const char *route;           /* a strategy, or "mpi" */
    bool is_launch;
    double seconds; /* 0: unknown */
} pto_recorded_call_t;

/* Count it among the calls or among those that cannot be replayed. Errors: PTO_ERR_KEY if the number of
 * processes is not known; those of pto_recording_add. */
pto_status_t pto_recording_count(pto_recording_reader_t *reader, const pto_recorded_call_t *call);

/* Returns the collective that a name begins with, as PyTorch and NCCL write them: "_allgather_base",
 * "AllGather", "c10d::allgather_", "ncclDevKernel_AllGather_RING_LL"; a send or receive is
 * PTO_COLLECTIVE_PAIR. PTO_COLLECTIVE_COUNT: none. */
pto_collective_t pto_recording_collective(const char *name);
/* Returns which processes the call of that name makes wait, as far as it follows from the collective: who is
 * the root is not in the traces of NCCL. */
pto_timed_way_t pto_recording_way(pto_collective_t collective, const char *name);
/* Returns the bytes of an element of PyTorch's types ("Float", "c10::BFloat16", "long int"); 0: unknown. */
int pto_recording_element_bytes(const char *type);

/* --- launches ------------------------------------------------------------------------------------------- */

/* Remember a launch; those beyond 2^20 and those without an id are not. False: out of memory. */
bool pto_launches_add(pto_launches_t *launches, const pto_launch_t *launch);
/* NULL: it is not known. */
const pto_launch_t *pto_launches_find(const pto_launches_t *launches, int64_t id);

/* --- texts ---------------------------------------------------------------------------------------------- */

/* Cut a line at its separators, several of which count as one if `joined`; the number of fields. */
int pto_recording_split(char *line, const char *separators, bool joined,
                        char *field[PTO_RECORDING_COLUMNS_MAX]);
/* A whole number of 0 and up; false: it is not one. */
bool pto_recording_whole(const char *text, int64_t *value);
/* Such a number, or one of KiB, MiB or GiB ("4M", "4MiB"); -1 for "4MB", which may be 4,000,000 bytes. */
bool pto_recording_size(const char *text, int64_t *bytes);
/* A finite time from 0 to 1e12; false: it is not one. */
bool pto_recording_seconds(const char *text, double *value);

/* --- formats -------------------------------------------------------------------------------------------- */

/* All formats in lines of text. */
pto_status_t pto_recording_read_lines(pto_recording_reader_t *reader);
/* Between the columns of tables as they are printed, and as they are copied into others. */
#define PTO_BENCH_BLANKS " \t\r|,;"

/* A test of a benchmark. Sizes are bytes of a vector or of a block, or (`of_all`) of the blocks of all. */
typedef struct {
    const char *name;
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT: one that portolan does not have */
    bool of_all;
} pto_bench_test_t;

/* Whether bytes of a call's input are those of the blocks for all processes. */
#define PTO_RECORDED_BY_BLOCK(data)                                                                          \
    (PTO_DATA_##data == PTO_DATA_BLOCKS || PTO_DATA_##data == PTO_DATA_SCATTERED)

/* A test of each collective that MPI has a routine for, named as the routine: X of PTO_COLLECTIVE_TABLE. */
#define PTO_BENCH_TEST_MPI(id, routine, of_all) {routine, PTO_COLLECTIVE_##id, of_all},
#define PTO_BENCH_TEST_NEIGHBORS(id, routine, of_all)
#define PTO_BENCH_TEST_NONE(id, routine, of_all)

/* A benchmark's tests, its own lines that begin its output, and the rows and comments that follow. */
typedef struct {
    pto_recording_format_t format;
    const pto_bench_test_t *test;
    int test_count;
    bool (*is_heading)(const char *line);
    pto_status_t (*read_line)(pto_recording_reader_t *reader, char *line);
} pto_bench_format_t;

extern const pto_bench_format_t pto_osu_format, pto_nccl_tests_format, pto_imb_format, pto_ucc_format,
    pto_ucx_format;

/* Returns the benchmark whose heading a line holds, which `*heading` points to; NULL: none. */
const pto_bench_format_t *pto_bench_find(char *line, char **heading);
/* At the first heading. PTO_ERR_NOT_APPLICABLE: the options name a collective that the benchmark does not
 * have. */
pto_status_t pto_bench_found(pto_recording_reader_t *reader, const pto_bench_format_t *format);
/* A line of a file whose format is that of a benchmark. */
pto_status_t pto_bench_line(pto_recording_reader_t *reader, char *line);
/* Returns the value that a line has behind a label; NULL: it is another line. */
const char *pto_bench_value(const char *line, const char *label);
/* Returns the number of processes or messages that the text begins with; 0: none, or one above 2^20. */
int64_t pto_bench_count(const char *text);
/* Returns the test of that name; NULL: there is none. */
const pto_bench_test_t *pto_bench_test(const pto_bench_test_t *test, int count, const char *name);
/* Names what the rows measure; `test` is NULL if portolan does not have it. PTO_ERR_NOT_APPLICABLE if the
 * options name another collective. */
pto_status_t pto_bench_name(pto_recording_reader_t *reader, const char *program,
                            const pto_bench_test_t *test);
/* Adds a row: a size, and the value in the benchmark's column. */
pto_status_t pto_bench_row(pto_recording_reader_t *reader, int64_t bytes, double value);
/* Adds a row of whole numbers and times in columns of their own; counts one without its size or time. */
pto_status_t pto_bench_plain_row(pto_recording_reader_t *reader, char *line);
/* Where a debug line of NCCL begins, even within a row; NULL: nowhere. */
char *pto_bench_debug(pto_recording_reader_t *reader, char *line);
/* A line without the debug line of NCCL that is within it; the row behind one. */
char *pto_bench_uninterrupted(pto_recording_reader_t *reader, char *line);
/* Puts a row together that other output has interrupted. False: more of it follows, or the line is not part
 * of a row. */
bool pto_bench_join(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]);
/* PTO_ERR_SYNTAX if commas stand within the numbers of a row, whose columns blanks separate. */
pto_status_t pto_bench_check_commas(pto_recording_reader_t *reader, const char *row);
/* Drops the row that was being put together: the rest of it is missing. */
void pto_bench_drop_torn(pto_recording_reader_t *reader);
/* Fails as the file does not name its collective. */
pto_status_t pto_bench_fail_nameless(pto_recording_reader_t *reader);
/* Adds a process that the file lists. The name of its host has `length` characters; 0: the file does not name
 * it. */
pto_status_t pto_bench_process(pto_recording_reader_t *reader, int64_t rank, const char *host, size_t length);
void pto_bench_forget_processes(pto_recording_reader_t *reader);
/* Fails if there were rows of unknown programs alone. */
pto_status_t pto_bench_end(pto_recording_reader_t *reader);

/* Learns the form of the first `length` bytes of a line; false: they are not a prefix. */
bool pto_prefix_learn(pto_prefix_t *prefix, const char *line, size_t length);
/* Returns the text after the prefix; the whole line if it has none. */
char *pto_prefix_skip(pto_prefix_t *prefix, char *line);

pto_status_t pto_allprof_line(pto_recording_reader_t *reader, char *line);
pto_status_t pto_goal_line(pto_recording_reader_t *reader, char *line);
pto_status_t pto_goal_end(pto_recording_reader_t *reader);
/* Reads a file of any format in JSON. */
pto_status_t pto_recording_read_json(pto_recording_reader_t *reader);
pto_status_t pto_kineto_event(pto_recording_reader_t *reader, const json_t *event);
/* False: pto_kineto_event would do nothing with the event that is this text. */
bool pto_kineto_may_matter(const char *text);
/* nccl-tests with -J. */
pto_status_t pto_nccl_tests_record(pto_recording_reader_t *reader, const json_t *record);
pto_status_t pto_inspector_record(pto_recording_reader_t *reader, const json_t *record);
/* A node of `workload_graph`, of the `nodes` of PyTorch's execution trace, and of a protobuf in JSON. */
pto_status_t pto_chakra_graph_node(pto_recording_reader_t *reader, const json_t *object);
pto_status_t pto_pytorch_node(pto_recording_reader_t *reader, const json_t *node);
pto_status_t pto_chakra_record(pto_recording_reader_t *reader, const json_t *record);
/* Chakra in protobuf. */
pto_status_t pto_recording_read_chakra(pto_recording_reader_t *reader);

#endif
