/* Read samples.csv: provenance lines, a header, one timing per row. Every fault is told with its place, and
 * a file that fails adds nothing. */
#include "portolan/samples.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

enum { SAMPLES_BYTES_MAX = 1 << 30 };

static const char *const benchmark_names[PTO_BENCHMARK_COUNT] = {
    [PTO_BENCHMARK_PING_PONG] = "ping_pong",
    [PTO_BENCHMARK_INJECTION] = "injection",
    [PTO_BENCHMARK_MULTI_MESSAGE] = "multi_message",
    [PTO_BENCHMARK_MEMCPY_H2D] = "memcpy_h2d",
    [PTO_BENCHMARK_MEMCPY_D2H] = "memcpy_d2h",
    [PTO_BENCHMARK_MEMCPY_D2D] = "memcpy_d2d",
    [PTO_BENCHMARK_MEMCPY_SHARED_H2D] = "memcpy_shared_h2d",
    [PTO_BENCHMARK_MEMCPY_SHARED_D2H] = "memcpy_shared_d2h",
    [PTO_BENCHMARK_MEMCPY_PEER] = "memcpy_peer",
    [PTO_BENCHMARK_REDUCE] = "reduce",
    [PTO_BENCHMARK_SIGNAL_FLAG] = "signal_flag",
    [PTO_BENCHMARK_SIGNAL_EVENT] = "signal_event",
    [PTO_BENCHMARK_KERNEL_LAUNCH] = "kernel_launch",
    [PTO_BENCHMARK_OTHER] = "other",
};

static const char *const place_names[PTO_AT_COUNT] = {
    [PTO_AT_NONE] = "-",          [PTO_AT_ON_GPU] = "on_gpu",     [PTO_AT_ON_SOCKET] = "on_socket",
    [PTO_AT_ON_NODE] = "on_node", [PTO_AT_OFF_NODE] = "off_node", [PTO_AT_OFF_SOCKET] = "off_socket",
};

static const char *const where_names[PTO_IN_COUNT] = {
    [PTO_IN_NONE] = "-",
    [PTO_IN_CPU] = "cpu",
    [PTO_IN_GPU] = "gpu",
};

typedef enum {
    COLUMN_BENCHMARK,
    COLUMN_SPACE,
    COLUMN_LEVEL,
    COLUMN_PAIR,
    COLUMN_PROCS,
    COLUMN_MESSAGES,
    COLUMN_BYTES,
    COLUMN_RUN,
    COLUMN_SECONDS,
    COLUMN_COUNT
} column_t;

static const char *const column_names[COLUMN_COUNT] = {
    "benchmark", "space", "level", "pair", "procs", "messages", "bytes", "run", "seconds",
};

/* A stretch of the text that is being read. */
typedef struct {
    const char *text;
    size_t size;
} span_t;

typedef struct {
    const char *path;
    const char *next;
    const char *end;
    int line;
    int file;
    column_t order[COLUMN_COUNT]; /* of the file's columns */
    bool has_header;
    pto_samples_t *samples;
    pto_error_t *err;
} reader_t;

const char *pto_benchmark_name(pto_benchmark_t benchmark) {
    return (unsigned)benchmark < PTO_BENCHMARK_COUNT ? benchmark_names[benchmark] : "?";
}

const char *pto_sample_level_name(pto_sample_level_t place) {
    return (unsigned)place < PTO_AT_COUNT ? place_names[place] : "?";
}

const char *pto_sample_space_name(pto_sample_space_t where) {
    return (unsigned)where < PTO_IN_COUNT ? where_names[where] : "?";
}

static bool span_is(span_t span, const char *word) {
    return strlen(word) == span.size && memcmp(span.text, word, span.size) == 0;
}

static span_t span_trim(span_t span) {
    while (span.size > 0 && (span.text[0] == ' ' || span.text[0] == '\t')) {
        span.text++;
        span.size--;
    }
    while (span.size > 0 && (span.text[span.size - 1] == ' ' || span.text[span.size - 1] == '\t')) {
        span.size--;
    }
    return span;
}

/* A copy that a message can quote: short, and without bytes that would spoil a terminal. */
static const char *span_quote(span_t span, char *quote, size_t quote_size) {
    size_t size = span.size < quote_size - 1 ? span.size : quote_size - 1;
    for (size_t i = 0; i < size; i++) {
        quote[i] = span.text[i] >= ' ' && span.text[i] <= '~' ? span.text[i] : '?';
    }
    quote[size] = '\0';
    return quote;
}

static char *span_copy(span_t span) {
    char *copy = malloc(span.size + 1);
    if (copy != NULL) {
        memcpy(copy, span.text, span.size);
        copy[span.size] = '\0';
    }
    return copy;
}

