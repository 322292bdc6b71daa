/* Parses a matrix of byte counts from a file with a row for each pair of processes, as `portolan traffic` and
 * the profiler write it. Rows of the same pair are added. */
#include "scenario/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/grow.h"
#include "formats/csv_table.h"

enum { ORDER_MAX = 11585 }; /* a matrix of 1 GiB */

typedef enum {
    COLUMN_SOURCE,
    COLUMN_DESTINATION,
    COLUMN_BYTES,
    COLUMN_REQUIRED,
    COLUMN_SPACE = COLUMN_REQUIRED
} column_t;

/* The columns that are read; others are ignored. */
static const char *const column_names[] = {
    "source",   "destination", "bytes",   "source_space", "destination_space",
    "messages", "kind",        "routine", "seconds",      "waiting_s"};

typedef struct {
    int64_t number[COLUMN_REQUIRED];
    bool is_counted;
} row_t;

typedef struct {
    row_t *row;
    size_t count;
    size_t capacity;
    int64_t order;
    int space; /* rows with another source_space are ignored; -1: none are */
    bool has_spaces;
} rows_t;

static pto_status_t begin_row(void *table, int file, pto_error_t *err) {
    rows_t *rows = table;
    (void)file;
    if (!PTO_RESERVE(rows->row, rows->capacity, rows->count + 1))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a matrix");
    rows->row[rows->count++] = (row_t){.is_counted = true};
    return PTO_OK;
}

static pto_status_t read_field(const pto_csv_t *csv, int column, pto_text_span_t field, void *table) {
    rows_t *rows = table;
    if (column == COLUMN_SPACE && rows->space >= 0) {
        const char *name = pto_space_name((pto_space_t)rows->space);
        rows->has_spaces = true;
        rows->row[rows->count - 1].is_counted =
            field.size == strlen(name) && memcmp(field.text, name, field.size) == 0;
    }
    if (column >= COLUMN_REQUIRED)
        return PTO_OK;
    int64_t *number = &rows->row[rows->count - 1].number[column];
    pto_status_t status = pto_csv_whole(csv, column, field, number);
    if (status != PTO_OK || column == COLUMN_BYTES)
        return status;
    if (*number >= ORDER_MAX)
        return pto_error_set_at(csv->err, PTO_ERR_TOO_LARGE, csv->path, csv->line, csv->place,
                                "a matrix is for at most %d processes", ORDER_MAX);
    rows->order = rows->order > *number ? rows->order : *number + 1;
    return PTO_OK;
}

static const pto_csv_format_t format = {.what = "traffic",
                                        .advice = "use them apart",
                                        .column = column_names,
                                        .column_count = sizeof column_names / sizeof *column_names,
                                        .required_count = COLUMN_REQUIRED,
                                        .begin_row = begin_row,
                                        .read_field = read_field};

/* Sets the number of processes: from the last `ranks` line, or the highest process in the rows. */
static pto_status_t find_order(const pto_csv_origin_t *origin, const char *path, rows_t *rows,
                               pto_error_t *err) {
    for (int i = 0; i < origin->provenance_count; i++) {
        const pto_provenance_t *line = &origin->provenance[i];
        if (strcmp(line->key, "ranks") != 0)
            continue;
        char *end;
        long long ranks = strtoll(line->value, &end, 10);
        if (*end != '\0' || ranks < rows->order || ranks > ORDER_MAX)
            return pto_error_set_at(err, PTO_ERR_RANGE, path, line->line, 1,
                                    "ranks=%.40s: not a number from %lld, which the rows need, to %d",
                                    line->value, (long long)rows->order, ORDER_MAX);
        rows->order = ranks;
    }
    if (rows->order > 0)
        return PTO_OK;
    return pto_error_set_at(err, PTO_ERR_SYNTAX, path, 1, 1, "the file has no rows and no line with ranks=");
}

static pto_status_t fill(const rows_t *rows, const char *path, pto_counts_t *counts, pto_error_t *err) {
    int64_t total = 0;
    int64_t *matrix = calloc((size_t)(rows->order * rows->order), sizeof *matrix);
    if (!matrix)
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    for (size_t i = 0; i < rows->count; i++) {
        const int64_t *number = rows->row[i].number;
        if (!rows->row[i].is_counted)
            continue;
        if (!pto_add(total, number[COLUMN_BYTES], &total)) {
            free(matrix);
            return pto_error_set_at(err, PTO_ERR_RANGE, path, 1, 1,
                                    "the matrix sums to more than 9223372036854775807 bytes");
        }
        matrix[number[COLUMN_SOURCE] * rows->order + number[COLUMN_DESTINATION]] += number[COLUMN_BYTES];
    }
    *counts = (pto_counts_t){.kind = PTO_COUNTS_MATRIX, .order = rows->order, .matrix = matrix};
    return PTO_OK;
}

bool pto_pair_rows_begin(const char *text, size_t text_size) {
    const char *end = text + text_size;
    for (pto_text_span_t line; pto_span_next_line(&text, end, &line);)
        if (pto_span_has_fields(line)) {
            line = pto_span_trim(line);
            return line.size > 6 && memcmp(line.text, "source", 6) == 0;
        }
    return false;
}

pto_status_t pto_pair_rows_parse(const char *text, size_t text_size, const char *path, int space,
                                 pto_counts_t *counts, pto_error_t *err) {
    rows_t rows = {.row = NULL, .space = space};
    pto_csv_origin_t origin = {.path = NULL};
    pto_status_t status = pto_csv_parse(&format, text, text_size, path, &origin, &rows, err);
    if (status == PTO_OK && space >= 0 && rows.count > 0 && !rows.has_spaces)
        status = pto_error_set_at(err, PTO_ERR_KEY, path, 1, 1,
                                  "the file has no column source_space, by which space: %s selects rows",
                                  pto_space_name((pto_space_t)space));
    if (status == PTO_OK)
        status = find_order(&origin, path, &rows, err);
    if (status == PTO_OK)
        status = fill(&rows, path, counts, err);
    pto_csv_origin_fini(&origin);
    free(rows.row);
    return status;
}
