/* Reads recordings that are lines of text. Recognizes their format and passes each line to its reader. The
 * reader of portolan's own calls.csv is here, too. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

bool pto_recording_whole(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    *value = number;
    return end != text && *end == '\0' && errno == 0 && number >= 0;
}

bool pto_recording_size(const char *text, int64_t *bytes) {
    static const char letters[] = "KMG";
    static const double exact_below = 9007199254740992; /* 2^53 */
    char *end;
    if (pto_recording_whole(text, bytes))
        return true;
    if (!isdigit((unsigned char)*text) || text[1] == 'x' || text[1] == 'X')
        return false;
    double number = strtod(text, &end);
    const size_t length = (size_t)(end - text);                                           /* of the number */
    const bool is_decimal = strcspn(text, ".") < length && strcspn(text, "eE") >= length; /* "1.5" */
    const char *letter = *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    const char *unit = letter ? end + 1 : end;
    const bool is_byte = strcmp(unit, "B") == 0;
    if (letter && (!*unit || strcmp(unit, "i") == 0 || strcmp(unit, "iB") == 0))
        number *= (double)((int64_t)1 << (10 * (letter - letters + 1)));
    else if (letter && is_byte)
        number = -1;
    else if (letter || is_decimal || (*unit && !is_byte && strcmp(unit, "bytes") != 0))
        return false;
    *bytes = number < exact_below ? (int64_t)number : 0;
    return number < exact_below && number == floor(number);
}

bool pto_recording_seconds(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value) && *value >= 0 && *value < 1e12;
}

typedef enum {
    RANK,
    BEGIN,
    END,
    ROUTINE,
    COMMUNICATOR,
    PROCS,
    BYTES,
    SPACE, /* the last column that all files have */
    ROUTE,
    PEER,
    TAG,
    FIELD_COUNT
} field_t;

static const char *const field_name[FIELD_COUNT] = {
    "rank", "begin_s", "end_s", "routine", "communicator", "procs", "bytes", "space", "route", "peer", "tag"};

#define ROUTINE_MPI(id, routine, data, properties)                                                           \
    {"MPI_" routine,                                                                                         \
     PTO_COLLECTIVE_##id,                                                                                    \
     (properties)&PTO_FROM_ROOT ? PTO_TIMED_FROM_ROOT                                                        \
     : (properties)&PTO_TO_ROOT ? PTO_TIMED_TO_ROOT                                                          \
                                : PTO_TIMED_BY_ALL,                                                          \
     PTO_RECORDED_BY_BLOCK(data),                                                                            \
     false,                                                                                                  \
     false},
#define ROUTINE_NEIGHBORS(id, routine, data, properties)
#define ROUTINE_NONE(id, routine, data, properties)
#define ROUTINE(id, name, in, routine, data, nccl, properties) ROUTINE_##in(id, routine, data, properties)

