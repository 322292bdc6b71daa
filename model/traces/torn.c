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
    while (found && found[strlen(host)] != ':')
        found = strstr(found + 1, host);
    return found;
}

/* A host that no listing or debug line names yet is taken to begin with a letter. Digits before it may be a
 * row's, or the host's. */
char *pto_bench_debug(pto_recording_reader_t *reader, char *line) {
    const pto_recording_listed_t *listed = &reader->listed;
    pto_bench_t *benchmark = &reader->benchmark;
    char *at = strstr(line, " NCCL ");
    benchmark->is_unclear = false;
    benchmark->is_glued = false;
    if (!at)
        return NULL;
    at = before_brackets(line, at);
    while (at > line && !isspace((unsigned char)at[-1]))
        at--;
    at += *at == '#'; /* of a comment */
    char *time = before_brackets(line, at);
    if (time < at) /* NCCL_DEBUG_TIMESTAMP_FORMAT */
        return time + strcspn(time, "[");
    char *host = NULL;
    for (int i = 0; i < PTO_BENCH_DEBUG_HOSTS && !host; i++)
        host = find_host(at, benchmark->debug_host[i]);
    for (int i = 0; i < listed->hosts.count && !host; i++)
        host = find_host(at, listed->hosts.text[i]);
    if (host)
        return host;
    const bool may_begin_row = benchmark->is_numeric && benchmark->column > 0 && isdigit((unsigned char)*at);
    const char *token = at;
    benchmark->is_glued = at > line;
    if ((at == line && !may_begin_row) || isalpha((unsigned char)*at)) {
        snprintf(benchmark->debug_host[benchmark->debug_lines++ % PTO_BENCH_DEBUG_HOSTS],
                 sizeof *benchmark->debug_host, "%.*s", (int)strcspn(at, ":"), at);
        return at;
    }
    while (*at && !isalpha((unsigned char)*at))
        at++;
    benchmark->is_unclear = at > token;
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

/* Returns whether what was taken for the beginning of a row is one: it has several numbers, or the blanks of
 * a column. Other output also has lines that begin with numbers. */
static bool is_part(const pto_bench_t *benchmark, const char *text) {
    enum { BLANKS = 3 };
    const char *size = text + strspn(text, PTO_BENCH_BLANKS),
               *behind = size + strcspn(size, PTO_BENCH_BLANKS);
    return *size && (!benchmark->is_numeric || strspn(behind, " \t") >= BLANKS ||
                     (benchmark->numbers > 1 && shape_of(benchmark, text).count > 1));
}

void pto_bench_drop_torn(pto_recording_reader_t *reader) {
    reader->trace->skipped.torn += is_part(&reader->benchmark, reader->benchmark.torn);
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

/* Stores what may become a whole row. */
static void store_part(pto_recording_reader_t *reader, const char *text, shape_t shape) {
    pto_bench_t *benchmark = &reader->benchmark;
    reader->trace->skipped.timeless += shape.is_timeless;
    if (!shape.begins || shape.is_timeless)
        return;
    snprintf(benchmark->torn, sizeof benchmark->torn, "%s", text);
    if (shape.count >= benchmark->least)
        pto_bench_drop_torn(reader);
}

static bool join_row(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]) {
    pto_bench_t *benchmark = &reader->benchmark;
    const char *torn = benchmark->torn;
    line = pto_bench_uninterrupted(reader, line);
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
        store_part(reader, row, shape);
    return shape.is_row;
}

/* --- tables of numbers alone ---------------------------------------------------------------------------- */

void pto_bench_begin_table(pto_bench_t *benchmark, int columns, int least, int numbers) {
    benchmark->columns = columns;
    benchmark->least = least;
    benchmark->numbers = numbers;
    benchmark->is_numeric = true;
    benchmark->rows = 0;
}

int pto_bench_decimals(const char *line) {
    const char *point = strrchr(line, '.');
    const size_t digits = point ? strspn(point + 1, "0123456789") : 0;
    return point && point[1 + digits + strspn(point + 1 + digits, " \t\r")] == '\0' ? (int)digits : 0;
}

/* Returns the bytes of a line up to other output behind or within the numbers of a row. */
static size_t row_length(const pto_bench_t *benchmark, const char *line) {
    const size_t numbers = strspn(line, "0123456789. \t");
    const char *at = line + strspn(line, PTO_BENCH_BLANKS);
    if (line[numbers] == '\0') /* as nearly always */
        return numbers;
    for (int fields = 0; *at; fields++) {
        char field[32];
        const size_t length = strcspn(at, PTO_BENCH_BLANKS), digits = strspn(at, "0123456789.");
        snprintf(field, sizeof field, "%.*s", (int)(length < sizeof field ? length : 0), at);
        if (digits < length && !pto_bench_is_numeric(field) && strcmp(field, "Pass") != 0 &&
            strcmp(field, "Fail") != 0)
            return fields >= benchmark->least && fields >= benchmark->columns && digits == 0
                       ? strlen(line)
                       : (size_t)(at - line) + digits;
        at += length + strspn(at + length, PTO_BENCH_BLANKS);
    }
    return (size_t)(at - line);
}

/* Returns the size that a row begins with; -1 if it is not clear. */
static int64_t size_of(const char *row) {
    char field[32];
    int64_t bytes;
    const char *at = row + strspn(row, PTO_BENCH_BLANKS);
    const size_t length = strcspn(at, PTO_BENCH_BLANKS);
    snprintf(field, sizeof field, "%.*s", (int)(length < sizeof field ? length : 0), at);
    return (at[0] == '0' && isdigit((unsigned char)at[1])) || !pto_recording_size(field, &bytes) ? -1 : bytes;
}

/* Returns whether a row can be the next one of its table. If `exactly`, the sizes must go on as before. */
static bool is_next(const pto_bench_t *benchmark, const char *row, bool exactly) {
    const int64_t size = size_of(row), last = benchmark->size[1], before = benchmark->size[0];
    if (size < 0 || benchmark->rows == 0)
        return size >= 0 && !exactly;
    if (size <= last || !exactly)
        return size > last;
    return benchmark->rows > 1 && (size - last == last - before ||
                                   (before > 0 && last % before == 0 && size / last == last / before));
}

static bool has_decimals(const pto_bench_t *benchmark, const char *row) {
    return benchmark->rows > 0 && pto_bench_decimals(row) == benchmark->decimals_of_rows;
}

static bool is_within_size(const char *torn) {
    torn += strspn(torn, PTO_BENCH_BLANKS);
    return torn[strcspn(torn, PTO_BENCH_BLANKS)] == '\0';
}

/* Returns whether a row of two parts is one of the table, and not a mixture with digits of other output. */
static bool is_joined(const pto_bench_t *benchmark, const char *joined, shape_t shape) {
    const bool in_size = is_within_size(benchmark->torn);
    if (!shape.is_row || (benchmark->columns > 0 && shape.count != benchmark->columns) ||
        (benchmark->rows > 0 && !has_decimals(benchmark, joined)))
        return false;
    if (benchmark->torn_unclear)
        return in_size && is_next(benchmark, joined, true);
    return !in_size || is_next(benchmark, joined, benchmark->rows > 1);
}

/* Adds a line to the stored part of a row. Returns whether the row is whole; `*is_rest`: the line is of it.
 */
static bool add_rest(pto_recording_reader_t *reader, const char *line, shape_t shape, bool is_cut,
                     char row[PTO_BENCH_ROW_MAX], bool *is_rest) {
    pto_bench_t *benchmark = &reader->benchmark;
    char *torn = benchmark->torn;
    char joined[PTO_BENCH_ROW_MAX];
    snprintf(joined, sizeof joined, "%s%s", torn, line);
    const shape_t both = shape_of(benchmark, joined);
    const bool is_first =
        benchmark->rows == 0 && !is_blank(*line) && (is_within_size(torn) || is_part(benchmark, torn));
    *is_rest = !shape.is_row || (is_first && (benchmark->torn_no_time || !benchmark->torn_unclear)) ||
               !is_next(benchmark, line, false);
    if (*is_rest && is_joined(benchmark, joined, both)) {
        snprintf(row, PTO_BENCH_ROW_MAX, "%s", joined);
        torn[0] = '\0';
        return true;
    }
    if (*is_rest && is_cut && !both.is_row && !shape.is_row && both.count <= benchmark->columns) {
        snprintf(torn, sizeof benchmark->torn, "%s", joined);
        return false;
    }
    if (*is_rest &&
        (shape.is_row || (strchr(line, '.') &&
                          (benchmark->rows == 0 ||
                           has_decimals(benchmark, line))))) { /* one row, in parts that cannot be joined */
        reader->trace->skipped.torn++;
        torn[0] = '\0';
    }
    pto_bench_drop_torn(reader);
    return false;
}

static bool count_row(pto_bench_t *benchmark, const char *row) {
    benchmark->size[0] = benchmark->size[1];
    benchmark->size[1] = size_of(row);
    benchmark->decimals_of_rows = pto_bench_decimals(row);
    benchmark->rows++;
    return true;
}

/* Ends a row with an empty line, which is the end of the line that other output has interrupted. */
static bool end_row(pto_recording_reader_t *reader, char row[PTO_BENCH_ROW_MAX]) {
    pto_bench_t *benchmark = &reader->benchmark;
    const shape_t shape = shape_of(benchmark, benchmark->torn);
    if (!shape.is_row)
        return false;
    if (benchmark->torn_unclear || !is_joined(benchmark, benchmark->torn, shape)) {
        pto_bench_drop_torn(reader);
        return false;
    }
    snprintf(row, PTO_BENCH_ROW_MAX, "%s", benchmark->torn);
    benchmark->torn[0] = '\0';
    return count_row(benchmark, row);
}

/* Stores the beginning of a row. A line of one number with other output behind it may be one. */
static void store_numbers(pto_recording_reader_t *reader, const char *line, shape_t shape, bool is_cut) {
    pto_bench_t *benchmark = &reader->benchmark;
    if (shape.is_timeless && !is_cut)
        reader->trace->skipped.timeless++;
    else if (shape.begins && (is_cut || (benchmark->numbers > 1 && shape.count > 1)))
        snprintf(benchmark->torn, sizeof benchmark->torn, "%s", line);
}

/* Returns whether a text begins like a date or a time of day, of which the digits are. */
static bool is_time(const char *text) {
    const size_t digits = strspn(text, "0123456789");
    return (digits == 4 && (text[4] == '-' || text[4] == '/')) ||
           (digits > 0 && digits <= 2 && text[digits] == ':');
}

static bool join_numbers(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]) {
    pto_bench_t *benchmark = &reader->benchmark;
    const bool is_empty = line[strspn(line, " \t\r")] == '\0';
    char *whole = line;
    const size_t length = strlen(line);
    line = pto_bench_uninterrupted(reader, line);
    bool is_no_time = line == whole && strlen(line) < length;
    bool is_cut = is_no_time, is_unclear = is_no_time && benchmark->is_unclear;
    const size_t part = row_length(benchmark, line);
    if (line[part]) {
        is_no_time = is_no_time || !is_time(line + strspn(line, PTO_BENCH_BLANKS));
        is_unclear =
            is_unclear || (part > 0 && isdigit((unsigned char)line[part - 1]) && strchr("-:/.", line[part]));
        is_cut = true;
        line[part] = '\0';
    }
    const shape_t shape = shape_of(benchmark, line);
    if (shape.count == 0)
        return is_empty && end_row(reader, row);
    bool is_rest = false;
    if (*benchmark->torn && add_rest(reader, line, shape, is_cut, row, &is_rest))
        return count_row(benchmark, row);
    if (*benchmark->torn || (is_rest && !is_cut))
        return false;
    benchmark->torn_unclear = is_unclear;
    benchmark->torn_no_time = is_no_time;
    const bool has_all = benchmark->columns == 0 || shape.count == benchmark->columns;
    const bool is_whole = has_all && !is_unclear && has_decimals(benchmark, line);
    if (shape.is_row && (!is_cut || is_whole)) {
        snprintf(row, PTO_BENCH_ROW_MAX, "%s", line);
        return count_row(benchmark, row);
    }
    store_numbers(reader, line, shape, is_cut);
    return false;
}

bool pto_bench_join(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]) {
    return (reader->benchmark.is_numeric ? join_numbers : join_row)(reader, line, row);
}
