/* The formats in lines of text: portolan's own calls.csv, OSU's benchmarks and nccl-tests. */
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

/* --- benchmarks ----------------------------------------------------------------------------------------- */

/* The first that a heading contains. Sizes are bytes of a vector, of a block, or of the blocks of all. */
static const struct {
    const char *name;
    pto_collective_t collective;
    bool by_block;
} osu_tests[] =
    {
        {"Allgatherv", PTO_COLLECTIVE_ALLGATHERV, false},
        {"Gatherv", PTO_COLLECTIVE_COUNT, false},
        {"Scatterv", PTO_COLLECTIVE_COUNT, false},
        {"All-to-Allv", PTO_COLLECTIVE_ALLTOALLV, false},
        {"All-to-Allw", PTO_COLLECTIVE_COUNT, false},
        {"All-to-All", PTO_COLLECTIVE_ALLTOALL, false},
        {"Reduce_scatter", PTO_COLLECTIVE_REDUCE_SCATTER, true},
        {"Allreduce", PTO_COLLECTIVE_ALLREDUCE, false},
        {"Allgather", PTO_COLLECTIVE_ALLGATHER, false},
        {"Reduce", PTO_COLLECTIVE_REDUCE, false},
        {"Broadcast", PTO_COLLECTIVE_BROADCAST, false},
        {"Gather", PTO_COLLECTIVE_GATHER, false},
        {"Scatter", PTO_COLLECTIVE_SCATTER, false},
},
  nccl_tests[] = {
      {"all_reduce", PTO_COLLECTIVE_ALLREDUCE, false},
      {"reduce_scatter", PTO_COLLECTIVE_REDUCE_SCATTER, true},
      {"reduce", PTO_COLLECTIVE_REDUCE, false},
      {"broadcast", PTO_COLLECTIVE_BROADCAST, false},
      {"all_gather", PTO_COLLECTIVE_ALLGATHER, true},
      {"alltoall", PTO_COLLECTIVE_ALLTOALL, true},
      {"gather", PTO_COLLECTIVE_GATHER, true},
      {"scatter", PTO_COLLECTIVE_SCATTER, true},
};

static bool is_by_block(const pto_recording_reader_t *reader) {
    if (reader->trace->format == PTO_RECORDING_OSU)
        return reader->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    for (size_t i = 0; i < sizeof nccl_tests / sizeof *nccl_tests; i++)
        if (nccl_tests[i].collective == reader->collective)
            return nccl_tests[i].by_block;
    return false;
}

/* A size and its time. */
static pto_status_t add_row(pto_recording_reader_t *reader, int64_t bytes, double seconds) {
    const pto_recording_options_t *options = reader->options;
    pto_recording_kind_t kind = {.communicator = -1, .procs = options->nodes * options->gpus_per_node};
    if (options->nodes == 0)
        kind.procs = reader->benchmark_procs;
    if (kind.procs == 0)
        return pto_recording_fail(reader, PTO_ERR_KEY,
                                  "the file does not say how many processes there were: give --nodes");
    if (reader->osu_on_host && !options->as_gpu) {
        reader->trace->skipped.on_host++;
        return PTO_OK;
    }
    if (reader->collective == PTO_COLLECTIVE_COUNT || bytes == 0 || kind.procs == 1) {
        ++*(bytes == 0 || kind.procs == 1 ? &reader->trace->skipped.sizeless
                                          : &reader->trace->skipped.others);
        return PTO_OK;
    }
    kind.call.collective = reader->collective;
    kind.call.bytes = is_by_block(reader) ? (bytes + kind.procs - 1) / kind.procs : bytes;
    snprintf(kind.call.route, sizeof kind.call.route, "%s",
             reader->trace->format == PTO_RECORDING_OSU ? "mpi" : "nccl");
    reader->trace->on_gpu += reader->trace->format == PTO_RECORDING_OSU && !reader->osu_on_host;
    return pto_recording_add(reader, &kind, seconds);
}