static uint64_t span_hash(span_t span) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < span.size; i++) {
        hash = (hash ^ (unsigned char)span.text[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

uint64_t pto_sample_pair_hash(const char *pair) { return span_hash((span_t){pair, strlen(pair)}); }

static int find_name(span_t span, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        if (span_is(span, names[i])) {
            return i;
        }
    }
    return -1;
}

static bool next_line(reader_t *reader, span_t *line) {
    if (reader->next >= reader->end) {
        return false;
    }
    const char *stop = memchr(reader->next, '\n', (size_t)(reader->end - reader->next));
    const char *past = stop != NULL ? stop + 1 : reader->end;
    line->text = reader->next;
    line->size = (size_t)((stop != NULL ? stop : reader->end) - reader->next);
    if (line->size > 0 && line->text[line->size - 1] == '\r') {
        line->size--;
    }
    reader->next = past;
    reader->line++;
    return true;
}

/* Take the next field off `rest`; false after the last one. A comma that ends the line leaves an empty field
 * behind it, told by rest->text staying set. */
static bool next_field(span_t *rest, span_t *field) {
    if (rest->text == NULL) {
        return false;
    }
    const char *comma = memchr(rest->text, ',', rest->size);
    if (comma == NULL) {
        *field = *rest;
        rest->text = NULL;
        return true;
    }
    field->text = rest->text;
    field->size = (size_t)(comma - rest->text);
    rest->size -= field->size + 1;
    rest->text = comma + 1;
    return true;
}

static int column_of(span_t line, span_t field) { return (int)(field.text - line.text) + 1; }

/* Files of different machines or MPI libraries make one set of parameters that is true of neither. */
static pto_status_t check_same(reader_t *reader, const pto_provenance_t *added) {
    if (strcmp(added->key, "machine") != 0 && strcmp(added->key, "mpi") != 0) {
        return PTO_OK;
    }
    const char *before = pto_samples_provenance(reader->samples, added->key);
    if (before == NULL || strcmp(before, added->value) == 0) {
        return PTO_OK;
    }
    return pto_error_set_at(reader->err, PTO_ERR_NOT_APPLICABLE, reader->path, reader->line, 1,
                            "%s is '%.120s' here and '%.120s' before; fit them apart", added->key,
                            added->value, before);
}

static pto_status_t add_provenance(reader_t *reader, span_t line) {
    span_t body = {line.text + 1, line.size - 1};
    const char *equals = memchr(body.text, '=', body.size);
    if (equals == NULL) {
        return PTO_OK; /* a remark */
    }
    span_t key = span_trim((span_t){body.text, (size_t)(equals - body.text)});
    span_t value = span_trim((span_t){equals + 1, body.size - (size_t)(equals - body.text) - 1});
    pto_samples_t *samples = reader->samples;
    size_t count = (size_t)samples->provenance_count;
    pto_provenance_t *grown = realloc(samples->provenance, (count + 1) * sizeof *grown);
    if (grown == NULL) {
        return pto_error_set(reader->err, PTO_ERR_MEMORY, "out of memory for provenance");
    }
    samples->provenance = grown;
    pto_provenance_t added = {span_copy(key), span_copy(value), reader->file, reader->line};
    pto_status_t status = PTO_ERR_MEMORY;
    if (added.key == NULL || added.value == NULL) {
        pto_error_set(reader->err, PTO_ERR_MEMORY, "out of memory for provenance");
    } else {
        status = check_same(reader, &added);
    }
    if (status != PTO_OK) {
        free(added.key);
        free(added.value);
        return status;
    }
    grown[samples->provenance_count++] = added;
    return PTO_OK;
}

static pto_status_t read_header(reader_t *reader, span_t line) {
    bool seen[COLUMN_COUNT] = {false};
    int count = 0;
    char quote[48];
    span_t rest = line;
    span_t field;
    while (next_field(&rest, &field)) {
        int column = find_name(span_trim(field), column_names, COLUMN_COUNT);
        if (column < 0) {
            return pto_error_set_at(reader->err, PTO_ERR_KEY, reader->path, reader->line,
                                    column_of(line, field), "unknown column '%s'",
                                    span_quote(field, quote, sizeof quote));
        }
        if (seen[column]) {
            return pto_error_set_at(reader->err, PTO_ERR_KEY, reader->path, reader->line,
                                    column_of(line, field), "column '%s' appears twice",
                                    column_names[column]);
        }
        seen[column] = true;
        reader->order[count++] = (column_t)column;
    }
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (!seen[i]) {
            return pto_error_set_at(reader->err, PTO_ERR_KEY, reader->path, reader->line, 1,
                                    "column '%s' is missing", column_names[i]);
        }
    }
    reader->has_header = true;
    return PTO_OK;
}

/* Copy a field to where strtod and strtoll may look for its end. */
static bool number_text(span_t span, const char *allowed, char *text, size_t text_size) {
    if (span.size == 0 || span.size >= text_size) {
        return false;
    }
    memcpy(text, span.text, span.size);
    text[span.size] = '\0';
    return strspn(text, allowed) == span.size;
}

static pto_status_t bad_field(const reader_t *reader, int place, column_t column, span_t field,
                              pto_status_t status, const char *wanted) {
    char quote[48];
    return pto_error_set_at(reader->err, status, reader->path, reader->line, place, "%s: '%s' is not %s",
                            column_names[column], span_quote(field, quote, sizeof quote), wanted);
}

static pto_status_t read_whole(const reader_t *reader, int place, column_t column, span_t field,
                               int64_t least, int64_t most, int64_t *value) {
    char text[32];
    if (!number_text(field, "-0123456789", text, sizeof text)) {
        return bad_field(reader, place, column, field, PTO_ERR_TYPE, "a whole number");
    }
    char *end = NULL;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (*end != '\0' || end == text) {
        return bad_field(reader, place, column, field, PTO_ERR_TYPE, "a whole number");
    }
    if (errno == ERANGE || parsed < least || parsed > most) {
        return bad_field(reader, place, column, field, PTO_ERR_RANGE,
                         least == 0 ? "in range (0 or more)" : "in range (1 or more)");
    }
    *value = parsed;
    return PTO_OK;
}

static pto_status_t read_seconds(const reader_t *reader, int place, span_t field, double *value) {
    char text[64];
    if (!number_text(field, "+-.0123456789eE", text, sizeof text)) {
        return bad_field(reader, place, COLUMN_SECONDS, field, PTO_ERR_TYPE, "a number");
    }
    char *end = NULL;
    double parsed = strtod(text, &end);
    if (*end != '\0' || end == text) {
        return bad_field(reader, place, COLUMN_SECONDS, field, PTO_ERR_TYPE, "a number");
    }
    if (!isfinite(parsed) || parsed <= 0) {
        return bad_field(reader, place, COLUMN_SECONDS, field, PTO_ERR_RANGE, "a finite, positive time");
    }
    *value = parsed;
    return PTO_OK;
}

static pto_status_t read_name(const reader_t *reader, int place, column_t column, span_t field,
                              const char *const *names, int count, const char *wanted, uint8_t *value) {
    int found = find_name(field, names, count);
    if (found < 0) {
        return bad_field(reader, place, column, field, PTO_ERR_TYPE, wanted);
    }
    *value = (uint8_t)found;
    return PTO_OK;
}

static pto_status_t read_count(const reader_t *reader, int place, column_t column, span_t field,
                               int64_t least, int32_t *value) {
    int64_t whole = 0;
    pto_status_t status = read_whole(reader, place, column, field, least, INT32_MAX, &whole);
    if (status == PTO_OK) {
        *value = (int32_t)whole;
    }
    return status;
}

static pto_status_t read_field(const reader_t *reader, int place, column_t column, span_t field,
                               pto_sample_t *sample) {
    switch (column) {
    case COLUMN_BENCHMARK: {
        if (field.size == 0) {
            return bad_field(reader, place, column, field, PTO_ERR_TYPE, "a name");
        }
        int found = find_name(field, benchmark_names, PTO_BENCHMARK_OTHER);
        sample->benchmark = (uint8_t)(found < 0 ? PTO_BENCHMARK_OTHER : found);
        return PTO_OK;
    }
    case COLUMN_SPACE:
        return read_name(reader, place, column, field, where_names, PTO_IN_COUNT, "cpu, gpu or -",
                         &sample->where);
    case COLUMN_LEVEL:
        return read_name(reader, place, column, field, place_names, PTO_AT_COUNT,
                         "on_gpu, on_socket, on_node, off_node, off_socket or -", &sample->place);
    case COLUMN_PROCS:
        return read_count(reader, place, column, field, 1, &sample->procs);
    case COLUMN_MESSAGES:
        return read_count(reader, place, column, field, 1, &sample->messages);
    case COLUMN_BYTES:
        return read_whole(reader, place, column, field, 0, INT64_MAX, &sample->bytes);
    case COLUMN_RUN:
        return read_count(reader, place, column, field, 0, &sample->run);
    case COLUMN_SECONDS:
        return read_seconds(reader, place, field, &sample->seconds);
    default: /* COLUMN_PAIR */
        sample->pair_hash = span_hash(field);
        return PTO_OK;
    }
}

static pto_status_t add_sample(reader_t *reader, const pto_sample_t *sample) {
    pto_samples_t *samples = reader->samples;
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity > 0 ? 2 * samples->capacity : 1024;
        pto_sample_t *grown = realloc(samples->sample, capacity * sizeof *grown);
        if (grown == NULL) {
            return pto_error_set(reader->err, PTO_ERR_MEMORY, "out of memory for samples");
        }
        samples->sample = grown;
        samples->capacity = capacity;
    }
    samples->sample[samples->count++] = *sample;
    return PTO_OK;
}

