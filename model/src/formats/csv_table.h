/* Reading tables of measurements: `# key=value` lines of provenance, a line of column names, then one row per
 * line. pto_csv_parse splits the text and reports faults with line and column. A pto_csv_format_t defines a
 * kind of table by its columns, each with the function that reads its fields (decide/samples.c,
 * collectives.c). */
#ifndef PTO_CSV_TABLE_H
#define PTO_CSV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "formats/csv_line.h"
#include "portolan/api.h"
#include "portolan/samples.h"

typedef struct pto_csv pto_csv_t;

enum { PTO_CSV_COLUMN_MAX = 24 };

typedef enum {
    PTO_CSV_REQUIRED,
    PTO_CSV_OPTIONAL,    /* a file may lack the column */
    PTO_CSV_MAY_BE_EMPTY /* a file may lack it, and fields without text keep the row's default */
} pto_csv_presence_t;

/* A column, and how its fields are read. */
typedef struct {
    const char *name;
    /* Reads a field into a member of the row's struct. NULL: the column is ignored. */
    pto_status_t (*read)(const pto_csv_t *csv, pto_text_span_t field, void *member);
    size_t member; /* the member's offset in the row's struct */
    pto_csv_presence_t presence;
    int64_t least;         /* for pto_csv_whole and pto_csv_count: the least value, 0 or 1 */
    pto_name_at_t word_at; /* for pto_csv_word: the i-th word; NULL after the last one */
    const char *wanted;    /* for pto_csv_word: what messages call the words */
} pto_csv_column_t;

/* One kind of table. The columns of a file may be in any order. */
typedef struct {
    const char *what;   /* name in messages: "samples" */
    const char *advice; /* in messages about files of different machines: "fit them apart" */
    const pto_csv_column_t *column;
    int column_count; /* at most PTO_CSV_COLUMN_MAX */
    /* Appends a row of default values to csv->table, and sets `*row` to it. */
    pto_status_t (*begin_row)(const pto_csv_t *csv, void **row);
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
    const pto_csv_column_t *column; /* of the current field */
    const char *path;
    const char *next; /* the next line */
    const char *end;  /* of the text */
    int line;         /* from 1 */
    int place;
    pto_text_span_t header;        /* the line of column names */
    int order[PTO_CSV_COLUMN_MAX]; /* by the file's column: its index in format->column */
    int order_count;               /* 0: no line of column names yet */
    pto_csv_origin_t *origin;
    void *table; /* for begin_row: the table that gets the rows */
    pto_error_t *err;
};

/* Reads a text, and adds its rows to `table` and its provenance to `origin`. `path` names the text in
 * messages. On failure `origin` is unchanged; the caller must drop the table's new rows. Errors:
 * PTO_ERR_SYNTAX (too few or too many columns, no header, a zero byte), _KEY (an unknown, missing or
 * duplicate column), _NOT_APPLICABLE (another `machine` or `mpi` than before), _MEMORY, and those of the
 * columns. */
pto_status_t pto_csv_parse(const pto_csv_format_t *format, const char *text, size_t text_size,
                           const char *path, pto_csv_origin_t *origin, void *table, pto_error_t *err);
/* Removes the last lines of provenance and files, so that `provenance` and `files` of them are left. */
void pto_csv_roll_back(pto_csv_origin_t *origin, int provenance, int files);
void pto_csv_origin_fini(pto_csv_origin_t *origin);

/* Maximum size of a file. */
enum { PTO_CSV_BYTES_MAX = 1 << 30 };

/* Returns the error "COLUMN: 'FIELD' is not WANTED" for a field of the current column. */
pto_status_t pto_csv_bad_field(const pto_csv_t *csv, pto_text_span_t field, pto_status_t status,
                               const char *wanted);
/* Checks a name of the current column by pto_name_check. */
pto_status_t pto_csv_check_name(const pto_csv_t *csv, const char *name);
/* Finds the index of a field among the words of its column. */
pto_status_t pto_csv_word(const pto_csv_t *csv, pto_text_span_t field, int *index);

/* Readers of columns. They set the member, or report an error at the field: PTO_ERR_TYPE, PTO_ERR_RANGE. */
pto_status_t pto_csv_whole(const pto_csv_t *csv, pto_text_span_t field, void *member);   /* int64_t */
pto_status_t pto_csv_count(const pto_csv_t *csv, pto_text_span_t field, void *member);   /* int32_t */
pto_status_t pto_csv_seconds(const pto_csv_t *csv, pto_text_span_t field, void *member); /* double: above 0 */
pto_status_t pto_csv_joules(const pto_csv_t *csv, pto_text_span_t field, void *member);  /* double: above 0 */

/* Index of `span` among `names`, or -1. */
int pto_span_find(pto_text_span_t span, const char *const *names, int count);
/* Returns the first file's value of a provenance key; NULL if no file has it. */
const char *pto_csv_provenance(const pto_provenance_t *provenance, int count, const char *key);

#endif
