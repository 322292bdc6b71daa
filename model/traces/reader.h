/* What the readers of all formats of recordings share. recording.c opens a file and makes a
 * pto_recording_reader_t for it. lines.c, json.c or chakra_et.c reads the file, recognizes its format, and
 * passes each line or event to the function of that format (allprof.c, kineto.c, osu.c, ...). That function
 * counts the calls it finds by pto_recording_count, pto_recording_add or, for benchmarks, pto_bench_row. */
#ifndef PTO_TRACES_READER_H
#define PTO_TRACES_READER_H

#include <jansson.h>

#include "base/slots.h"
#include "portolan/recording.h"
#include "source.h"
#include "texts.h"
#include "timeline.h"

/* A kind of calls: all equal calls on one communicator. The communicator's shape, its nodes and processes per
 * node, is known only at the end of the file. recording.c then makes one pto_recording_call_t of all kinds
 * that differ only in the communicator. */
typedef struct {
    pto_recording_call_t call; /* its shape is set at the end of the file */
    int communicator;          /* index in pto_recording_groups_t; -1 if unknown */
    int64_t procs;             /* of the communicator */
    int64_t nodes;  /* of the communicator; 0 if not given, -1 if they have unequal numbers of processes */
    bool is_launch; /* a CPU's launch of a GPU operation; ignored if the file also has GPU operations */
    int number;     /* index among the reader's kinds */
} pto_recording_kind_t;

enum { PTO_RECORDING_COLUMNS_MAX = 24, PTO_BENCH_ROW_MAX = 1024, PTO_BENCH_DEBUG_HOSTS = 16 };

/* The form of the prefix that a launcher writes before each line (prefix.c); empty if there is none. */
typedef struct {
    char form[128];
    int blanks; /* how many follow the prefix */
} pto_prefix_t;

/* The processes that a benchmark's output lists, one line for each. A line is called torn if other output has
 * interrupted it, as described at pto_bench_t. */
typedef struct {
    pto_recording_members_t processes;
    int64_t last_rank; /* the highest */
    pto_text_index_t hosts;
    size_t host_room;
    int64_t *host_procs; /* number of processes on each host */
    bool has_torn_host;  /* other output is in a host's name */
    char torn[256];      /* the beginning of a torn line; "" if none */
    size_t torn_at;      /* index in `torn` at which letters may be lost; 0 if none are */
} pto_recording_listed_t;

/* The table of a benchmark that is being read. Debug lines of NCCL and other output are often written to the
 * same file independently. They tear rows: they begin in the middle of a row, whose rest follows on a later
 * line. torn.c joins the parts of a torn row. */
typedef struct {
    char program[64];            /* "" if the file does not name it */
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT if unknown, or if portolan does not have it */
    bool is_total;               /* sizes are bytes of the blocks of all processes together */
    bool on_host;                /* the buffers are in host memory */
    bool of_nccl;                /* OSU's benchmarks of NCCL */
    bool on_gpus;                /* IMB was told to allocate the buffers on a GPU */
    bool is_foreign;             /* the rows are of another format than the file's, and are skipped */
    /* Columns are counted from 0. */
    int column;            /* of the time or rate in each row; 0 before the heading */
    int columns;           /* number of columns in the heading; 0 if unknown */
    int columns_min;       /* how many columns a row has at least */
    int whole_columns;     /* how many of the first columns are whole numbers */
    int size_column;       /* of the size in each row */
    int wrong_column;      /* nccl-tests, IMB: of the number of wrong elements; 0 if none */
    bool is_rate;          /* `column` has rates in 10^6 bytes per second, else times in microseconds */
    int64_t messages;      /* in flight at once, if the benchmark sends messages; else 0 */
    int64_t procs;         /* of the heading; 0 if it does not say */
    int64_t unfit_procs;   /* of the first row that is of another number of processes than the options' */
    int unfit_line;        /* of that row */
    int64_t message_bytes; /* ucx_perftest: of the test; 0 if unknown */
    int element_bytes;     /* OSU: of the elements that it divides among processes, if `is_total` */
    bool rounds_down;      /* OSU: the blocks leave out the remainder of that division */
    char command[64];      /* nccl-tests: of the line before the first heading; "" if none, or read */
    int last_decimals;     /* decimals of the last number of the previous line that begins with a number */
    /* Torn rows: */
    char torn[PTO_BENCH_ROW_MAX]; /* the beginning of a torn row; "" if none */
    bool torn_unclear;            /* the last digits of `torn` may belong to other output */
    bool torn_may_be_time;        /* these digits may be the beginning of a date or time of day in it */
    bool only_numbers;            /* rows have no words; the next three are set only for such tables */
    int rows;                     /* read so far */
    int64_t size[2];              /* of the last row but one, and of the last row; -1 if not clear */
    int row_decimals;             /* decimals of the last number of the last row */
    /* Set by pto_bench_debug if no other line names the host of a debug line. Then nothing shows where the
     * debug line begins within the word that ends with the host's name: */
    bool debug_is_glued;   /* the beginning of that word may belong to the interrupted line */
    bool debug_is_unclear; /* the beginning of that word is digits, which may belong to a row */
    unsigned debug_lines;  /* number of debug lines with such hosts */
    char debug_host[PTO_BENCH_DEBUG_HOSTS][64]; /* hosts of the latest of these; "" if there were fewer */
} pto_bench_t;

