/* An output file that contains whole rows at any moment: after an interrupt, and when the disk is full.
 * pto_output_open_growing defines where it is written and what happens to an existing file. */
#ifndef PTO_ROW_FILE_H
#define PTO_ROW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"

typedef struct row_file row_file_t;

/* "-" is standard output. Errors: those of pto_output_open_growing. */
pto_status_t row_file_open(const char *path, bool force, row_file_t **file, pto_error_t *err);

/* Returns where the rows are until the file is closed. */
const char *row_file_path(const row_file_t *file);

/* Appends whole lines: all of them or, on an error, none (if the file can be truncated). */
pto_status_t row_file_put(row_file_t *file, const char *text, size_t length, pto_error_t *err);

/* Returns the offset of the next line, for row_file_rewrite; -1: the file cannot be rewritten. */
int64_t row_file_place(const row_file_t *file);
/* Overwrites bytes from this offset on. */
pto_status_t row_file_rewrite(row_file_t *file, int64_t place, const char *text, size_t length,
                              pto_error_t *err);

/* Closes the file, renames it to its final name, and frees the object, on an error, too; NULL is legal.
 * Errors: PTO_ERR_IO; the rows are then where row_file_path said. */
pto_status_t row_file_close(row_file_t *file, pto_error_t *err);

#endif
