/* Reading tables of measurements: `# key=value` lines of provenance, a line of column names, then one row per
 * line. This part splits the text and reports faults with line and column; the file of each kind of table
 * defines its columns. */
#ifndef PTO_CSV_TABLE_H
#define PTO_CSV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/csv_line.h"
#include "portolan/api.h"
#include "portolan/samples.h"

typedef struct pto_csv pto_csv_t;

enum { PTO_CSV_COLUMN_MAX = 24 };

/* One kind of table. The columns of a file may be in any order. */
typedef struct {
    const char *what;          /* name in messages: "samples" */
    const char *advice;        /* advice for files of different machines: "fit them apart" */
    const char *const *column; /* the required ones first */
    int column_count;          /* at most PTO_CSV_COLUMN_MAX */
    int required_count;        /* the others are optional */
    pto_status_t (*begin_row)(void *table, int file, pto_error_t *err); /* append a row of default values */
    pto_status_t (*read_field)(const pto_csv_t *csv, int column, pto_text_span_t field, void *table);
} pto_csv_format_t;

/* Where a table's rows come from. */
typedef struct {
    int provenance_count;
    pto_provenance_t *provenance;
    int file_count;
    char **path;
} pto_csv_origin_t;

/* A file that is being read. `line` and `place` (a column of text, from 1) are those of the current field. */
struct pto_csv {
    const pto_csv_format_t *format;
    const char *path;
    const char *next;
    const char *end;
    int line;
    int place;
    pto_text_span_t header;
    int order[PTO_CSV_COLUMN_MAX]; /* by the file's column: its index in format->column */
    int order_count;               /* 0: no line of column names yet */
    pto_csv_origin_t *origin;
    void *table;
    pto_error_t *err;
};

/* Read a text; `path` only names it. On failure `origin` is unchanged; the caller must drop the table's new
 * rows. Errors: PTO_ERR_SYNTAX (too few or too many columns, no header, a zero byte), _KEY (an unknown,
 * missing or duplicate column), _NOT_APPLICABLE (another `machine` or `mpi` than before), _MEMORY, and those
 * of read_field. */
pto_status_t pto_csv_parse(const pto_csv_format_t *format, const char *text, size_t text_size,
                           const char *path, pto_csv_origin_t *origin, void *table, pto_error_t *err);
/* Remove what was added since there were `provenance` lines and `files` files. */
void pto_csv_roll_back(pto_csv_origin_t *origin, int provenance, int files);
void pto_csv_origin_fini(pto_csv_origin_t *origin);

/* Maximum size of a file. */
enum { PTO_CSV_BYTES_MAX = 1 << 30 };

/* For read_field: these return the field's value, or an error at its place: PTO_ERR_TYPE, PTO_ERR_RANGE. */
pto_status_t pto_csv_bad_field(const pto_csv_t *csv, int column, pto_text_span_t field, pto_status_t status,
                               const char *wanted);
/* Check a name by pto_name_check. */
pto_status_t pto_csv_check_name(const pto_csv_t *csv, int column, const char *name);
/* 0 or more. */
pto_status_t pto_csv_whole(const pto_csv_t *csv, int column, pto_text_span_t field, int64_t *value);
pto_status_t pto_csv_count(const pto_csv_t *csv, int column, pto_text_span_t field, int64_t least,
                           int32_t *value);
/* Above 0. */
pto_status_t pto_csv_seconds(const pto_csv_t *csv, int column, pto_text_span_t field, double *value);
pto_status_t pto_csv_joules(const pto_csv_t *csv, int column, pto_text_span_t field, double *value);
/* The index of the field among `names`; `wanted` describes the expected value in the message. */
pto_status_t pto_csv_name(const pto_csv_t *csv, int column, pto_text_span_t field, const char *const *names,
                          int count, const char *wanted, uint8_t *value);

/* Index of `span` among `names`, or -1. */
int pto_span_find(pto_text_span_t span, const char *const *names, int count);

/* Returns the first file's value of a provenance key; NULL if no file has it. */
const char *pto_csv_provenance(const pto_provenance_t *provenance, int count, const char *key);

#endif
