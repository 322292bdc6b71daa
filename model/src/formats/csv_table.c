/* Reads tables of measurements (csv_table.h): splits the lines into fields, checks the header, and passes
 * each field to the reader of its column. A file with a fault adds no provenance. */
#include "formats/csv_table.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/names.h"
#include "base/text_file.h"

static bool span_is(pto_text_span_t span, const char *word) {
    return strlen(word) == span.size && memcmp(span.text, word, span.size) == 0;
}

/* Returns the number of a field's characters that a message quotes. */
static int quoted(pto_text_span_t span) { return span.size < 47 ? (int)span.size : 47; }

int pto_span_find(pto_text_span_t span, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (span_is(span, names[i]))
            return i;
    return -1;
}

/* Copies a field to a NUL-terminated buffer for strtod and strtoll. Returns false if it is empty, too long,
 * or has characters that are not `allowed`. */
static bool number_text(pto_text_span_t span, const char *allowed, char *text, size_t text_size) {
    if (span.size == 0 || span.size >= text_size)
        return false;
    memcpy(text, span.text, span.size);
    text[span.size] = '\0';
    return strspn(text, allowed) == span.size;
}

pto_status_t pto_csv_bad_field(const pto_csv_t *csv, pto_text_span_t field, pto_status_t status,
                               const char *wanted) {
    return pto_error_set_at(csv->err, status, csv->path, csv->line, csv->place, "%s: '%.*s' is not %s",
                            csv->column->name, quoted(field), field.text, wanted);
}

pto_status_t pto_csv_check_name(const pto_csv_t *csv, const char *name) {
    pto_error_t fault = {.status = PTO_OK};
    return pto_name_check(name, PTO_NAME_BYTES_MAX, &fault) == PTO_OK
               ? PTO_OK
               : pto_error_set_at(csv->err, fault.status, csv->path, csv->line, csv->place, "%s: %s",
                                  csv->column->name, fault.message);
}

pto_status_t pto_csv_word(const pto_csv_t *csv, pto_text_span_t field, int *index) {
    int i = 0;
    while (csv->column->word_at(i) && !span_is(field, csv->column->word_at(i)))
        i++;
    if (!csv->column->word_at(i))
        return pto_csv_bad_field(csv, field, PTO_ERR_TYPE, csv->column->wanted);
    *index = i;
    return PTO_OK;
}

/* Reads a whole number from the column's `least` to `most`. */
static pto_status_t read_whole(const pto_csv_t *csv, pto_text_span_t field, int64_t most, int64_t *value) {
    char text[32];
    if (!number_text(field, "-0123456789", text, sizeof text))
        return pto_csv_bad_field(csv, field, PTO_ERR_TYPE, "a whole number");
    char *end = NULL;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (*end != '\0' || end == text)
        return pto_csv_bad_field(csv, field, PTO_ERR_TYPE, "a whole number");
    if (errno == ERANGE || parsed < csv->column->least || parsed > most)
        return pto_csv_bad_field(csv, field, PTO_ERR_RANGE,
                                 csv->column->least == 0 ? "in range (0 or more)" : "in range (1 or more)");
    *value = parsed;
    return PTO_OK;
}

pto_status_t pto_csv_whole(const pto_csv_t *csv, pto_text_span_t field, void *member) {
    return read_whole(csv, field, INT64_MAX, member);
}

pto_status_t pto_csv_count(const pto_csv_t *csv, pto_text_span_t field, void *member) {
    int64_t whole = 0;
    pto_status_t status = read_whole(csv, field, INT32_MAX, &whole);
    if (status == PTO_OK)
        *(int32_t *)member = (int32_t)whole;
    return status;
}

/* Reads a finite number above 0, which messages call `wanted`. */
static pto_status_t read_above(const pto_csv_t *csv, pto_text_span_t field, const char *wanted,
                               double *value) {
    char text[64];
    if (!number_text(field, "+-.0123456789eE", text, sizeof text))
        return pto_csv_bad_field(csv, field, PTO_ERR_TYPE, "a number");
    char *end = NULL;
    double parsed = strtod(text, &end);
    if (*end != '\0' || end == text)
        return pto_csv_bad_field(csv, field, PTO_ERR_TYPE, "a number");
    if (!isfinite(parsed) || parsed <= 0)
        return pto_csv_bad_field(csv, field, PTO_ERR_RANGE, wanted);
    *value = parsed;
    return PTO_OK;
}

pto_status_t pto_csv_seconds(const pto_csv_t *csv, pto_text_span_t field, void *member) {
    return read_above(csv, field, "a finite, positive time", member);
}

pto_status_t pto_csv_joules(const pto_csv_t *csv, pto_text_span_t field, void *member) {
    return read_above(csv, field, "a finite, positive energy", member);
}

const char *pto_csv_provenance(const pto_provenance_t *provenance, int count, const char *key) {
    for (int i = 0; i < count; i++)
        if (strcmp(provenance[i].key, key) == 0)
            return provenance[i].value;
    return NULL;
}

