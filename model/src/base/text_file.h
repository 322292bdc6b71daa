/* Whole files in memory, and names of files beside others. */
#ifndef PORTOLAN_TEXT_FILE_H
#define PORTOLAN_TEXT_FILE_H

#include <stddef.h>

#include "portolan/status.h"

/* Read a file of at most `limit_bytes`; the text is the caller's to free and ends in a NUL that `size` does
 * not count. Errors, at the file's first column: PTO_ERR_IO, PTO_ERR_TOO_LARGE, PTO_ERR_MEMORY. */
pto_status_t pto_text_read(const char *path, size_t limit_bytes, char **text, size_t *size, pto_error_t *err);

/* The size of the UTF-8 byte-order mark that a text starts with, as spreadsheets and some editors write it; 0
 * where it has none. */
size_t pto_byte_order_mark(const char *text, size_t text_size);

/* `name` as seen from the folder of `file` (NULL: from here); absolute names stay. The caller's to free; NULL
 * where memory is out. */
char *pto_path_beside(const char *file, const char *name);

/* A copy that the caller frees; NULL where memory is out. */
char *pto_text_copy(const char *text);

#endif