/* Kineto: which process wrote the file, and of how many. */
typedef struct {
    int64_t rank, procs; /* -1 and 0 if unknown */
    bool came_late;      /* the file says so after its first calls, and is therefore read a second time */
} pto_recording_job_t;

/* The state of reading one file. */
typedef struct {
    const char *path;
    pto_source_t *source;
    int line, column; /* of what is being read */
    const pto_recording_options_t *options;
    pto_recording_t *trace;
    pto_error_t *err;
    bool known;         /* trace->format is set */
    bool has_job;       /* the file's member that sets `job` has been read */
    bool has_gpu_calls; /* the file has calls that are not launches by a CPU */
    int json_line;      /* the first line with JSON, while the format is unknown; 0: none */
    int other_line;     /* the first line of another benchmark than the one that was asked for; 0: none */
    int column_count;
    pto_recording_format_t other;           /* which benchmark that line is of */
    int columns[PTO_RECORDING_COLUMNS_MAX]; /* calls.csv: the field of each column; -1 if not used */
    pto_prefix_t prefix;
    pto_bench_t benchmark;
    pto_recording_listed_t listed;
    int64_t goal_ranks;    /* GOAL: number of ranks in the file */
    int64_t goal_rank;     /* GOAL: of the open block; -1 if none */
    pto_slots_t operators; /* Kineto: of symmetric memory (operator_t) */
    bool has_first_us;     /* Kineto, NCCL inspector */
    double first_us;       /* of the first timed call; times count from there, which keeps them exact */
    char process[256];     /* NCCL inspector: host and process id of the first call */
    int64_t job_procs;     /* processes of the job; 0 if unknown yet */
    pto_recording_job_t *job;
    int64_t most_rank;                      /* the highest rank in messages; -1 if none */
    pto_recording_skipped_t launch_skipped; /* launches that were left out */
    pto_recording_groups_t own_groups;
    pto_recording_groups_t *groups; /* the timeline's if files of calls.csv are compared, else &own_groups */
    pto_text_index_t kinds;         /* the properties of each kind in one text, which tells kinds apart */
    pto_recording_kind_t *kind;     /* by number in `kinds` */
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

/* Counts a call of this kind that took `seconds`; 0 if unknown. */
pto_status_t pto_recording_add(pto_recording_reader_t *reader, const pto_recording_kind_t *kind,
                               double seconds);

/* Adds the times of the call that was counted last to the timeline, if there is one and the rank is known.
 * `communicator` and `routine` are names; they set `routine` and `group` of `timed`. */
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
    double input_bytes;          /* of the process's input buffer; negative if unknown */
    double output_bytes;         /* of its output buffer; negative if unknown */
    int64_t procs;               /* of the communicator; 0 if the options or the job determine it */
    int64_t nodes;               /* 0 if not given */
    int communicator;            /* -1 if unknown */
    int64_t rank, peer;          /* of a message; negative if unknown: then neighboring ranks are assumed */
    const char *route;           /* a strategy, or "mpi" */
    bool is_launch;              /* as in pto_recording_kind_t */
    double seconds;              /* 0 if unknown */
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

/* Replaces non-breaking spaces, as in text copied from web pages, by plain ones. */
void pto_recording_replace_blanks(char *line);
/* Splits a line at separators; if `joined`, several in a row count as one. Returns the number of fields. */
int pto_recording_split(char *line, const char *separators, bool joined,
                        char *field[PTO_RECORDING_COLUMNS_MAX]);
/* Reads a whole number of 0 or more; false if the text is not one. */
bool pto_recording_whole(const char *text, int64_t *value);
/* Reads a size in bytes: "1024", "1.024e3", "64B", or "4M", "4Mi" and "4MiB" for 4 * 2^20 bytes. False if the
 * text is not a size. "4MB" is one, but `*bytes` becomes -1, as it may also mean 4,000,000 bytes. */
bool pto_recording_size(const char *text, int64_t *bytes);
/* Reads a finite number from 0 to 1e12, in any unit of time; false if the text is not one. */
bool pto_recording_seconds(const char *text, double *value);

/* Reads a file of any format in lines of text. */
pto_status_t pto_recording_read_lines(pto_recording_reader_t *reader);
/* The characters that separate columns, in tables as printed and as copied into other documents. */
#define PTO_BENCH_BLANKS " \t\r|,;"

/* A test of a benchmark. Its sizes are bytes of a vector or of one block or, if `is_total`, of the blocks of
 * all processes together. */
typedef struct {
    const char *name;
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT if portolan does not have it */
    bool is_total;
} pto_bench_test_t;

/* Whether the input of a call that contributes such data (PTO_DATA_...) has a block for each process. */
#define PTO_RECORDED_BY_BLOCK(data)                                                                          \
    (PTO_DATA_##data == PTO_DATA_BLOCKS || PTO_DATA_##data == PTO_DATA_SCATTERED)

/* A test of each collective that MPI has a routine for, named as the routine: X of PTO_COLLECTIVE_TABLE. */
#define PTO_BENCH_TEST_MPI(id, routine, is_total) {routine, PTO_COLLECTIVE_##id, is_total},
#define PTO_BENCH_TEST_NEIGHBORS(id, routine, is_total)
#define PTO_BENCH_TEST_NONE(id, routine, is_total)

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
/* Returns the value after a label at the beginning of a line; NULL if the line does not begin with it. */
const char *pto_bench_value(const char *line, const char *label);
/* Returns the number of processes or messages that the text begins with; 0 if it is missing or above 2^20. */
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
/* Reads a line of a table that may be a part of a torn row, or have separators of PTO_BENCH_BLANKS. Adds the
 * row once it is whole. */
pto_status_t pto_bench_table_row(pto_recording_reader_t *reader, char *line);
/* Reads a whole row whose columns are separated by blanks, and adds it. Without size or time it is counted as
 * skipped. */
pto_status_t pto_bench_plain_row(pto_recording_reader_t *reader, char *line);
/* Returns where a debug line of NCCL ("HOST:PID:TID [GPU] NCCL INFO ...") begins, even within a row; NULL if
 * there is none. */
char *pto_bench_debug(pto_recording_reader_t *reader, char *line);
/* Returns a line without the debug line of NCCL in it, which may be before, within or after a row. */
char *pto_bench_uninterrupted(pto_recording_reader_t *reader, char *line);
/* Returns whether a field of a row is a number, with or without a unit, or stands for a missing one ("N/A").
 */
bool pto_bench_is_numeric(const char *field);
/* Begins a table whose rows have no words. For the other parameters see the members of pto_bench_t. */
void pto_bench_begin_table(pto_bench_t *benchmark, int columns, int columns_min, int whole_columns);
/* Returns how many digits are after the point in the number that a line ends with. */
int pto_bench_decimals(const char *line);
/* Sets `row` to a whole row: the line, or the parts of a torn row that the line completes. False if more must
 * follow, or if the line is not a part of a row. */
bool pto_bench_join(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]);
/* Drops the torn row, whose rest is missing, and counts it. */
void pto_bench_drop_torn(pto_recording_reader_t *reader);
/* Fails because the file does not name its collective. */
pto_status_t pto_bench_fail_nameless(pto_recording_reader_t *reader);
/* Adds a process that the file lists. `host` has `length` characters; 0 if its name is unknown. */
pto_status_t pto_bench_process(pto_recording_reader_t *reader, int64_t rank, const char *host, size_t length);
/* Forgets the listed processes, as another run of a benchmark begins in the file. */
void pto_bench_forget_processes(pto_recording_reader_t *reader);
/* Ends a benchmark's file. Fails if all rows were of unknown programs. */
pto_status_t pto_bench_end(pto_recording_reader_t *reader);

/* Stores the form of the first `length` bytes of a line as prefix; false if there are none, or too many. */
bool pto_prefix_learn(pto_prefix_t *prefix, const char *line, size_t length);
/* Returns the text after the prefix; the whole line if it has no prefix. */
char *pto_prefix_skip(const pto_prefix_t *prefix, char *line);

pto_status_t pto_allprof_line(pto_recording_reader_t *reader, char *line);
pto_status_t pto_goal_line(pto_recording_reader_t *reader, char *line);
pto_status_t pto_goal_end(pto_recording_reader_t *reader);
/* Reads a file of any format in JSON. */
pto_status_t pto_recording_read_json(pto_recording_reader_t *reader);
/* Returns the text of an object's member; "" if there is none. */
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
