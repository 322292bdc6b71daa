/* What the readers of all formats share: counting calls, communicators, and errors with their place. */
#ifndef PTO_TRACES_READER_H
#define PTO_TRACES_READER_H

#include <jansson.h>

#include "base/slots.h"
#include "portolan/recording.h"
#include "source.h"
#include "texts.h"
#include "timeline.h"

/* Equal calls on one communicator, whose shape is not known yet. */
typedef struct {
    pto_recording_call_t call;
    int communicator; /* -1 if unknown */
    int64_t procs;
    int64_t nodes;  /* of the communicator; 0 if not given, -1 if they have unequal numbers of processes */
    bool is_launch; /* on a CPU, of a call that the file may have as a GPU's as well */
    int number;     /* index among the reader's kinds */
} pto_recording_kind_t;

enum { PTO_RECORDING_COLUMNS_MAX = 24, PTO_BENCH_ROW_MAX = 1024, PTO_BENCH_DEBUG_HOSTS = 16 };

/* The form of the prefix that a launcher writes before each line (prefix.c); empty if there is none. */
typedef struct {
    char form[128];
    int blanks; /* that follow the prefix */
} pto_prefix_t;

/* The processes that a benchmark lists. */
typedef struct {
    pto_recording_members_t processes;
    int64_t last_rank; /* the highest */
    pto_text_index_t hosts;
    size_t host_room;
    int64_t *host_procs; /* of each host */
    bool has_torn_host;  /* other output is in a host's name */
    char torn[256];      /* the beginning of a process's line that other output has interrupted; "" if none */
    size_t torn_at;      /* where letters of it may be lost; 0 if none are */
} pto_recording_listed_t;

/* The table of a benchmark that is being read. */
typedef struct {
    char program[64];            /* "" if the file does not name it */
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT if unknown, or if portolan does not have it */
    bool of_all;                 /* sizes are bytes of the blocks of all processes */
    bool on_host;                /* the buffers are in host memory */
    bool of_nccl;                /* OSU's benchmarks of NCCL */
    bool on_gpus;                /* IMB was told to allocate the buffers on a GPU */
    bool is_foreign;             /* the rows are of another format than the file's, and are skipped */
    int column;                  /* of the value in each row; 0 before the heading */
    int columns;                 /* of the heading */
    int least;                   /* how many columns a row must have */
    int numbers;                 /* how many of the first columns are whole numbers */
    int size_column;
    int decimals;         /* of the last number of the line before that begins with one */
    bool is_numeric;      /* rows are numbers alone; the next four are of such a table */
    int rows;             /* that were read */
    int64_t size[2];      /* of the last two rows; -1 if not clear */
    int decimals_of_rows; /* of the last number */
    bool torn_unclear;    /* the last digits of `torn` may be of other output */
    bool torn_no_time;    /* `torn` does not begin like a date or a time of day */
    bool is_glued;        /* letters before that line may be a part of it, as its host is not known */
    bool is_unclear;      /* the digits before the debug line that was found last may be of it */
    unsigned debug_lines; /* of hosts that were not known */
    int wrong_column;     /* nccl-tests, IMB: of the number of wrong elements; 0 if none */
    bool is_rate;         /* the value is 10^6 bytes a second, else microseconds */
    int64_t messages;     /* in flight at once, if the benchmark sends messages; else 0 */
    int64_t procs;        /* of the heading; 0 if it does not say */
    int64_t unfit_procs;  /* of the first row that is of another number of processes than the options' */
    int unfit_line;
    int64_t message_bytes;        /* ucx_perftest: of the test; 0 if unknown */
    int element_bytes;            /* OSU: of the elements that it divides among processes, if `of_all` */
    bool rounds_down;             /* its blocks leave out a remainder */
    char command[64];             /* nccl-tests: of the line before the first heading; "" if none, or read */
    char torn[PTO_BENCH_ROW_MAX]; /* the beginning of a row that another line interrupted; "" if none */
    char debug_host[PTO_BENCH_DEBUG_HOSTS][64]; /* of debug lines; "" behind the last */
} pto_bench_t;

/* Kineto: which process wrote the file, and of how many. */
typedef struct {
    int64_t rank, procs; /* -1 and 0 if unknown */
    bool came_late;      /* after the first calls: then the file is read a second time */
} pto_recording_job_t;