static pto_status_t read_row(reader_t *reader, span_t line) {
    pto_sample_t sample = {.file = reader->file};
    span_t rest = line;
    span_t field;
    int count = 0;
    while (next_field(&rest, &field)) {
        if (count == COLUMN_COUNT) {
            return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->path, reader->line,
                                    column_of(line, field), "more than %d columns", COLUMN_COUNT);
        }
        pto_status_t status =
            read_field(reader, column_of(line, field), reader->order[count], span_trim(field), &sample);
        if (status != PTO_OK) {
            return status;
        }
        count++;
    }
    if (count < COLUMN_COUNT) {
        return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->path, reader->line, (int)line.size + 1,
                                "the line ends before column '%s'", column_names[reader->order[count]]);
    }
    return add_sample(reader, &sample);
}

static pto_status_t read_line(reader_t *reader, span_t line) {
    if (span_trim(line).size == 0) {
        return PTO_OK;
    }
    const char *zero = memchr(line.text, '\0', line.size);
    if (zero != NULL) {
        return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->path, reader->line,
                                (int)(zero - line.text) + 1, "a zero byte in a text file");
    }
    if (line.text[0] == '#') {
        return add_provenance(reader, line);
    }
    return reader->has_header ? read_row(reader, line) : read_header(reader, line);
}

