/* Joins the parts of torn rows: table rows that other output has interrupted (see pto_bench_t in reader.h).
 *
 * pto_bench_join gets each line of a table. If a debug line of NCCL begins within it, the text before that is
 * taken for the beginning of a row and kept in `torn` until the rest comes. An example of a torn row:
 *     10node-a:7:9 [0] NCCL INFO Channel 00
 *     24            12.34
 * The first line leaves "10" in `torn`; with the second line, the row is "1024            12.34". Rows of
 * nccl-tests also have words, which show well what belongs together (join_row). Rows of only numbers do not:
 * "24 12.34" is a row, too. So join_numbers also requires that sizes go on as in the rows before (256, 512,
 * 1024), and that the last number has as many decimals. Rows that remain incomplete are dropped and counted.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Returns where "[...]" before `at` begins, together with the blanks around it; `at` if there is none. */
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

/* Goes back from " NCCL " over "[0]" to the beginning of the word before it, such as "10node-a:7:9". The
 * debug line begins at the host's name in that word. The name of an unknown host is assumed to begin with a
 * letter: digits before it may belong to a row. */
char *pto_bench_debug(pto_recording_reader_t *reader, char *line) {
    const pto_recording_listed_t *listed = &reader->listed;
    pto_bench_t *benchmark = &reader->benchmark;
    char *at = strstr(line, " NCCL ");
    benchmark->debug_is_unclear = false;
    benchmark->debug_is_glued = false;
    if (!at)
        return NULL;
    at = before_brackets(line, at);
    while (at > line && !isspace((unsigned char)at[-1]))
        at--;
    at += *at == '#'; /* of a comment */
    char *time = before_brackets(line, at);
    if (time < at) /* a time stamp in brackets (NCCL_DEBUG_TIMESTAMP_FORMAT) comes before the host */
        return time + strcspn(time, "[");
    char *host = NULL;
    for (int i = 0; i < PTO_BENCH_DEBUG_HOSTS && !host; i++)
        host = find_host(at, benchmark->debug_host[i]);
    for (int i = 0; i < listed->hosts.count && !host; i++)
        host = find_host(at, listed->hosts.text[i]);
    if (host)
        return host;
    const bool in_table = benchmark->only_numbers && benchmark->column > 0;
    const bool may_begin_row = in_table && isdigit((unsigned char)*at);
    const char *word = at;
    benchmark->debug_is_glued = at > line;
    if ((at == line && !may_begin_row) || isalpha((unsigned char)*at)) {
        snprintf(benchmark->debug_host[benchmark->debug_lines++ % PTO_BENCH_DEBUG_HOSTS],
                 sizeof *benchmark->debug_host, "%.*s", (int)strcspn(at, ":"), at);
        return at;
    }
    while (*at && !isalpha((unsigned char)*at))
        at++;
    benchmark->debug_is_unclear = at > word;
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

/* How far a text looks like a row. */
typedef struct {
    int count;        /* of fields */
    bool begins;      /* it begins like a row */
    bool is_row;      /* it is a whole row */
    bool is_timeless; /* it is a whole row, but its size or time is not clear, such as nan, -1.00 or 11us */
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
    int64_t number, smallest = 0;
    double value;
    snprintf(copy, sizeof copy, "%s", text);
    shape_t shape = {.count = pto_recording_split(copy, PTO_BENCH_BLANKS, true, field)};
    bool resembles = shape.count >= benchmark->columns_min && shape.count > benchmark->column;
    shape.begins = shape.count > 0;
    for (int i = 0; i < benchmark->whole_columns && i < shape.count; i++) {
        shape.begins = shape.begins && pto_recording_size(field[i], &number);
        resembles = resembles && isdigit((unsigned char)*field[i]) && pto_bench_is_numeric(field[i]);
        smallest = shape.begins && number < smallest ? number : smallest;
    }
    /* A line of other numbers may resemble a row. Only a row has decimals in the column of the time. */
    if (resembles && benchmark->whole_columns < 2 && shape.count != benchmark->columns && !strchr(text, ','))
        resembles = strchr(field[benchmark->column], '.') != NULL;
    shape.is_row =
        resembles && shape.begins && smallest >= 0 && pto_recording_seconds(field[benchmark->column], &value);
    shape.is_timeless = resembles && !shape.is_row && pto_bench_is_numeric(field[benchmark->column]);
    return shape;
}

/* Returns whether a text that was kept as the beginning of a row is one, and not a line of other output that
 * begins with a number: it has several numbers, or a column's blanks after the first one. */
static bool is_part(const pto_bench_t *benchmark, const char *text) {
    enum { BLANKS = 3 };
    const char *size = text + strspn(text, PTO_BENCH_BLANKS);
    const char *after_size = size + strcspn(size, PTO_BENCH_BLANKS);
    return *size && (!benchmark->only_numbers || strspn(after_size, " \t") >= BLANKS ||
                     (benchmark->whole_columns > 1 && shape_of(benchmark, text).count > 1));
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
    const bool begins_line = line + strspn(line, " \t") == debug;
    if (row && begins_line && shape_of(&reader->benchmark, row).is_row)
        return row; /* the debug line has no line end, and a row follows it */
    *debug = '\0';
    return line;
}

/* Keeps the beginning of a row. With as many fields as a row has, nothing can follow, and it is dropped. */
static void store_part(pto_recording_reader_t *reader, const char *text, shape_t shape) {
    pto_bench_t *benchmark = &reader->benchmark;
    reader->trace->skipped.timeless += shape.is_timeless;
    if (!shape.begins || shape.is_timeless)
        return;
    snprintf(benchmark->torn, sizeof benchmark->torn, "%s", text);
    if (shape.count >= benchmark->columns_min)
        pto_bench_drop_torn(reader);
}

/* pto_bench_join for a table whose rows have words. */
static bool join_row(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]) {
    pto_bench_t *benchmark = &reader->benchmark;
    const char *torn = benchmark->torn;
    line = pto_bench_uninterrupted(reader, line);
    shape_t shape = shape_of(benchmark, line);
    if (shape.count == 0)
        return false;
    /* Rows begin with blanks: text without them, directly after a digit, is the rest of a number. */
    const bool continues_field = *torn && !is_blank(torn[strlen(torn) - 1]) && !is_blank(*line);
    snprintf(row, PTO_BENCH_ROW_MAX, "%s", line);
    if (*torn && (!shape.is_row || continues_field)) {
        char joined[PTO_BENCH_ROW_MAX];
        snprintf(joined, sizeof joined, "%s%s", torn, line);
        const shape_t both = shape_of(benchmark, joined);
        /* Join them if that gives a row, or if the line is too short to be the beginning of another one. */
        if (both.is_row || !shape.begins || shape.count <= benchmark->whole_columns) {
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

void pto_bench_begin_table(pto_bench_t *benchmark, int columns, int columns_min, int whole_columns) {
    benchmark->columns = columns;
    benchmark->columns_min = columns_min;
    benchmark->whole_columns = whole_columns;
    benchmark->only_numbers = true;
    benchmark->rows = 0;
}

int pto_bench_decimals(const char *line) {
    const char *point = strrchr(line, '.');
    const size_t digits = point ? strspn(point + 1, "0123456789") : 0;
    return point && point[1 + digits + strspn(point + 1 + digits, " \t\r")] == '\0' ? (int)digits : 0;
}

/* Returns how many characters at the beginning of a line can belong to a row: the numeric fields ("Pass" and
 * "Fail" count as such), and the digits with which the first other field begins. In "512 12node-b:7:9" these
 * are "512 12". After a whole row, a word is not other output, and the length is that of the line. */
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
            strcmp(field, "Fail") != 0) {
            const bool is_whole = fields >= benchmark->columns_min && fields >= benchmark->columns;
            return is_whole && digits == 0 ? strlen(line) : (size_t)(at - line) + digits;
        }
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

/* Returns whether a row can be the next one of its table: its size is larger than the last. If `exactly`, it
 * must also continue the arithmetic or geometric series of the last two sizes. */
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
    return benchmark->rows > 0 && pto_bench_decimals(row) == benchmark->row_decimals;
}

/* Returns whether a row was interrupted within its first number, the size. */
static bool is_within_size(const char *torn) {
    torn += strspn(torn, PTO_BENCH_BLANKS);
    return torn[strcspn(torn, PTO_BENCH_BLANKS)] == '\0';
}

/* Returns whether two joined parts are a row of the table. Digits of other output in it would give it another
 * size or other decimals than expected. If there may be such digits (torn_unclear), they must be in the size,
 * where they would break the series of sizes. */
static bool fits_table(const pto_bench_t *benchmark, const char *joined, shape_t shape) {
    const bool in_size = is_within_size(benchmark->torn);
    if (!shape.is_row || (benchmark->columns > 0 && shape.count != benchmark->columns) ||
        (benchmark->rows > 0 && !has_decimals(benchmark, joined)))
        return false;
    if (benchmark->torn_unclear)
        return in_size && is_next(benchmark, joined, true);
    return !in_size || is_next(benchmark, joined, benchmark->rows > 1);
}

/* Returns whether a line of this shape continues the torn row. A line that is a whole row by itself does so
 * in two cases only: it cannot be the next row, or there are no rows yet to compare its size with and the
 * parts touch within a number. */
static bool continues_torn(const pto_bench_t *benchmark, const char *line, shape_t shape) {
    if (!shape.is_row || !is_next(benchmark, line, false))
        return true;
    const char *torn = benchmark->torn;
    return benchmark->rows == 0 && !is_blank(*line) && (is_within_size(torn) || is_part(benchmark, torn)) &&
           !benchmark->torn_may_be_time;
}

/* Joins the torn row and a line, which may be its rest (`*is_rest`). If this is a whole row, sets `row` and
 * returns true. Else, if other output interrupts the line, too (`is_cut`), and more can follow, keeps both
 * parts in `torn`. Else the torn row is lost: empties `torn`. */
static bool add_rest(pto_recording_reader_t *reader, const char *line, shape_t shape, bool is_cut,
                     char row[PTO_BENCH_ROW_MAX], bool *is_rest) {
    pto_bench_t *benchmark = &reader->benchmark;
    char *torn = benchmark->torn;
    char joined[PTO_BENCH_ROW_MAX];
    snprintf(joined, sizeof joined, "%s%s", torn, line);
    const shape_t both = shape_of(benchmark, joined);
    *is_rest = continues_torn(benchmark, line, shape);
    if (*is_rest && fits_table(benchmark, joined, both)) {
        snprintf(row, PTO_BENCH_ROW_MAX, "%s", joined);
        torn[0] = '\0';
        return true;
    }
    if (*is_rest && is_cut && !both.is_row && !shape.is_row && both.count <= benchmark->columns) {
        snprintf(torn, sizeof benchmark->torn, "%s", joined);
        return false;
    }
    const bool ends_like_row = strchr(line, '.') && (benchmark->rows == 0 || has_decimals(benchmark, line));
    if (*is_rest && (shape.is_row || ends_like_row)) { /* the end of the row, whose parts cannot be joined */
        reader->trace->skipped.torn++;                 /* even if pto_bench_drop_torn would not count it */
        torn[0] = '\0';
    }
    pto_bench_drop_torn(reader);
    return false;
}

/* Updates what is known of the table's rows. Returns true, for pto_bench_join. */
static bool note_row(pto_bench_t *benchmark, const char *row) {
    benchmark->size[0] = benchmark->size[1];
    benchmark->size[1] = size_of(row);
    benchmark->row_decimals = pto_bench_decimals(row);
    benchmark->rows++;
    return true;
}

/* Handles an empty line: it ends the line that other output has interrupted. Returns whether `row` is set. */
static bool end_row(pto_recording_reader_t *reader, char row[PTO_BENCH_ROW_MAX]) {
    pto_bench_t *benchmark = &reader->benchmark;
    const shape_t shape = shape_of(benchmark, benchmark->torn);
    if (!shape.is_row)
        return false;
    if (benchmark->torn_unclear || !fits_table(benchmark, benchmark->torn, shape)) {
        pto_bench_drop_torn(reader);
        return false;
    }
    snprintf(row, PTO_BENCH_ROW_MAX, "%s", benchmark->torn);
    benchmark->torn[0] = '\0';
    return note_row(benchmark, row);
}

/* Keeps a line that may be the beginning of a row: other output follows, or it has several numbers. */
static void store_numbers(pto_recording_reader_t *reader, const char *line, shape_t shape, bool is_cut) {
    pto_bench_t *benchmark = &reader->benchmark;
    if (shape.is_timeless && !is_cut)
        reader->trace->skipped.timeless++;
    else if (shape.begins && (is_cut || (benchmark->whole_columns > 1 && shape.count > 1)))
        snprintf(benchmark->torn, sizeof benchmark->torn, "%s", line);
}

/* Returns whether a text begins like a date ("2026-") or a time of day ("12:"). */
static bool is_time(const char *text) {
    const size_t digits = strspn(text, "0123456789");
    return (digits == 4 && (text[4] == '-' || text[4] == '/')) ||
           (digits > 0 && digits <= 2 && text[digits] == ':');
}

/* How other output interrupts a line. */
typedef struct {
    bool is_cut;      /* other output follows the row's text */
    bool is_unclear;  /* the last digits of that text may belong to the other output */
    bool may_be_time; /* these digits may be the beginning of a date or time of day in it */
} cut_t;

/* Cuts other output from a line: a debug line of NCCL, and other text that follows a row's numbers. */
static cut_t cut_line(pto_recording_reader_t *reader, char **line) {
    char *whole = *line;
    const size_t length = strlen(whole);
    *line = pto_bench_uninterrupted(reader, whole);
    const bool has_debug = *line == whole && strlen(whole) < length;
    cut_t cut = {.is_cut = has_debug, .is_unclear = has_debug && reader->benchmark.debug_is_unclear};
    char *rest = *line + row_length(&reader->benchmark, *line);
    if (*rest == '\0')
        return cut;
    const bool touches = rest > *line && isdigit((unsigned char)rest[-1]) && strchr("-:/.", *rest);
    cut.is_unclear = cut.is_unclear || touches;
    cut.may_be_time = cut.is_unclear && !has_debug && is_time(*line + strspn(*line, PTO_BENCH_BLANKS));
    cut.is_cut = true;
    *rest = '\0';
    return cut;
}

/* pto_bench_join for a table of only numbers. */
static bool join_numbers(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]) {
    pto_bench_t *benchmark = &reader->benchmark;
    const bool is_empty = line[strspn(line, " \t\r")] == '\0';
    const cut_t cut = cut_line(reader, &line);
    const shape_t shape = shape_of(benchmark, line);
    if (shape.count == 0)
        return is_empty && end_row(reader, row);
    bool is_rest = false;
    if (*benchmark->torn && add_rest(reader, line, shape, cut.is_cut, row, &is_rest))
        return note_row(benchmark, row);
    if (*benchmark->torn || (is_rest && !cut.is_cut)) /* more must follow, or the torn row has ended here */
        return false;
    benchmark->torn_unclear = cut.is_unclear;
    benchmark->torn_may_be_time = cut.may_be_time;
    const bool has_all = benchmark->columns == 0 || shape.count == benchmark->columns;
    const bool is_whole = has_all && !cut.is_unclear && has_decimals(benchmark, line);
    if (shape.is_row && (!cut.is_cut || is_whole)) {
        snprintf(row, PTO_BENCH_ROW_MAX, "%s", line);
        return note_row(benchmark, row);
    }
    store_numbers(reader, line, shape, cut.is_cut);
    return false;
}

bool pto_bench_join(pto_recording_reader_t *reader, char *line, char row[PTO_BENCH_ROW_MAX]) {
    return (reader->benchmark.only_numbers ? join_numbers : join_row)(reader, line, row);
}
