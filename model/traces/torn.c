/* Rows that other output has interrupted. Debug lines of NCCL, "node-a:71:80 [0] NCCL INFO ...", end up in
 * the middle of a row, and a row behind one: each writes to the same file by itself. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Back past blanks, "[...]" and blanks again; `at` itself, if none is there. */
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

/* "node-a:" within a text; NULL: it is not there. */
static char *find_host(char *text, const char *host) {
    char *found = *host ? strstr(text, host) : NULL;
    return found && found[strlen(host)] == ':' ? found : NULL;
}

/* A host that neither the file lists nor an earlier debug line names is taken to begin with a letter, and the
 * digits before it to be the row's. */
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
    char *host = find_host(at, benchmark->debug_host);
    for (int i = 0; i < listed->host_count && !host; i++)
        host = find_host(at, listed->host[i].name);
    if (host)
        return host;
    if (at == line) {
        snprintf(benchmark->debug_host, sizeof benchmark->debug_host, "%.*s", (int)strcspn(at, ":"), at);
        return at;
    }
    while (*at && !isalpha((unsigned char)*at))
        at++;
    return at;
}

/* Returns the end of a text from its last `count` fields on; NULL: it has fewer. */
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
 * its size and its time, such as nan or -1.00, were clear. */
typedef struct {
    int count;
    bool begins, is_row, is_timeless;
} shape_t;

static bool is_number(const char *text) {
    char *end;
    (void)strtod(text, &end);
    return end != text && *end == '\0';
}

static shape_t shape_of(const pto_bench_t *benchmark, const char *text) {
    char copy[sizeof benchmark->torn], *field[PTO_RECORDING_COLUMNS_MAX];
    int64_t number, least = 0;
    double value;
    snprintf(copy, sizeof copy, "%s", text);
    shape_t shape = {.count = pto_recording_split(copy, PTO_BENCH_BLANKS, true, field)};
    shape.begins = shape.count > 0;
    for (int i = 0; i < benchmark->numbers && i < shape.count && shape.begins; i++) {
        shape.begins = pto_recording_size(field[i], &number);
        least = number < least ? number : least;
    }
    const bool is_whole = shape.begins && shape.count >= benchmark->least;
    shape.is_row = is_whole && least >= 0 && pto_recording_seconds(field[benchmark->column], &value);
    shape.is_timeless = is_whole && !shape.is_row && is_number(field[benchmark->column]);
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
    const bool is_behind = line + strspn(line, " \t") == debug;
    if (row && is_behind && shape_of(&reader->benchmark, row).is_row)
        return row;
    *debug = '\0';
    return line;
}

/* Keep what is no whole row yet; what can't become one is left out. A table of two columns looks like any
 * text: only what was cut is a part of its rows. */
static void keep_part(pto_recording_reader_t *reader, const char *text, shape_t shape, bool is_cut) {
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
    /* What follows a digit at once is the rest of its number: rows are not printed at the margin. */
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
        keep_part(reader, row, shape, is_cut);
    return shape.is_row;
}