static pto_status_t read_lines(reader_t *reader) {
    span_t line;
    while (next_line(reader, &line)) {
        pto_status_t status = read_line(reader, line);
        if (status != PTO_OK) {
            return status;
        }
    }
    if (!reader->has_header) {
        return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->path,
                                reader->line > 0 ? reader->line : 1, 1,
                                "no line with the column names (benchmark,space,…)");
    }
    return PTO_OK;
}

static pto_status_t add_path(reader_t *reader) {
    pto_samples_t *samples = reader->samples;
    char **grown = realloc(samples->path, ((size_t)samples->file_count + 1) * sizeof *grown);
    if (grown != NULL) {
        samples->path = grown;
        grown[samples->file_count] = span_copy((span_t){reader->path, strlen(reader->path)});
    }
    if (grown == NULL || grown[samples->file_count] == NULL) {
        return pto_error_set(reader->err, PTO_ERR_MEMORY, "out of memory for samples");
    }
    samples->file_count++;
    return PTO_OK;
}

/* Give back what was added since there were `count` rows, `provenance` lines and `files` files. */
static void roll_back(pto_samples_t *samples, size_t count, int provenance, int files) {
    samples->count = count;
    while (samples->provenance_count > provenance) {
        samples->provenance_count--;
        free(samples->provenance[samples->provenance_count].key);
        free(samples->provenance[samples->provenance_count].value);
    }
    while (samples->file_count > files) {
        free(samples->path[--samples->file_count]);
    }
}

pto_status_t pto_samples_parse(const char *text, size_t text_size, const char *path, pto_samples_t *samples,
                               pto_error_t *err) {
    size_t count = samples->count;
    int provenance = samples->provenance_count;
    int files = samples->file_count;
    reader_t reader = {
        .path = path,
        .next = text,
        .end = text + text_size,
        .file = files,
        .samples = samples,
        .err = err,
    };
    pto_status_t status = add_path(&reader);
    if (status == PTO_OK) {
        status = read_lines(&reader);
    }
    if (status != PTO_OK) {
        roll_back(samples, count, provenance, files);
    }
    return status;
}

pto_status_t pto_samples_read(const char *path, pto_samples_t *samples, pto_error_t *err) {
    size_t size = 0;
    char *text = NULL;
    pto_status_t status = pto_text_read(path, SAMPLES_BYTES_MAX, &text, &size, err);
    if (status != PTO_OK) {
        return status;
    }
    status = pto_samples_parse(text, size, path, samples, err);
    free(text);
    return status;
}

void pto_samples_fini(pto_samples_t *samples) {
    roll_back(samples, 0, 0, 0);
    free(samples->sample);
    free(samples->provenance);
    free(samples->path);
    *samples = (pto_samples_t){0};
}

const char *pto_samples_provenance(const pto_samples_t *samples, const char *key) {
    for (int i = 0; i < samples->provenance_count; i++) {
        if (strcmp(samples->provenance[i].key, key) == 0) {
            return samples->provenance[i].value;
        }
    }
    return NULL;
}