static const struct {
    const char *routine;
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT if portolan does not have it */
    pto_timed_way_t way;
    bool by_block;   /* its input has a block for each process (of a scatter: the root's input) */
    bool has_no_end; /* it returns before the message has arrived */
    bool enqueues;   /* it only enqueues the call, so its times are not the call's */
} routines[] = {
    PTO_COLLECTIVE_TABLE(ROUTINE) /* */
    {"MPI_Reduce_scatter_block", PTO_COLLECTIVE_REDUCE_SCATTER, PTO_TIMED_BY_ALL, true, false, false},
    {"MPI_Barrier", PTO_COLLECTIVE_COUNT, PTO_TIMED_BY_ALL, false, false, false},
    {"MPI_Send", PTO_COLLECTIVE_COUNT, PTO_TIMED_SEND, false, false, false},
    {"MPI_Ssend", PTO_COLLECTIVE_COUNT, PTO_TIMED_SEND, false, false, false},
    {"MPI_Rsend", PTO_COLLECTIVE_COUNT, PTO_TIMED_SEND, false, false, false},
    {"MPI_Bsend", PTO_COLLECTIVE_COUNT, PTO_TIMED_SEND, false, false, false},
    {"MPI_Isend", PTO_COLLECTIVE_COUNT, PTO_TIMED_SEND, false, true, false},
    {"MPI_Issend", PTO_COLLECTIVE_COUNT, PTO_TIMED_SEND, false, true, false},
    {"MPI_Irsend", PTO_COLLECTIVE_COUNT, PTO_TIMED_SEND, false, true, false},
    {"MPI_Ibsend", PTO_COLLECTIVE_COUNT, PTO_TIMED_SEND, false, true, false},
    {"MPI_Recv", PTO_COLLECTIVE_COUNT, PTO_TIMED_RECEIVE, false, false, false},
    {"MPI_Irecv", PTO_COLLECTIVE_COUNT, PTO_TIMED_RECEIVE, false, true, false},
    {"ncclAllReduce", PTO_COLLECTIVE_ALLREDUCE, PTO_TIMED_NOT, .enqueues = true},
    {"ncclReduce", PTO_COLLECTIVE_REDUCE, PTO_TIMED_NOT, .enqueues = true},
    {"ncclBroadcast", PTO_COLLECTIVE_BROADCAST, PTO_TIMED_NOT, .enqueues = true},
    {"ncclBcast", PTO_COLLECTIVE_BROADCAST, PTO_TIMED_NOT, .enqueues = true},
    {"ncclAllGather", PTO_COLLECTIVE_ALLGATHER, PTO_TIMED_NOT, .enqueues = true},
    {"ncclReduceScatter", PTO_COLLECTIVE_REDUCE_SCATTER, PTO_TIMED_NOT, .by_block = true, .enqueues = true},
    {"ncclAlltoAll", PTO_COLLECTIVE_ALLTOALL, PTO_TIMED_NOT, .by_block = true, .enqueues = true},
    {NULL, PTO_COLLECTIVE_COUNT, PTO_TIMED_NOT, false, false, false}, /* any other */
};

int pto_recording_split(char *line, const char *separators, bool joined,
                        char *field[PTO_RECORDING_COLUMNS_MAX]) {
    int count = 0;
    for (char *at = line; at && count < PTO_RECORDING_COLUMNS_MAX;) {
        if (joined)
            at += strspn(at, separators);
        if (joined && *at == '\0')
            break;
        field[count++] = at;
        at = strpbrk(at, separators);
        if (at)
            *at++ = '\0';
    }
    return count;
}

/* Reads the first line of calls.csv, which names the columns. */
static pto_status_t read_columns(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    bool found[FIELD_COUNT] = {false};
    reader->column_count = pto_recording_split(line, ",", false, field);
    for (int i = 0; i < reader->column_count; i++) {
        reader->columns[i] = -1;
        for (int f = 0; f < FIELD_COUNT; f++)
            if (strcmp(field[i], field_name[f]) == 0) {
                reader->columns[i] = f;
                found[f] = true;
            }
    }
    for (int f = 0; f <= SPACE; f++)
        if (!found[f])
            return pto_recording_fail(reader, PTO_ERR_KEY,
                                      "calls.csv lacks a column; docs/formats.md lists them");
    return pto_recording_found(reader, PTO_RECORDING_CALLS);
}

/* Returns the index in `routines`; that of the last element for names that are not there. */
static size_t find_routine(const char *name) {
    size_t r = 0;
    while (routines[r].routine && strcmp(routines[r].routine, name) != 0)
        r++;
    return r;
}

/* Reads a rank, tag or number of processes; -1 if the text is not one. */
static int32_t small_number(const char *text) {
    int64_t number;
    return text && pto_recording_whole(text, &number) && number < INT32_MAX ? (int32_t)number : -1;
}

/* Returns whether the row's `bytes` are those of a block for each process. In a scatter only the root's are.
 */
static bool has_all_blocks(size_t routine, char *const value[FIELD_COUNT]) {
    return routines[routine].by_block && (routines[routine].way != PTO_TIMED_FROM_ROOT ||
                                          small_number(value[PEER]) == small_number(value[RANK]));
}

