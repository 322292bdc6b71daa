/* The formats in lines of text, and portolan's own calls.csv among them. */
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

bool pto_recording_seconds(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value) && *value >= 0 && *value < 1e12;
}

/* --- calls.csv ------------------------------------------------------------------------------------------ */

typedef enum { RANK, BEGIN, END, ROUTINE, COMMUNICATOR, PROCS, BYTES, SPACE, ROUTE, FIELD_COUNT } field_t;

static const char *const field_name[FIELD_COUNT] = {"rank",  "begin_s", "end_s", "routine", "communicator",
                                                    "procs", "bytes",   "space", "route"};

static const struct {
    const char *routine;
    pto_collective_t collective;
    bool by_block; /* `bytes` are those of the blocks for all processes */
} routines[] = {
    {"MPI_Allreduce", PTO_COLLECTIVE_ALLREDUCE, false},
    {"MPI_Reduce", PTO_COLLECTIVE_REDUCE, false},
    {"MPI_Bcast", PTO_COLLECTIVE_BROADCAST, false},
    {"MPI_Allgather", PTO_COLLECTIVE_ALLGATHER, false},
    {"MPI_Allgatherv", PTO_COLLECTIVE_ALLGATHERV, false},
    {"MPI_Gather", PTO_COLLECTIVE_GATHER, false},
    {"MPI_Scatter", PTO_COLLECTIVE_SCATTER, true},
    {"MPI_Reduce_scatter_block", PTO_COLLECTIVE_REDUCE_SCATTER, true},
    {"MPI_Reduce_scatter", PTO_COLLECTIVE_REDUCE_SCATTER, true},
    {"MPI_Alltoall", PTO_COLLECTIVE_ALLTOALL, true},
    {"MPI_Alltoallv", PTO_COLLECTIVE_ALLTOALLV, true},
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
    for (int f = 0; f < ROUTE; f++)
        if (!found[f])
            return pto_recording_fail(reader, PTO_ERR_KEY,
                                      "calls.csv lacks a column; docs/formats.md lists them");
    return pto_recording_found(reader, PTO_RECORDING_CALLS);
}

/* Whose communicator, process and size are known; others are counted as skipped. */
static pto_status_t count_call(pto_recording_reader_t *reader, char *const value[FIELD_COUNT], int64_t rank,
                               int communicator) {
    pto_recording_kind_t kind = {.communicator = communicator};
    pto_recording_skipped_t *skipped = &reader->trace->skipped;
    double begin_s, end_s;
    int64_t bytes;
    size_t r = 0;
    while (r < sizeof routines / sizeof *routines && strcmp(routines[r].routine, value[ROUTINE]) != 0)
        r++;
    if (rank != reader->trace->rank)
        return PTO_OK;
    if (r == sizeof routines / sizeof *routines || communicator < 0) {
        skipped->others++;
        return PTO_OK;
    }
    if (!pto_recording_seconds(value[BEGIN], &begin_s) || !pto_recording_seconds(value[END], &end_s) ||
        end_s < begin_s)
        return pto_recording_fail(reader, PTO_ERR_RANGE, "begin_s and end_s are not times in this order");
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
    kind.call.collective = routines[r].collective;
    kind.call.bytes = routines[r].by_block ? (bytes + kind.procs - 1) / kind.procs : bytes;
    snprintf(kind.call.route, sizeof kind.call.route, "%s",
             value[ROUTE] && *value[ROUTE] ? value[ROUTE] : "mpi");
    reader->trace->on_gpu += strcmp(value[SPACE], "gpu") == 0 && strcmp(kind.call.route, "nccl") != 0;
    return pto_recording_add(reader, &kind, end_s - begin_s);
}

static pto_status_t read_call(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX], *value[FIELD_COUNT] = {NULL};
    int64_t rank = 0;
    int communicator = -1;
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
    return status == PTO_OK ? count_call(reader, value, rank, communicator) : status;
}

/* --- any ------------------------------------------------------------------------------------------------ */

/* What the first line that belongs to a format looks like; others before it are passed over. */
static pto_status_t recognize(pto_recording_reader_t *reader, char *line) {
    char *heading;
    const pto_bench_format_t *benchmark = pto_bench_find(line, &heading);
    if (benchmark) {
        pto_prefix_learn(&reader->prefix, line, (size_t)(heading - line));
        return pto_bench_found(reader, benchmark);
    }
    if (pto_text_begins(line, "rank,begin_s,"))
        return read_columns(reader, line);
    if (pto_text_begins(line, "num_ranks "))
        return pto_recording_found(reader, PTO_RECORDING_GOAL);
    if (pto_text_begins(line, "MPI_") && strchr(line, ':'))
        return pto_recording_found(reader, PTO_RECORDING_ALLPROF);
    return PTO_OK;
}

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

pto_status_t pto_recording_read_lines(pto_recording_reader_t *reader) {
    pto_status_t status = PTO_OK;
    for (bool more = true; more && status == PTO_OK;) {
        int number = reader->source->line;
        char *line = pto_source_line(reader->source);
        more = line != NULL;
        if (more || reader->source->status != PTO_OK)
            reader->line = number;
        if (more)
            status = read_line(reader, line);
    }
    if (status == PTO_OK && reader->known && reader->trace->format == PTO_RECORDING_GOAL)
        status = pto_goal_end(reader);
    if (status == PTO_OK && reader->known && pto_recording_is_benchmark(reader->trace->format))
        status = pto_bench_end(reader);
    return status;
}
