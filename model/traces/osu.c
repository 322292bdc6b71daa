/* Reads OSU's micro-benchmarks. A title names the test ("# OSU MPI Allreduce Latency Test v7.4"), a heading
 * the columns
 * ("# Size  Avg Latency(us)"), and rows have only numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

enum { ELEMENT_BYTES = 4 }; /* a float or an int; releases before 7.0 do not say which */
enum { WINDOW = 64 };       /* messages in flight by default; osu_bw does not print other values */

/* A test is the first of these that its title contains. */
static const pto_bench_test_t tests[] = {
    {"Neighborhood", PTO_COLLECTIVE_COUNT, false},
    {"Reduce_local", PTO_COLLECTIVE_COUNT, false},
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
};

/* Tests between two processes or pairs of them, by how the title goes on after the kind of memory. */
static const pto_bench_test_t pairs[] = {
    {"Latency Test", PTO_COLLECTIVE_PAIR, false},
    {"Latency Persistent Test", PTO_COLLECTIVE_PAIR, false},
    {"Bandwidth Test", PTO_COLLECTIVE_MESSAGES, false},
    {"Bandwidth Persistent Test", PTO_COLLECTIVE_MESSAGES, false},
    {"Multiple Bandwidth / Message Rate Test", PTO_COLLECTIVE_MESSAGES, false},
};

enum { TEST_COUNT = sizeof tests / sizeof *tests, PAIR_COUNT = sizeof pairs / sizeof *pairs };

/* "# Size       Avg Latency(us)", also without its #. */
static bool is_columns(const char *line) {
    line += strspn(line, "# ");
    return pto_text_begins(line, "Size") && line[4] && strchr(PTO_BENCH_BLANKS, line[4]) &&
           (strstr(line, "(us)") || strstr(line, "MB/s"));
}

/* Returns whether a line is a heading of columns in another unit. */
static bool has_other_unit(const char *line) {
    line += strspn(line, "#" PTO_BENCH_BLANKS);
    return pto_text_begins(line, "Size") && strchr(line, '(') && !strstr(line, "(us)") &&
           !strstr(line, "MB/s");
}

/* Returns whether a line is a title, or the columns of a table that was copied without its title. */
static bool is_heading(const char *line) { return pto_text_begins(line, "# OSU ") || is_columns(line); }

static pto_status_t read_title(pto_recording_reader_t *reader, const char *line) {
    pto_bench_t *benchmark = &reader->benchmark;
    const char *kind = line + strlen("# OSU "), *title = kind + strcspn(kind, " ");
    const bool is_mpi = pto_text_begins(kind, "MPI") && kind[3] != '_'; /* MPI_Put and others */
    const bool is_known = is_mpi || pto_text_begins(kind, "NCCL") || pto_text_begins(kind, "XCCL");
    char program[sizeof benchmark->program];
    title += strspn(title, " ");
    const pto_bench_test_t *test = is_known ? pto_bench_test_within(tests, TEST_COUNT, title) : NULL;
    benchmark->on_host = pto_text_begins(kind, "MPI ");
    benchmark->of_nccl = pto_text_begins(kind, "NCCL");
    benchmark->messages = 0;
    benchmark->procs = 0;
    benchmark->column = 1;
    pto_bench_begin_table(benchmark, 0, 2, 1);
    benchmark->is_rate = false;
    benchmark->element_bytes = ELEMENT_BYTES;
    benchmark->rounds_down = strstr(title, "Reduce_scatter_block") != NULL;
    for (int i = 0; i < PAIR_COUNT && is_mpi; i++)
        if (pto_text_begins(title, pairs[i].name)) {
            test = &pairs[i];
            benchmark->procs = 2;
            benchmark->messages = test->collective == PTO_COLLECTIVE_MESSAGES ? WINDOW : 0;
        }
    snprintf(program, sizeof program, "%.*s", (int)strcspn(line + 2, "\r\n"), line + 2);
    return pto_bench_name(reader, program, test);
}

/* Returns the column of a heading that has a text; -1 if none does. A column's name ends with its unit. */
static int column_of(const char *line, const char *name) {
    const char *found = strstr(line, name);
    int column = found ? 1 : -1;
    for (const char *at = line; found && at < found; at++)
        column += *at == ')';
    return column;
}

static int count_columns(const char *line) {
    const char *units = strrchr(line, ')'), *words = units ? units + 1 : strstr(line, "Size") + 4;
    int columns = 1;
    for (const char *at = line; at < words; at++)
        columns += *at == ')';
    for (; *words; words += strcspn(words, " \t\r")) {
        words += strspn(words, " \t\r");
        columns += *words != '\0';
    }
    return columns;
}

/* Finds the column of the call's time: "Pure Comm.(us)" of a non-blocking call, whose other columns include
 * the overlapping computation; else the average, or the first. */
static void read_columns(pto_recording_reader_t *reader, const char *line) {
    pto_bench_t *benchmark = &reader->benchmark;
    const bool overlaps = strstr(line, "Overall") != NULL;
    const int column = column_of(line, overlaps ? "Comm." : "Avg ");
    benchmark->column = column > 0 ? column : 1;
    pto_bench_begin_table(benchmark, count_columns(line), benchmark->column + 1, 1);
    if (overlaps && benchmark->collective != PTO_COLLECTIVE_COUNT)
        reader->trace->non_blocking = true;
    benchmark->is_rate = !overlaps && strstr(line, "MB/s") && !strstr(line, "(us)");
}

/* "# [ pairs: 4 ] [ window size: 64 ]" */
static void read_pairs(pto_bench_t *benchmark, const char *line) {
    const char *count = strstr(line, "[ pairs: "), *window = strstr(line, "[ window size: ");
    if (count && pto_bench_count(count + 9) > 0)
        benchmark->procs = 2 * pto_bench_count(count + 9);
    if (window && pto_bench_count(window + 15) > 0)
        benchmark->messages = pto_bench_count(window + 15);
}

/* Reads a row, "1024   38.77   37.98 ...". Other lines are ignored, as output of other programs. */
static pto_status_t read_row(pto_recording_reader_t *reader, char *line) {
    char *end = line;
    if (*reader->benchmark.program && reader->benchmark.collective == PTO_COLLECTIVE_COUNT)
        (void)strtod(line, &end);
    if (end > line && end[strspn(end, PTO_BENCH_BLANKS)] == '\0') { /* one number: a barrier has no size */
        reader->trace->skipped.others++;
        return PTO_OK;
    }
    return pto_bench_table_row(reader, line);
}

static pto_status_t read_line(pto_recording_reader_t *reader, char *line) {
    if (pto_text_begins(line, "# OSU "))
        return read_title(reader, line);
    if (has_other_unit(line))
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "times are read in (us) and rates in MB/s alone");
    if (is_columns(line)) {
        line = pto_bench_uninterrupted(reader, line);
        if (is_columns(line))
            read_columns(reader, line);
    } else if (pto_text_begins(line, "# Datatype: "))
        reader->benchmark.element_bytes = strstr(line, "MPI_CHAR") ? 1 : ELEMENT_BYTES;
    else if (pto_text_begins(line, "# Send Buffer on HOST") && strstr(line, "Receive Buffer on HOST"))
        reader->benchmark.on_host = true;
    else if (pto_text_begins(line, "# ["))
        read_pairs(&reader->benchmark, line);
    else if (*line != '#')
        return read_row(reader, line);
    return PTO_OK;
}

const pto_bench_format_t pto_osu_format = {PTO_RECORDING_OSU, tests, TEST_COUNT, is_heading, read_line};