/* Counts a call of the replayed process; as skipped, if its communicator or size is unknown. */
static pto_status_t count_call(pto_recording_reader_t *reader, char *const value[FIELD_COUNT], size_t routine,
                               int communicator, double seconds) {
    pto_recording_kind_t kind = {.communicator = communicator};
    pto_recording_skipped_t *skipped = &reader->trace->skipped;
    int64_t bytes;
    if (routines[routine].collective == PTO_COLLECTIVE_COUNT || communicator < 0) {
        skipped->others++;
        return PTO_OK;
    }
    if (!pto_recording_whole(value[PROCS], &kind.procs) || kind.procs < 1)
        return pto_recording_fail(reader, PTO_ERR_RANGE, "procs is not a number of processes");
    if (strcmp(value[SPACE], "gpu") != 0 && strcmp(value[SPACE], "managed") != 0 &&
        !reader->options->as_gpu) {
        skipped->on_host++;
        return PTO_OK;
    }
    if (!pto_recording_whole(value[BYTES], &bytes) || bytes == 0 || kind.procs == 1) {
        skipped->sizeless++;
        return PTO_OK;
    }
    kind.call.collective = routines[routine].collective;
    kind.call.bytes = has_all_blocks(routine, value) ? (bytes + kind.procs - 1) / kind.procs : bytes;
    snprintf(kind.call.route, sizeof kind.call.route, "%s",
             value[ROUTE] && *value[ROUTE] ? value[ROUTE] : "mpi");
    reader->trace->on_gpu += strcmp(value[SPACE], "gpu") == 0 && strcmp(kind.call.route, "nccl") != 0 &&
                             !routines[routine].enqueues;
    return pto_recording_add(reader, &kind, routines[routine].enqueues ? 0 : seconds);
}

/* Adds the times of a call to the timeline. */
static pto_status_t time_call(pto_recording_reader_t *reader, char *const value[FIELD_COUNT], size_t routine,
                              double begin_s, double end_s) {
    int64_t bytes;
    pto_timed_t timed = {.way = *value[COMMUNICATOR] ? routines[routine].way : PTO_TIMED_NOT,
                         .rank = small_number(value[RANK]),
                         .peer = small_number(value[PEER]),
                         .tag = small_number(value[TAG]),
                         .procs = small_number(value[PROCS]),
                         .membership = -1,
                         .has_no_end = routines[routine].has_no_end,
                         .begin_s = begin_s,
                         .end_s = end_s};
    if (pto_recording_whole(value[BYTES], &bytes))
        timed.bytes = bytes;
    if (value[ROUTE] && reader->options->timeline)
        reader->options->timeline->hides_messages =
            true; /* only the drop-in writes routes, and no messages */
    return pto_recording_time(reader, value[COMMUNICATOR], value[ROUTINE], &timed);
}

/* Reads a row of calls.csv. The calls of one process are counted; those of all are added to the timeline. */
static pto_status_t read_call(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX], *value[FIELD_COUNT] = {NULL};
    int64_t rank = 0;
    int communicator = -1;
    double begin_s, end_s;
    if (*line == '\0')
        return PTO_OK;
    if (pto_recording_split(line, ",", false, field) != reader->column_count)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "another number of columns than in the first line");
    for (int i = 0; i < reader->column_count; i++)
        if (reader->columns[i] >= 0)
            value[reader->columns[i]] = field[i];
    if (!value[RANK] || !value[ROUTINE] || !value[COMMUNICATOR] || !pto_recording_whole(value[RANK], &rank))
        return pto_recording_fail(reader, PTO_ERR_RANGE, "rank is not a whole number");
    if (reader->trace->rank < 0)
        reader->trace->rank = rank;
    pto_status_t status = PTO_OK;
    if (*value[COMMUNICATOR])
        status = pto_recording_communicator(reader, value[COMMUNICATOR], rank, &communicator);
    if (status != PTO_OK || (rank != reader->trace->rank && !reader->options->timeline))
        return status;
    const size_t routine = find_routine(value[ROUTINE]);
    const bool is_timed = pto_recording_seconds(value[BEGIN], &begin_s) &&
                          pto_recording_seconds(value[END], &end_s) && end_s >= begin_s;
    reader->last_kind = -1;
    if (rank == reader->trace->rank) {
        if (!is_timed && communicator >= 0 && routines[routine].collective != PTO_COLLECTIVE_COUNT)
            return pto_recording_fail(reader, PTO_ERR_RANGE, "begin_s and end_s are not times in this order");
        status = count_call(reader, value, routine, communicator, is_timed ? end_s - begin_s : 0);
    }
    return status == PTO_OK && is_timed ? time_call(reader, value, routine, begin_s, end_s) : status;
}

