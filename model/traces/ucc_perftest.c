/* Reads ucc_perftest: "Collective:             Allreduce", "Memory type:            cuda", then "Count  Size
 * Time, us" above rows of the average, minimum and maximum. It does not print the number of processes. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

enum { SIZE_COLUMN = 1, TIME_COLUMN = 2 }; /* of the average over processes */

/* Sizes are bytes of the source. */
#define TEST(id, name, in, routine, data, ...) PTO_BENCH_TEST_##in(id, routine, PTO_RECORDED_BY_BLOCK(data))
static const pto_bench_test_t tests[] = {PTO_COLLECTIVE_TABLE(TEST)};
enum { TEST_COUNT = sizeof tests / sizeof *tests };

/* "       Count        Size                Time, us", also of a table without the lines above it. */
static bool is_columns(const char *line) {
    return pto_text_begins(line + strspn(line, " \t"), "Count ") && strstr(line, "Time, us");
}

static bool is_heading(const char *line) {
    return pto_bench_value(line, "Collective:") != NULL || is_columns(line);
}

static pto_status_t name_test(pto_recording_reader_t *reader, const char *text) {
    char name[64];
    pto_bench_copy(text, "\r", name, sizeof name); /* to the line's end: "Reduce DT" is not "Reduce" */
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    reader->benchmark.column = 0;
    return pto_bench_name(reader, name, pto_bench_test(tests, TEST_COUNT, name));
}

static void read_memory(pto_recording_reader_t *reader, const char *memory) {
    reader->benchmark.on_host = strncmp(memory, "host", 4) == 0 || strncmp(memory, "Host", 4) == 0;
}

static pto_status_t read_line(pto_recording_reader_t *reader, char *line) {
    char row[PTO_BENCH_ROW_MAX];
    const char *collective = pto_bench_value(line, "Collective:"),
               *memory = pto_bench_value(line, "Memory type:");
    if (collective)
        return name_test(reader, collective);
    if (memory)
        read_memory(reader, memory);
    if (is_columns(line)) {
        reader->benchmark.size_column = SIZE_COLUMN;
        reader->benchmark.column = TIME_COLUMN;
        pto_bench_begin_table(&reader->benchmark, 0, TIME_COLUMN + 1, 2);
    }
    return reader->benchmark.column > 0 && pto_bench_join(reader, line, row)
               ? pto_bench_plain_row(reader, row)
               : PTO_OK;
}

const pto_bench_format_t pto_ucc_format = {PTO_RECORDING_UCC_PERFTEST, tests, TEST_COUNT, is_heading,
                                           read_line};
