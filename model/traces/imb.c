/* Reads the Intel MPI Benchmarks: "# Benchmarking Allreduce", "# #processes = 4", then "#bytes #repetitions
 * t_min[usec] t_max[usec] t_avg[usec]". oneCCL's benchmark prints the same with colons: "# Benchmarking:
 * allreduce". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

/* Sizes are bytes of a vector or of one block. Those of Reduce_scatter, too, are of a block, unless IMB was
 * built as IMB2018. */
#define TEST(id, name, in, routine, ...) PTO_BENCH_TEST_##in(id, routine, false)
static const pto_bench_test_t tests[] = {
    PTO_COLLECTIVE_TABLE(TEST) /* */
    {"Reduce_scatter_block", PTO_COLLECTIVE_REDUCE_SCATTER, false},
    {"broadcast", PTO_COLLECTIVE_BROADCAST, false}, /* oneCCL's */
    {"PingPong", PTO_COLLECTIVE_PAIR, false},
};
enum { TEST_COUNT = sizeof tests / sizeof *tests };

static const char benchmarking[] = "# Benchmarking";

/* A table may have been copied without the lines above that of its columns. */
static bool is_heading(const char *line) {
    return pto_bench_value(line, benchmarking) != NULL ||
           (pto_text_begins(line, "#bytes ") && strstr(line, "#repetitions")) ||
           (*line == '#' && (pto_text_begins(line + 1 + strspn(line + 1, " "), "Intel(R) MPI Benchmarks") ||
                             pto_text_begins(line + 1 + strspn(line + 1, " "), "Intel (R) MPI Benchmarks")));
}

/* Returns the test of a non-blocking collective, "Iallreduce" or "Iallreduce_pure"; NULL if there is none. */
static const pto_bench_test_t *find_non_blocking(const char *name) {
    char blocking[64];
    snprintf(blocking, sizeof blocking, "%s", *name == 'I' ? name + 1 : "");
    char *pure = strstr(blocking, "_pure");
    if (pure)
        *pure = '\0';
    const pto_bench_test_t *test = pto_bench_test(tests, TEST_COUNT, blocking);
    return test && test->collective != PTO_COLLECTIVE_PAIR ? test : NULL;
}

static pto_status_t name_test(pto_recording_reader_t *reader, const char *text) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " \t\r"), text);
    const pto_bench_test_t *test = pto_bench_test(tests, TEST_COUNT, name);
    if (!test && (test = find_non_blocking(name)) != NULL)
        reader->trace->non_blocking = true;
    reader->benchmark.column = 0;
    reader->benchmark.size_column = 0;
    reader->benchmark.procs = 0;
    return pto_bench_name(reader, name, test);
}

/* Sets where buffers are: in host memory, unless the program was told to allocate them on a GPU. */
static void read_memory(pto_recording_reader_t *reader, const char *line) {
    pto_bench_t *benchmark = &reader->benchmark;
    if (strstr(line, "mem_alloc_type") && (strstr(line, "device") || strstr(line, "gpu")))
        benchmark->on_gpus = true;
    benchmark->on_host = !benchmark->on_gpus;
}

/* Finds the column of the time: that of the average over processes, if there is one. */
static bool read_columns(pto_bench_t *benchmark, const char *line) {
    char copy[512], *field[PTO_RECORDING_COLUMNS_MAX];
    snprintf(copy, sizeof copy, "%s", line);
    int count = pto_recording_split(copy, " \t\r", true, field);
    if (count < 3 || strcmp(field[0], "#bytes") != 0)
        return false;
    benchmark->column = 0;
    benchmark->wrong_column = strcmp(field[count - 1], "defects") == 0 ? count - 1 : 0;
    pto_bench_begin_table(benchmark, count, count, 2);
    for (int i = count - 1; i > 0; i--)
        if (strcmp(field[i], "t_avg[usec]") == 0 || strcmp(field[i], "t[usec]") == 0 ||
            strcmp(field[i], "t_pure[usec]") == 0)
            benchmark->column = i;
    return true;
}

static pto_status_t read_row(pto_recording_reader_t *reader, char *line) {
    char row[PTO_BENCH_ROW_MAX];
    if (reader->benchmark.column == 0)
        return pto_bench_plain_row(reader, line);
    if (!pto_bench_join(reader, line, row))
        return PTO_OK;
    const char *last = strrchr(row, ' ');
    if (reader->benchmark.wrong_column > 0 && atof(last ? last : row) > 0)
        reader->trace->has_wrong = true;
    return pto_bench_plain_row(reader, row);
}

static pto_status_t read_line(pto_recording_reader_t *reader, char *line) {
    pto_bench_t *benchmark = &reader->benchmark;
    read_memory(reader, line);
    const char *test = pto_bench_value(line, benchmarking), *procs = pto_bench_value(line, "# #processes");
    if (test)
        return name_test(reader, test);
    if (procs)
        benchmark->procs = pto_bench_count(procs);
    else if (!read_columns(benchmark, line) && *line != '#')
        return read_row(reader, line);
    return PTO_OK;
}

const pto_bench_format_t pto_imb_format = {PTO_RECORDING_IMB, tests, TEST_COUNT, is_heading, read_line};