/* Recognizes the format by the first line that only one format has; lines before it are ignored. */
static pto_status_t recognize(pto_recording_reader_t *reader, char *line) {
    char *heading;
    const pto_bench_format_t *benchmark = pto_bench_find(line, &heading);
    const pto_recording_format_t asked = reader->options->format;
    if (benchmark && pto_recording_is_benchmark(asked) && benchmark->format != asked) {
        if (reader->other_line == 0)
            reader->other = benchmark->format;
        reader->other_line = reader->other_line > 0 ? reader->other_line : reader->line;
        return PTO_OK;
    }
    if (benchmark) {
        const char *debug = pto_bench_debug(reader, line);
        size_t length = (size_t)((debug && debug < heading ? debug : heading) - line);
        if (*heading == 's' || *heading == 'S') /* a heading without "#" begins with blanks of its own */
            while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
                length--;
        pto_prefix_learn(&reader->prefix, line, length);
        return pto_bench_found(reader, benchmark);
    }
    if (pto_text_begins(line, "rank,begin_s,"))
        return read_columns(reader, line);
    if (pto_text_begins(line, "num_ranks "))
        return pto_recording_found(reader, PTO_RECORDING_GOAL);
    if (pto_text_begins(line, "MPI_") && strchr(line, ':'))
        return pto_recording_found(reader, PTO_RECORDING_ALLPROF);
    const char *command = pto_nccl_tests_command(line);
    if (command)
        snprintf(reader->benchmark.command, sizeof reader->benchmark.command, "%s", command);
    (void)pto_bench_debug(reader, line); /* stores its host, whose later debug lines may interrupt rows */
    if (reader->json_line == 0 && strstr(line, "{\""))
        reader->json_line = reader->line;
    return PTO_OK;
}

/* Passes a line to the reader of its format, once that is known. */
static pto_status_t read_line(pto_recording_reader_t *reader, char *line) {
    const bool was_known = reader->known;
    pto_status_t status = was_known ? PTO_OK : recognize(reader, line);
    if (status != PTO_OK || !reader->known)
        return status;
    if (pto_recording_is_benchmark(reader->trace->format))
        return pto_bench_line(reader, pto_prefix_skip(&reader->prefix, line));
    switch (reader->trace->format) {
    case PTO_RECORDING_CALLS:
        return *line == '#' || !was_known ? PTO_OK : read_call(reader, line);
    case PTO_RECORDING_ALLPROF:
        return pto_allprof_line(reader, line);
    case PTO_RECORDING_GOAL:
        return pto_goal_line(reader, line);
    default:
        return PTO_OK;
    }
}

void pto_recording_replace_blanks(char *line) {
    for (char *at = line; (at = strstr(at, "\xc2\xa0")) != NULL; at += 2)
        at[0] = at[1] = ' ';
}

/* Reads a line that a program may have overwritten, as progress bars do: each part between carriage returns
 * is read as a line. */
static pto_status_t read_overwritten(pto_recording_reader_t *reader, char *line) {
    pto_status_t status = PTO_OK;
    pto_drop_escapes(line);
    pto_recording_replace_blanks(line);
    for (char *next; line && status == PTO_OK; line = next) {
        next = strchr(line, '\r');
        if (next)
            *next++ = '\0';
        status = read_line(reader, line);
    }
    return status;
}

pto_status_t pto_recording_read_lines(pto_recording_reader_t *reader) {
    pto_status_t status = PTO_OK;
    for (bool more = true; more && status == PTO_OK;) {
        int number = reader->source->line;
        char *line = pto_source_line(reader->source);
        more = line != NULL;
        if (more || reader->source->status != PTO_OK)
            reader->line = number;
        if (more)
            status = read_overwritten(reader, line);
    }
    if (status == PTO_OK && reader->known && reader->trace->format == PTO_RECORDING_GOAL)
        status = pto_goal_end(reader);
    if (status == PTO_OK && reader->known && pto_recording_is_benchmark(reader->trace->format))
        status = pto_bench_end(reader);
    return status;
}