/* "# OSU MPI-CUDA Allreduce Latency Test v7.4"; for buffers in host memory, "# OSU MPI Allreduce ...". */
static pto_status_t read_osu_heading(pto_recording_reader_t *reader, const char *line) {
    size_t i = 0;
    reader->osu_on_host = pto_text_begins(line, "# OSU MPI ");
    *(reader->osu_on_host ? &reader->trace->times_on_host : &reader->trace->times_on_gpu) = true;
    while (i < sizeof osu_tests / sizeof *osu_tests && !strstr(line, osu_tests[i].name))
        i++;
    reader->collective =
        i < sizeof osu_tests / sizeof *osu_tests ? osu_tests[i].collective : PTO_COLLECTIVE_COUNT;
    return pto_recording_found(reader, PTO_RECORDING_OSU);
}

/* "1024   38.77   37.98 ...": other lines are of other programs that printed in between. */
static pto_status_t read_osu_row(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    int64_t bytes;
    double us;
    if (pto_recording_split(line, " \t", true, field) < 2 || !pto_recording_whole(field[0], &bytes) ||
        !pto_recording_seconds(field[1], &us))
        return PTO_OK;
    return add_row(reader, bytes, 1e-6 * us);
}

static pto_status_t read_nccl_comment(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    const char *name = strstr(line, "Collective test starting: ");
    reader->benchmark_procs += pto_text_begins(line + 1 + strspn(line + 1, " "), "Rank ");
    for (size_t i = 0; name && i < sizeof nccl_tests / sizeof *nccl_tests; i++)
        if (strstr(name, nccl_tests[i].name)) {
            reader->collective = nccl_tests[i].collective;
            name = NULL;
        }
    int count = pto_recording_split(line + 1, " \t", true, field);
    for (int i = count - 1; i > 0 && strcmp(field[0], "size") == 0; i--)
        if (strcmp(field[i], "time") == 0)
            reader->time_column = i; /* the first, out of place */
    return PTO_OK;
}

static pto_status_t read_nccl_row(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    int64_t bytes;
    double us;
    int count = pto_recording_split(line, " \t", true, field);
    if (count == 0 || !pto_recording_whole(field[0], &bytes))
        return PTO_OK;
    if (reader->time_column == 0 || count <= reader->time_column ||
        !pto_recording_seconds(field[reader->time_column], &us))
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "no time where the heading has it");
    if (reader->collective == PTO_COLLECTIVE_COUNT)
        return pto_recording_fail(reader, PTO_ERR_KEY,
                                  "the file does not name its collective: give --collective");
    return add_row(reader, bytes, 1e-6 * us);
}

/* --- any ------------------------------------------------------------------------------------------------ */

static bool is_nccl_heading(const char *line) {
    return pto_text_begins(line, "# nThread") || pto_text_begins(line, "# nccl-tests") ||
           pto_text_begins(line, "# Collective test starting: ");
}

/* What the first line that belongs to a format looks like; others before it are passed over. */
static pto_status_t recognize(pto_recording_reader_t *reader, char *line) {
    if (is_nccl_heading(line)) {
        reader->collective = reader->options->collective;
        return pto_recording_found(reader, PTO_RECORDING_NCCL_TESTS);
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
    if (pto_text_begins(line, "# OSU ") && (!reader->known || reader->trace->format == PTO_RECORDING_OSU))
        return read_osu_heading(reader, line);
    const bool was_known = reader->known;
    pto_status_t status = was_known ? PTO_OK : recognize(reader, line);
    if (status != PTO_OK || !reader->known)
        return status;
    switch (reader->trace->format) {
    case PTO_RECORDING_CALLS:
        return *line == '#' || !was_known ? PTO_OK : read_call(reader, line);
    case PTO_RECORDING_OSU:
        return read_osu_row(reader, line);
    case PTO_RECORDING_NCCL_TESTS:
        return *line == '#' ? read_nccl_comment(reader, line) : read_nccl_row(reader, line);
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
    return status;
}