typedef struct {
    const char *path;
    pto_source_t *source;
    int line, column; /* of what is being read */
    const pto_recording_options_t *options;
    pto_recording_t *trace;
    pto_error_t *err;
    bool known;         /* trace->format is set */
    bool has_job;       /* what sets `job` has been read */
    bool has_gpu_calls; /* besides launches */
    int json_line;      /* the first line with JSON, while the format is unknown; 0: none */
    int other_line;     /* the first line of another benchmark than the one that was asked for; 0: none */
    int column_count;
    pto_recording_format_t other;           /* which benchmark that line is of */
    int columns[PTO_RECORDING_COLUMNS_MAX]; /* calls.csv: the field of each column; -1 if not used */
    pto_prefix_t prefix;
    pto_bench_t benchmark;
    pto_recording_listed_t listed;
    int64_t goal_ranks;    /* GOAL */
    int64_t goal_rank;     /* GOAL: of the open block; -1 if none */
    pto_slots_t operators; /* Kineto: those of symmetric memory */
    bool has_first_us;     /* Kineto, NCCL inspector */
    double first_us;       /* of the first timed call; times count from there, which keeps them exact */
    char process[256];     /* NCCL inspector: of the first call */
    int64_t job_procs;
    pto_recording_job_t *job;
    int64_t most_rank; /* the highest rank in messages */
    pto_recording_skipped_t launch_skipped;
    pto_recording_groups_t own_groups,
        *groups; /* `groups`: the timeline's, if it compares files of calls.csv */
    pto_text_index_t kinds;
    pto_recording_kind_t *kind;
    size_t kind_room;
    int last_kind; /* of the last counted call; -1 if it was left out */
} pto_recording_reader_t;

bool pto_recording_is_benchmark(pto_recording_format_t format);
/* Returns whether traces of a format, benchmarks aside, may not say how many processes there were. */
bool pto_recording_takes_nodes(pto_recording_format_t format);
/* Sets the error, at the place of what is being read. Returns `status`. */
pto_status_t pto_recording_fail(pto_recording_reader_t *reader, pto_status_t status, const char *format, ...)
    PTO_PRINTF_LIKE(3, 4);
/* Sets the format. PTO_ERR_SYNTAX if the options ask for another one, or if it was another one before. */
pto_status_t pto_recording_found(pto_recording_reader_t *reader, pto_recording_format_t format);

/* Stores the name of a GPU of the machine that the file is from: the first one that is not too long. */
void pto_recording_note_gpu(pto_recording_reader_t *reader, const char *name);

/* --- calls ---------------------------------------------------------------------------------------------- */

/* Counts a call; 0 seconds if unknown. */
pto_status_t pto_recording_add(pto_recording_reader_t *reader, const pto_recording_kind_t *kind,
                               double seconds);

/* Adds the times of the call that was counted last to the timeline, if there is one and the rank is known. */
pto_status_t pto_recording_time(pto_recording_reader_t *reader, const char *communicator, const char *routine,
                                pto_timed_t *timed);

/* Returns the number of a communicator; -1 if it is new. */
int pto_recording_known_communicator(const pto_recording_reader_t *reader, const char *id);
/* Adds a process to a communicator, which may be new, and finds its number. */
pto_status_t pto_recording_communicator(pto_recording_reader_t *reader, const char *id, int64_t rank,
                                        int *number);

/* A call of one process, as a trace records it. */
typedef struct {
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT if portolan does not have it */
    double input_bytes;          /* of the process; negative if unknown */
    double output_bytes;         /* the same */
    int64_t procs;               /* 0 for those of the options */
    int64_t nodes;               /* 0 if not given */
    int communicator;            /* -1 if unknown */
    int64_t rank, peer;          /* of a message; negative if unknown: then they are taken for neighbors */
    const char *route;           /* a strategy, or "mpi" */
    bool is_launch;
    double seconds; /* 0 if unknown */
} pto_recorded_call_t;

/* Counts a call; as skipped, if it cannot be replayed. PTO_ERR_KEY if the number of processes is unknown. */
pto_status_t pto_recording_count(pto_recording_reader_t *reader, const pto_recorded_call_t *call);

/* Returns the collective that a name begins with, as PyTorch and NCCL write them: "_allgather_base",
 * "AllGather", "c10d::allgather_", "ncclDevKernel_AllGather_RING_LL". PTO_COLLECTIVE_PAIR for a send or
 * receive, PTO_COLLECTIVE_COUNT for other names. */
