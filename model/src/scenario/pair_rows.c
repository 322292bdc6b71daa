/* Parses a matrix of byte counts from a file with a row for each pair of processes, as `portolan traffic` and
 * the profiler write it. Rows of the same pair are added. */
#include "scenario/check.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/grow.h"
#include "formats/csv_table.h"

enum { ORDER_MAX = 11585 }; /* a matrix of 1 GiB */

typedef struct {
    int64_t source;
    int64_t destination;
    int64_t bytes;
    bool is_counted; /* it has the wanted source_space */
} row_t;

typedef struct {
    row_t *row;
    size_t count;
    size_t capacity;
    int64_t order;   /* number of processes: above all numbers in the rows */
    int space;       /* the wanted source_space (pto_space_t); -1: any */
    bool has_spaces; /* the file has the column source_space */
} rows_t;

static pto_status_t begin_row(const pto_csv_t *csv, void **row) {
    rows_t *rows = csv->table;
    if (!PTO_RESERVE(rows->row, rows->capacity, rows->count + 1))
        return pto_error_set(csv->err, PTO_ERR_MEMORY, "out of memory for a matrix");
    row_t *added = &rows->row[rows->count++];
    *added = (row_t){.is_counted = true};
    *row = added;
    return PTO_OK;
}

static pto_status_t read_process(const pto_csv_t *csv, pto_text_span_t field, void *process) {
    rows_t *rows = csv->table;
    int64_t *number = process;
    pto_status_t status = pto_csv_whole(csv, field, number);
    if (status != PTO_OK)
        return status;
    if (*number >= ORDER_MAX)
        return pto_error_set_at(csv->err, PTO_ERR_TOO_LARGE, csv->path, csv->line, csv->place,
                                "a matrix is for at most %d processes", ORDER_MAX);
    rows->order = rows->order > *number ? rows->order : *number + 1;
    return PTO_OK;
}

static pto_status_t read_space(const pto_csv_t *csv, pto_text_span_t field, void *is_counted) {
    rows_t *rows = csv->table;
    const char *wanted = rows->space >= 0 ? pto_space_name((pto_space_t)rows->space) : NULL;
    if (wanted) {
        rows->has_spaces = true;
        *(bool *)is_counted = field.size == strlen(wanted) && memcmp(field.text, wanted, field.size) == 0;
    }
    return PTO_OK;
}

#define SETS(name) .member = offsetof(row_t, name)

static const pto_csv_column_t columns[] = {
    {"source", read_process, SETS(source)},
    {"destination", read_process, SETS(destination)},
    {"bytes", pto_csv_whole, SETS(bytes)},
    {"source_space", read_space, SETS(is_counted), PTO_CSV_OPTIONAL},
    {"destination_space", .presence = PTO_CSV_OPTIONAL}, /* this one and the rest are ignored */
    {"messages", .presence = PTO_CSV_OPTIONAL},
    {"kind", .presence = PTO_CSV_OPTIONAL},
    {"routine", .presence = PTO_CSV_OPTIONAL},
    {"seconds", .presence = PTO_CSV_OPTIONAL},
    {"waiting_s", .presence = PTO_CSV_OPTIONAL},
};

static const pto_csv_format_t format = {.what = "traffic",
                                        .advice = "use them apart",
                                        .column = columns,
                                        .column_count = sizeof columns / sizeof *columns,
                                        .begin_row = begin_row};

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

/* Adds up the rows in a matrix. */
static pto_status_t fill(const rows_t *rows, const char *path, pto_counts_t *counts, pto_error_t *err) {
    int64_t total = 0;
    int64_t *matrix = calloc((size_t)(rows->order * rows->order), sizeof *matrix);
    if (!matrix)
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    for (size_t i = 0; i < rows->count; i++) {
        const row_t *row = &rows->row[i];
        if (!row->is_counted)
            continue;
        if (!pto_add(total, row->bytes, &total)) {
            free(matrix);
            return pto_error_set_at(err, PTO_ERR_RANGE, path, 1, 1,
                                    "the matrix sums to more than 9223372036854775807 bytes");
        }
        matrix[row->source * rows->order + row->destination] += row->bytes;
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
