/* Joins rows that other output has interrupted. Debug lines of NCCL, "node-a:71:80 [0] NCCL INFO ...", may be
 * in the middle of a row, or a row after one, as both are written to one file independently. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Returns where the blanks, "[...]" and blanks before `at` begin; `at` if there are none. */
static char *before_brackets(char *line, char *at) {
    char *back = at;
    while (back > line && back[-1] == ' ')
        back--;
    if (back == line || back[-1] != ']')
        return at;
    while (back > line && *back != '[')
        back--;
    while (back > line && back[-1] == ' ')
        back--;
    return back;
}

/* Finds "node-a:" within a text; NULL if it is not there. */
static char *find_host(char *text, const char *host) {
    char *found = *host ? strstr(text, host) : NULL;
    return found && found[strlen(host)] == ':' ? found : NULL;
}

/* A host that no listing or debug line names yet begins with a letter: digits before it are the row's. */
char *pto_bench_debug(pto_recording_reader_t *reader, char *line) {
    const pto_recording_listed_t *listed = &reader->listed;
    pto_bench_t *benchmark = &reader->benchmark;
    char *at = strstr(line, " NCCL ");
    if (!at)
        return NULL;
    at = before_brackets(line, at);
    while (at > line && !isspace((unsigned char)at[-1]))
        at--;
    char *time = before_brackets(line, at);
    if (time < at) /* NCCL_DEBUG_TIMESTAMP_FORMAT */
        return time + strcspn(time, "[");
    char *host = NULL;
    for (int i = 0; i < PTO_BENCH_DEBUG_HOSTS && !host; i++)
        host = find_host(at, benchmark->debug_host[i]);
    for (int i = 0; i < listed->host_count && !host; i++)
        host = find_host(at, listed->host[i].name);
    if (host)
        return host;
    if (at == line) {
        snprintf(benchmark->debug_host[benchmark->debug_lines++ % PTO_BENCH_DEBUG_HOSTS],
                 sizeof *benchmark->debug_host, "%.*s", (int)strcspn(at, ":"), at);
        return at;
    }
    while (*at && !isalpha((unsigned char)*at))
        at++;
    return at;
}

/* Returns where the last `count` fields of a text begin; NULL if it has fewer. */
static char *last_fields(char *text, int count) {
    char *at = text + strlen(text);
    for (int i = 0; i < count; i++) {
        while (at > text && isspace((unsigned char)at[-1]))
            at--;
        if (at == text)
            return NULL;
        while (at > text && !isspace((unsigned char)at[-1]))
            at--;
    }
    return at;
}

/* How many fields a text has; whether it begins as a row does, and whether it is a whole one, or would be if
 * its size and its time, such as nan, -1.00 or 11us, were clear. */
typedef struct {
    int count;        /* of fields */
    bool begins;      /* like a row */
    bool is_row;      /* a whole one */
    bool is_timeless; /* a whole one, but its size or time, such as nan or -1.00, is not clear */
} shape_t;

bool pto_bench_is_numeric(const char *field) {
    static const char *const none[] = {"-", "--", "N/A", "n/a", "NA"};
    char *end;
    (void)strtod(field, &end);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcmp(field, none[i]) == 0)
            return true;
    while (end > field && isalpha((unsigned char)*end))
        end++;
    return end > field && *end == '\0';
}

static shape_t shape_of(const pto_bench_t *benchmark, const char *text) {
    char copy[sizeof benchmark->torn], *field[PTO_RECORDING_COLUMNS_MAX];
    int64_t number, least = 0;
    double value;
    snprintf(copy, sizeof copy, "%s", text);
    shape_t shape = {.count = pto_recording_split(copy, PTO_BENCH_BLANKS, true, field)};
    bool resembles = shape.count >= benchmark->least && shape.count > benchmark->column;
    shape.begins = shape.count > 0;
    for (int i = 0; i < benchmark->numbers && i < shape.count; i++) {
        shape.begins = shape.begins && pto_recording_size(field[i], &number);
        resembles = resembles && isdigit((unsigned char)*field[i]) && pto_bench_is_numeric(field[i]);
        least = shape.begins && number < least ? number : least;
    }
    /* Other numbers are not in these columns, nor do they have decimals. */
    if (resembles && benchmark->numbers < 2 && shape.count != benchmark->columns && !strchr(text, ','))
        resembles = strchr(field[benchmark->column], '.') != NULL;
    shape.is_row =
        resembles && shape.begins && least >= 0 && pto_recording_seconds(field[benchmark->column], &value);
    shape.is_timeless = resembles && !shape.is_row && pto_bench_is_numeric(field[benchmark->column]);
    return shape;
}

void pto_bench_drop_torn(pto_recording_reader_t *reader) {
    reader->trace->skipped.torn += *reader->benchmark.torn != '\0';
    reader->benchmark.torn[0] = '\0';
}

char *pto_bench_uninterrupted(pto_recording_reader_t *reader, char *line) {
    char *debug = pto_bench_debug(reader, line);
    if (!debug)
        return line;
    const int columns = reader->benchmark.columns;
    char *row = columns > 0 ? last_fields(debug, columns) : NULL;
    const bool is_first = line + strspn(line, " \t") == debug;
    if (row && is_first && shape_of(&reader->benchmark, row).is_row)
        return row;
    *debug = '\0';
    return line;
}

/* Stores what may become a whole row. A table of two columns looks like any text, so there only lines that a
 * debug line cut are parts of rows. */
static void store_part(pto_recording_reader_t *reader, const char *text, shape_t shape, bool is_cut) {
    pto_bench_t *benchmark = &reader->benchmark;
    reader->trace->skipped.timeless += shape.is_timeless;
    if (!shape.begins || shape.is_timeless || (!is_cut && benchmark->numbers < 2))
        return;
    snprintf(benchmark->torn, sizeof benchmark->torn, "%s", text);
    if (shape.count >= benchmark->least)
        pto_bench_drop_torn(reader);
}

bool pto_bench_join(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]) {
    pto_bench_t *benchmark = &reader->benchmark;
    const char *torn = benchmark->torn;
    const size_t length = strlen(line);
    line = pto_bench_uninterrupted(reader, line);
    const bool is_cut = strlen(line) < length;
    shape_t shape = shape_of(benchmark, line);
    if (shape.count == 0)
        return false;
    /* Rows begin with blanks: text without them, directly after a digit, is the rest of a number. */
    const bool continues = *torn && !is_blank(torn[strlen(torn) - 1]) && !is_blank(*line);
    snprintf(row, PTO_BENCH_ROW_MAX, "%s", line);
    if (*torn && (!shape.is_row || continues)) {
        char joined[PTO_BENCH_ROW_MAX];
        snprintf(joined, sizeof joined, "%s%s", torn, line);
        const shape_t both = shape_of(benchmark, joined);
        if (both.is_row || !shape.begins || shape.count <= benchmark->numbers) {
            snprintf(row, PTO_BENCH_ROW_MAX, "%s", joined);
            shape = both;
            benchmark->torn[0] = '\0';
        }
    }
    if (*torn)
        pto_bench_drop_torn(reader);
    if (!shape.is_row)
        store_part(reader, row, shape, is_cut);
    return shape.is_row;
}