pto_collective_t pto_recording_collective(const char *name);
/* Returns which processes wait for which in a call of that name. NCCL's traces do not say who is the root. */
pto_timed_way_t pto_recording_way(pto_collective_t collective, const char *name);
/* Returns the bytes of an element of PyTorch's types ("Float", "c10::BFloat16", "long int"); 0 if unknown. */
int pto_recording_element_bytes(const char *type);

/* --- texts ---------------------------------------------------------------------------------------------- */

/* Replaces the blanks that do not break, as in text copied from pages, by others. */
void pto_recording_replace_blanks(char *line);
/* Splits a line at separators; if `joined`, several in a row count as one. Returns the number of fields. */
int pto_recording_split(char *line, const char *separators, bool joined,
                        char *field[PTO_RECORDING_COLUMNS_MAX]);
/* Reads a whole number of 0 or more; false if the text is none. */
bool pto_recording_whole(const char *text, int64_t *value);
/* Reads such a number, also as "1.024e3", or one of bytes, KiB, MiB or GiB ("4M", "4MiB"); -1 for "4MB",
 * which may be 4,000,000 bytes. */
bool pto_recording_size(const char *text, int64_t *bytes);
/* Reads a finite time from 0 to 1e12; false if the text is none. */
bool pto_recording_seconds(const char *text, double *value);

/* --- formats -------------------------------------------------------------------------------------------- */

/* Reads a file of any format in lines of text. */
pto_status_t pto_recording_read_lines(pto_recording_reader_t *reader);
/* What separates columns, in tables as printed and as copied into other documents. */
#define PTO_BENCH_BLANKS " \t\r|,;"

/* A test of a benchmark. Sizes are bytes of a vector or of a block or, if `of_all`, of the blocks of all. */
typedef struct {
    const char *name;
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT if portolan does not have it */
    bool of_all;
} pto_bench_test_t;

/* Whether bytes of a call's input are those of the blocks for all processes. */
#define PTO_RECORDED_BY_BLOCK(data)                                                                          \
    (PTO_DATA_##data == PTO_DATA_BLOCKS || PTO_DATA_##data == PTO_DATA_SCATTERED)

/* A test of each collective that MPI has a routine for, named as the routine: X of PTO_COLLECTIVE_TABLE. */
#define PTO_BENCH_TEST_MPI(id, routine, of_all) {routine, PTO_COLLECTIVE_##id, of_all},
#define PTO_BENCH_TEST_NEIGHBORS(id, routine, of_all)
#define PTO_BENCH_TEST_NONE(id, routine, of_all)

/* A benchmark: its tests, the lines by which it is recognized, and how the lines after them are read. */
typedef struct {
    pto_recording_format_t format;
    const pto_bench_test_t *test;
    int test_count;
    bool (*is_heading)(const char *line);
    pto_status_t (*read_line)(pto_recording_reader_t *reader, char *line);
} pto_bench_format_t;

extern const pto_bench_format_t pto_osu_format, pto_nccl_tests_format, pto_imb_format, pto_ucc_format,
    pto_ucx_format;

/* Returns the benchmark whose heading a line has, and sets `*heading` to where it begins; NULL if none. */
const pto_bench_format_t *pto_bench_find(char *line, char **heading);
/* Sets the format. PTO_ERR_NOT_APPLICABLE if the benchmark does not have the options' collective. */
pto_status_t pto_bench_found(pto_recording_reader_t *reader, const pto_bench_format_t *format);
/* Reads a line of a file whose format is that of a benchmark. */
pto_status_t pto_bench_line(pto_recording_reader_t *reader, char *line);
/* Returns the value after a label at the beginning of a line; NULL if the line is another one. */
const char *pto_bench_value(const char *line, const char *label);
/* Returns the number of processes or messages that the text begins with; 0 if none, or above 2^20. */
int64_t pto_bench_count(const char *text);
/* Returns the test of that name; NULL if there is none. */
const pto_bench_test_t *pto_bench_test(const pto_bench_test_t *test, int count, const char *name);
/* Returns the first test whose name is in a text; NULL if there is none. */
const pto_bench_test_t *pto_bench_test_within(const pto_bench_test_t *test, int count, const char *text);
/* Copies a text up to a character of `ends`, without the blanks before it, as far as it fits. */
void pto_bench_copy(const char *text, const char *ends, char *name, size_t size);
/* Sets what the rows measure; `test` is NULL if portolan does not have it. PTO_ERR_NOT_APPLICABLE if the
 * options name another collective. */
pto_status_t pto_bench_name(pto_recording_reader_t *reader, const char *program,
                            const pto_bench_test_t *test);
/* Adds a row: a size, and the value in the benchmark's column. */
pto_status_t pto_bench_row(pto_recording_reader_t *reader, int64_t bytes, double value);
/* Reads a row whose parts may be torn and whose columns may have other separators than blanks, and adds it.
 */
pto_status_t pto_bench_table_row(pto_recording_reader_t *reader, char *line);
/* Reads a row of plain columns, and adds it; one without size or time is counted as skipped. */
pto_status_t pto_bench_plain_row(pto_recording_reader_t *reader, char *line);
/* Returns where a debug line of NCCL begins, even within a row; NULL if there is none. */
char *pto_bench_debug(pto_recording_reader_t *reader, char *line);
/* Returns a line without the debug line of NCCL in it, which may be before, within or after a row. */
char *pto_bench_uninterrupted(pto_recording_reader_t *reader, char *line);
/* Returns whether a field of a row is a number, with or without a unit, or says that there is none. */
bool pto_bench_is_numeric(const char *field);
/* Begins a table whose rows are numbers alone. `columns`: of the heading, 0 if unknown; `least`: how many a
 * row must have; `numbers`: how many of the first are whole. */
void pto_bench_begin_table(pto_bench_t *benchmark, int columns, int least, int numbers);
/* Returns the digits behind the point of the number that a line ends with. */
int pto_bench_decimals(const char *line);
/* Joins the parts of an interrupted row. False if more must follow, or if the line is no part of a row. */
bool pto_bench_join(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]);
/* Drops and counts the interrupted row, the rest of which is missing. */
void pto_bench_drop_torn(pto_recording_reader_t *reader);
/* Fails because the file does not name its collective. */
pto_status_t pto_bench_fail_nameless(pto_recording_reader_t *reader);
/* Adds a process that the file lists. The name of its host has `length` characters, 0 if it is not given. */
pto_status_t pto_bench_process(pto_recording_reader_t *reader, int64_t rank, const char *host, size_t length);
void pto_bench_forget_processes(pto_recording_reader_t *reader);
/* Fails if all rows were of unknown programs. */
pto_status_t pto_bench_end(pto_recording_reader_t *reader);