/* Checks the name in a line `# machine=`. Other lines are remarks, which are escaped when printed. */
static pto_status_t check_machine(const pto_csv_t *csv, const pto_provenance_t *added) {
    pto_error_t fault = {.status = PTO_OK};
    return strcmp(added->key, "machine") != 0 ||
                   pto_name_check(added->value, PTO_NAME_BYTES_MAX, &fault) == PTO_OK
               ? PTO_OK
               : pto_error_set_at(csv->err, fault.status, csv->path, csv->line, 1, "machine: %s",
                                  fault.message);
}

/* Checks that a file names the same machine and MPI library as earlier ones: others may not be combined. */
static pto_status_t check_same(const pto_csv_t *csv, const pto_provenance_t *added) {
    if (strcmp(added->key, "machine") != 0 && strcmp(added->key, "mpi") != 0)
        return PTO_OK;
    const char *before =
        pto_csv_provenance(csv->origin->provenance, csv->origin->provenance_count, added->key);
    if (!before || strcmp(before, added->value) == 0)
        return PTO_OK;
    return pto_error_set_at(csv->err, PTO_ERR_NOT_APPLICABLE, csv->path, csv->line, 1,
                            "%s is '%.120s' here and '%.120s' before; %s", added->key, added->value, before,
                            csv->format->advice);
}

static pto_status_t out_of_memory(const pto_csv_t *csv) {
    return pto_error_set(csv->err, PTO_ERR_MEMORY, "out of memory for %s", csv->format->what);
}

/* Adds a line `# key=value` to the provenance. Other comments are ignored. */
static pto_status_t add_provenance(pto_csv_t *csv, pto_text_span_t line) {
    pto_text_span_t body = {line.text + 1, line.size - 1};
    const char *equals = memchr(body.text, '=', body.size);
    if (!equals)
        return PTO_OK; /* a comment */
    pto_text_span_t key = pto_span_trim((pto_text_span_t){body.text, (size_t)(equals - body.text)});
    pto_text_span_t value =
        pto_span_trim((pto_text_span_t){equals + 1, body.size - (size_t)(equals - body.text) - 1});
    pto_csv_origin_t *origin = csv->origin;
    if (!PTO_EXTEND(origin->provenance, origin->provenance_count))
        return out_of_memory(csv);
    pto_provenance_t added = {strndup(key.text, key.size), strndup(value.text, value.size),
                              origin->file_count - 1, csv->line};
    bool complete = added.key && added.value;
    pto_status_t status = complete ? check_machine(csv, &added) : out_of_memory(csv);
    if (complete && status == PTO_OK)
        status = check_same(csv, &added);
    if (status != PTO_OK) {
        free(added.key);
        free(added.value);
        return status;
    }
    origin->provenance[origin->provenance_count++] = added;
    return PTO_OK;
}

static pto_status_t add_path(pto_csv_t *csv) {
    pto_csv_origin_t *origin = csv->origin;
    char *copy = PTO_EXTEND(origin->path, origin->file_count) ? strdup(csv->path) : NULL;
    if (!copy)
        return out_of_memory(csv);
    origin->path[origin->file_count++] = copy;
    return PTO_OK;
}

void pto_csv_roll_back(pto_csv_origin_t *origin, int provenance, int files) {
    while (origin->provenance_count > provenance) {
        origin->provenance_count--;
        free(origin->provenance[origin->provenance_count].key);
        free(origin->provenance[origin->provenance_count].value);
    }
    while (origin->file_count > files)
        free(origin->path[--origin->file_count]);
}

void pto_csv_origin_fini(pto_csv_origin_t *origin) {
    pto_csv_roll_back(origin, 0, 0);
    free(origin->provenance);
    free(origin->path);
    *origin = (pto_csv_origin_t){0};
}

static bool next_line(pto_csv_t *csv, pto_text_span_t *line) {
    if (!pto_span_next_line(&csv->next, csv->end, line))
        return false;
    if (line->size > 0 && line->text[line->size - 1] == '\r')
        line->size--;
    csv->line++;
    return true;
}

static pto_csv_line_t fields_of(pto_text_span_t line) {
    return (pto_csv_line_t){.next = line.text, .end = line.text + line.size};
}

/* Takes the line's next field and records its place; false past the last one and on a fault. */
static bool next_field(pto_csv_t *csv, pto_text_span_t line, pto_csv_line_t *fields, pto_text_span_t *field) {
    bool taken = pto_csv_line_next(fields, field);
    if (taken || fields->fault)
        csv->place = (int)(fields->place - line.text) + 1;
    return taken;
}

static pto_status_t bad_line(const pto_csv_t *csv, const char *fault) {
    return pto_error_set_at(csv->err, PTO_ERR_SYNTAX, csv->path, csv->line, csv->place, "%s", fault);
}

static pto_status_t bad_header(const pto_csv_t *csv, const char *name, const char *fault) {
    return pto_error_set_at(csv->err, PTO_ERR_KEY, csv->path, csv->line, csv->place, "column '%s' %s", name,
                            fault);
}

/* Returns the index in format->column of the column with this name; -1: there is none. */
static int find_column(const pto_csv_format_t *format, pto_text_span_t name) {
    for (int i = 0; i < format->column_count; i++)
        if (span_is(name, format->column[i].name))
            return i;
    return -1;
}

