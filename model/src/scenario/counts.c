/* Byte counts: of each pair of owners in an alltoallv, or of each owner in an allgatherv. They are equal,
 * random by a seeded hash, or a matrix or list from a CSV file. pattern.c computes byte counts on grids. */
#include "portolan/scenario.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/grow.h"
#include "base/text_file.h"
#include "formats/csv_line.h"
#include "portolan/units.h"
#include "scenario/check.h"
#include "scenario/skew.h"

enum { CELL_MAX = 64, FILE_BYTES_MAX = 256 << 20 };

int64_t pto_counts_bytes(const pto_counts_t *counts, int64_t bytes, int64_t source, int64_t destination) {
    pto_skew_t skew;
    switch (counts->kind) {
    case PTO_COUNTS_SKEW:
        skew = pto_skew_of(counts, bytes);
        return pto_skew_bytes(&skew, source, destination);
    case PTO_COUNTS_MATRIX:
        return counts->matrix[source * counts->order + destination];
    case PTO_COUNTS_LIST:
        return counts->matrix[source];
    case PTO_COUNTS_STENCIL:
    case PTO_COUNTS_GROUPS:
        return pto_pattern_bytes(counts, bytes, source, destination);
    case PTO_COUNTS_EQUAL:
    case PTO_COUNTS_KIND_COUNT:
        break;
    }
    return bytes;
}

typedef struct {
    const char *path;
    pto_error_t *err;
    bool is_list;     /* numbers in any form of rows; else a square matrix */
    const char *next; /* the next character */
    const char *end;
    const char *line_start;
    int line; /* from 1 */
    int64_t *value;
    int64_t count; /* numbers in `value` */
    size_t capacity;
    int64_t columns; /* of the first row; 0 before it ends */
    int64_t rows;
    int64_t total; /* of all numbers */
} csv_t;

/* Returns the column, from 1, of a character of the current line. */
static int column_of(const csv_t *csv, const char *place) {
    ptrdiff_t column = place - csv->line_start + 1;
    return column < INT_MAX ? (int)column : INT_MAX;
}

static pto_status_t fail_at(const csv_t *csv, const char *place, pto_status_t status, const char *message) {
    return pto_error_set_at(csv->err, status, csv->path, csv->line, column_of(csv, place), "%s", message);
}

static pto_status_t append(csv_t *csv, const char *place, int64_t bytes) {
    if (!pto_add(csv->total, bytes, &csv->total))
        return fail_at(csv, place, PTO_ERR_RANGE,
                       csv->is_list ? "the list sums to more than 9223372036854775807 bytes"
                                    : "the matrix sums to more than 9223372036854775807 bytes");
    if (!PTO_RESERVE(csv->value, csv->capacity, csv->count + 1))
        return fail_at(csv, place, PTO_ERR_MEMORY, "out of memory");
    csv->value[csv->count++] = bytes;
    return PTO_OK;
}

/* Reads the number in the field that begins at `start`. */
static pto_status_t read_cell(csv_t *csv, const char *start, pto_text_span_t field) {
    char cell[CELL_MAX];
    if (field.size >= sizeof cell || memchr(field.text, 0, field.size))
        return fail_at(csv, start, PTO_ERR_TYPE, "this cell is not a whole number");
    memcpy(cell, field.text, field.size);
    cell[field.size] = '\0';
    pto_error_t fault = {.status = PTO_OK};
    int64_t bytes = 0;
    pto_int64_parse(cell, &bytes, &fault);
    if (fault.status == PTO_ERR_TYPE && !csv->is_list && csv->count == 0 && isalpha((unsigned char)*cell))
        return fail_at(csv, start, PTO_ERR_TYPE,
                       "a matrix of numbers is needed here, or a heading source,destination,bytes, as of "
                       "portolan-traffic.csv");
    if (fault.status != PTO_OK)
        return fail_at(csv, start, fault.status, fault.message);
    if (bytes < 0)
        return fail_at(csv, start, PTO_ERR_RANGE, "a number of bytes cannot be negative");
    return append(csv, start, bytes);
}

static pto_status_t refuse_width(const csv_t *csv, const char *place, int64_t cells) {
    return pto_error_set_at(csv->err, PTO_ERR_SYNTAX, csv->path, csv->line, column_of(csv, place),
                            "the matrix is not square: row %lld has %s%lld column%s, the first %lld",
                            (long long)csv->rows + 1, cells > csv->columns ? "at least " : "only ",
                            (long long)cells, cells == 1 ? "" : "s", (long long)csv->columns);
}

static pto_status_t refuse_height(const csv_t *csv) {
    return pto_error_set_at(csv->err, PTO_ERR_SYNTAX, csv->path, csv->line, 1,
                            "the matrix is not square: %lld column%s and %s%lld row%s",
                            (long long)csv->columns, csv->columns == 1 ? "" : "s",
                            csv->rows > csv->columns ? "at least " : "only ", (long long)csv->rows,
                            csv->rows == 1 ? "" : "s");
}