/* Stores the form of the first `length` bytes of a line as prefix; false if they are too long, or none. */
bool pto_prefix_learn(pto_prefix_t *prefix, const char *line, size_t length);
/* Returns the text after the prefix; the whole line if it has no prefix. */
char *pto_prefix_skip(const pto_prefix_t *prefix, char *line);

pto_status_t pto_allprof_line(pto_recording_reader_t *reader, char *line);
pto_status_t pto_goal_line(pto_recording_reader_t *reader, char *line);
pto_status_t pto_goal_end(pto_recording_reader_t *reader);
/* Reads a file of any format in JSON. */
pto_status_t pto_recording_read_json(pto_recording_reader_t *reader);
/* Returns a member that is a text; "" if there is none. */
const char *pto_json_text(const json_t *object, const char *key);
pto_status_t pto_kineto_event(pto_recording_reader_t *reader, const json_t *event);
/* False if pto_kineto_event would ignore the event with this text. */
bool pto_kineto_may_matter(const char *text);
/* Returns the name of a test in a line with its command, as shells print it: "+ srun ./all_reduce_perf -b 8";
 * NULL if there is none. Releases before 2.13 do not print the name. */
const char *pto_nccl_tests_command(const char *line);
/* Reads an output of nccl-tests with -J. */
pto_status_t pto_nccl_tests_record(pto_recording_reader_t *reader, const json_t *record);
pto_status_t pto_inspector_record(pto_recording_reader_t *reader, const json_t *record);
/* Read a node of `workload_graph`, of the `nodes` of PyTorch's execution trace, and of a protobuf in JSON. */
pto_status_t pto_chakra_graph_node(pto_recording_reader_t *reader, const json_t *object);
pto_status_t pto_pytorch_node(pto_recording_reader_t *reader, const json_t *node);
pto_status_t pto_chakra_record(pto_recording_reader_t *reader, const json_t *record);
/* Reads Chakra's protobuf. */
pto_status_t pto_recording_read_chakra(pto_recording_reader_t *reader);

#endif