static pto_status_t read_header(pto_csv_t *csv, pto_text_span_t line) {
    const pto_csv_format_t *format = csv->format;
    bool seen[PTO_CSV_COLUMN_MAX] = {false};
    int count = 0;
    assert(format->column_count <= PTO_CSV_COLUMN_MAX);
    pto_csv_line_t fields = fields_of(line);
    for (pto_text_span_t field; next_field(csv, line, &fields, &field); count++) {
        int column = find_column(format, field);
        if (column < 0)
            return pto_error_set_at(csv->err, PTO_ERR_KEY, csv->path, csv->line, csv->place,
                                    "unknown column '%.*s'", quoted(field), field.text);
        if (seen[column])
            return bad_header(csv, format->column[column].name, "appears twice");
        seen[column] = true;
        csv->order[count] = column;
    }
    if (fields.fault)
        return bad_line(csv, fields.fault);
    csv->place = 1;
    for (int i = 0; i < format->column_count; i++)
        if (!seen[i] && format->column[i].presence == PTO_CSV_REQUIRED)
            return bad_header(csv, format->column[i].name, "is missing");
    csv->order_count = count;
    csv->header = line;
    return PTO_OK;
}

static pto_status_t read_field(const pto_csv_t *csv, pto_text_span_t field, char *row) {
    const pto_csv_column_t *column = csv->column;
    bool is_left_out = !column->read || (field.size == 0 && column->presence == PTO_CSV_MAY_BE_EMPTY);
    return is_left_out ? PTO_OK : column->read(csv, field, row + column->member);
}

static pto_status_t read_row(pto_csv_t *csv, pto_text_span_t line) {
    void *row = NULL;
    pto_status_t status = csv->format->begin_row(csv, &row);
    int count = 0;
    pto_csv_line_t fields = fields_of(line);
    for (pto_text_span_t field; status == PTO_OK && next_field(csv, line, &fields, &field); count++) {
        if (count == csv->order_count)
            return pto_error_set_at(csv->err, PTO_ERR_SYNTAX, csv->path, csv->line, csv->place,
                                    "more than %d columns", csv->order_count);
        csv->column = &csv->format->column[csv->order[count]];
        status = read_field(csv, field, row);
    }
    if (status == PTO_OK && fields.fault)
        return bad_line(csv, fields.fault);
    if (status == PTO_OK && count < csv->order_count)
        return pto_error_set_at(csv->err, PTO_ERR_SYNTAX, csv->path, csv->line, (int)line.size + 1,
                                "the line ends before column '%s'",
                                csv->format->column[csv->order[count]].name);
    return status;
}

static pto_status_t read_line(pto_csv_t *csv, pto_text_span_t line) {
    if (pto_span_trim(line).size == 0)
        return PTO_OK;
    const char *zero = memchr(line.text, '\0', line.size);
    if (zero)
        return pto_error_set_at(csv->err, PTO_ERR_SYNTAX, csv->path, csv->line, (int)(zero - line.text) + 1,
                                "a zero byte in a text file");
    if (line.text[0] == '#')
        return add_provenance(csv, line);
    if (line.size > 1 && memcmp(line.text, "\"#", 2) == 0) {
        /* A comment with commas, as spreadsheets write it. */
        pto_csv_line_t fields = fields_of(line);
        pto_text_span_t remark;
        return next_field(csv, line, &fields, &remark) ? add_provenance(csv, remark)
                                                       : bad_line(csv, fields.fault);
    }
    if (csv->order_count == 0)
        return read_header(csv, line);
    bool repeats = line.size == csv->header.size && memcmp(line.text, csv->header.text, line.size) == 0;
    return repeats ? PTO_OK : read_row(csv, line); /* tables that were joined by cat */
}

static pto_status_t read_lines(pto_csv_t *csv) {
    pto_text_span_t line;
    while (next_line(csv, &line)) {
        pto_status_t status = read_line(csv, line);
        if (status != PTO_OK)
            return status;
    }
    if (csv->order_count == 0)
        return pto_error_set_at(csv->err, PTO_ERR_SYNTAX, csv->path, csv->line > 0 ? csv->line : 1, 1,
                                "no line with the column names (%s,%s,…)", csv->format->column[0].name,
                                csv->format->column[1].name);
    return PTO_OK;
}

pto_status_t pto_csv_parse(const pto_csv_format_t *format, const char *text, size_t text_size,
                           const char *path, pto_csv_origin_t *origin, void *table, pto_error_t *err) {
    int provenance = origin->provenance_count;
    int files = origin->file_count;
    pto_csv_t csv = {.format = format,
                     .path = path,
                     .next = text + pto_byte_order_mark(text, text_size),
                     .end = text + text_size,
                     .origin = origin,
                     .table = table,
                     .err = err};
    pto_status_t status = add_path(&csv);
    if (status == PTO_OK)
        status = read_lines(&csv);
    if (status != PTO_OK)
        pto_csv_roll_back(origin, provenance, files);
    return status;
}