static pto_status_t read_row(csv_t *csv, pto_text_span_t text) {
    int64_t cells = 0;
    pto_csv_line_t line = {.next = text.text, .end = text.text + text.size};
    for (pto_text_span_t field; pto_csv_line_next(&line, &field);) {
        pto_status_t status = read_cell(csv, line.place, field);
        if (status != PTO_OK)
            return status;
        cells++;
        bool is_too_long = cells > csv->columns, is_too_short = !line.next && cells < csv->columns;
        if (!csv->is_list && csv->rows > 0 && (is_too_long || is_too_short))
            return refuse_width(csv, line.place, cells);
    }
    if (line.fault)
        return fail_at(csv, line.place, PTO_ERR_SYNTAX, line.fault);
    csv->columns = cells;
    csv->rows++;
    if (!csv->is_list && csv->rows > csv->columns)
        return refuse_height(csv);
    return PTO_OK;
}

static pto_status_t read_rows(csv_t *csv) {
    for (pto_text_span_t line; pto_span_next_line(&csv->next, csv->end, &line);) {
        csv->line_start = line.text;
        csv->line++;
        pto_status_t status = pto_span_has_fields(line) ? read_row(csv, line) : PTO_OK;
        if (status != PTO_OK)
            return status;
    }
    if (csv->rows == 0)
        return pto_error_set_at(csv->err, PTO_ERR_SYNTAX, csv->path, 1, 1, "the file holds no numbers");
    return csv->is_list || csv->rows == csv->columns ? PTO_OK : refuse_height(csv);
}

/* Parses a square of numbers, or a list, without a path in `counts`. */
static pto_status_t parse_numbers(const char *text, const char *end, const char *path, bool is_list,
                                  pto_counts_t *counts, pto_error_t *err) {
    csv_t csv = {.path = path, .err = err, .is_list = is_list, .next = text, .end = end, .line_start = text};
    pto_status_t status = read_rows(&csv);
    if (status != PTO_OK)
        free(csv.value);
    else
        *counts = (pto_counts_t){.kind = is_list ? PTO_COUNTS_LIST : PTO_COUNTS_MATRIX,
                                 .order = is_list ? csv.count : csv.columns,
                                 .matrix = csv.value};
    return status;
}

/* Moves parsed counts to `counts`, with the path of their file. */
static pto_status_t keep_path(pto_counts_t *parsed, const char *path, pto_counts_t *counts,
                              pto_error_t *err) {
    parsed->matrix_path = pto_text_copy(path);
    if (!parsed->matrix_path) {
        pto_counts_fini(parsed);
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    }
    *counts = *parsed;
    return PTO_OK;
}

/* Parses a square of numbers, or a file with a row for each pair (pair_rows.c), of which only the rows of a
 * memory space count; -1: all. */
static pto_status_t parse_space(const char *text, size_t text_size, const char *path, int space,
                                pto_counts_t *counts, pto_error_t *err) {
    const char *start = text + pto_byte_order_mark(text, text_size), *end = text + text_size;
    pto_counts_t parsed;
    bool is_rows = pto_pair_rows_begin(start, (size_t)(end - start));
    if (space >= 0 && !is_rows)
        return pto_error_set_at(err, PTO_ERR_KEY, path, 1, 1, "space: a table of numbers names no spaces");
    pto_status_t status = is_rows
                              ? pto_pair_rows_parse(start, (size_t)(end - start), path, space, &parsed, err)
                              : parse_numbers(start, end, path, false, &parsed, err);
    return status == PTO_OK ? keep_path(&parsed, path, counts, err) : status;
}

pto_status_t pto_counts_parse_matrix(const char *text, size_t text_size, const char *path,
                                     pto_counts_t *counts, pto_error_t *err) {
    return parse_space(text, text_size, path, -1, counts, err);
}

pto_status_t pto_counts_read_space(const char *path, int space, pto_counts_t *counts, pto_error_t *err) {
    char *text = NULL;
    size_t size = 0;
    pto_status_t status = pto_text_read(path, FILE_BYTES_MAX, &text, &size, err);
    if (status == PTO_OK)
        status = parse_space(text, size, path, space, counts, err);
    free(text);
    return status;
}

static pto_status_t parse_list(const char *text, size_t text_size, const char *path, pto_counts_t *counts,
                               pto_error_t *err) {
    pto_counts_t parsed;
    pto_status_t status = parse_numbers(text, text + text_size, path, true, &parsed, err);
    return status == PTO_OK ? keep_path(&parsed, path, counts, err) : status;
}

PTO_TEXT_READER(pto_counts_read_list, parse_list, pto_counts_t *, counts, FILE_BYTES_MAX);
PTO_TEXT_READER(pto_counts_read_matrix, pto_counts_parse_matrix, pto_counts_t *, counts, FILE_BYTES_MAX);

void pto_counts_fini(pto_counts_t *counts) {
    free(counts->matrix);
    free(counts->matrix_path);
    if (counts->host)
        pto_counts_fini(counts->host);
    free(counts->host);
    *counts = (pto_counts_t){.kind = PTO_COUNTS_EQUAL};
}
