/* Whole files in memory, and paths relative to another file. */
#ifndef PTO_TEXT_FILE_H
#define PTO_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "portolan/api.h"

/* Open a file to read: a regular file, or a pipe that is open already, as /dev/stdin or /dev/fd/N (a shell's
 * `<(...)`). Others are refused: the name of a pipe may wait for a writer forever, and a device may never
 * end. Errors, at the file's first column: PTO_ERR_IO. */
pto_status_t pto_file_open(const char *path, int *descriptor, pto_error_t *err);
/* Returns whether pto_file_open can open a file. */
bool pto_file_is_readable(const char *path);

/* Read a file of at most `limit_bytes`, without a byte-order mark. The caller frees the text, which ends in a
 * NUL that `size` does not count. Errors: those of pto_file_open, and at the same place PTO_ERR_TOO_LARGE,
 * PTO_ERR_SYNTAX (pto_text_fault) and PTO_ERR_MEMORY. */
pto_status_t pto_text_read(const char *path, size_t limit_bytes, char **text, size_t *size, pto_error_t *err);

/* Returns why such a file is not read as text (UTF-16, compressed) and what converts it; else NULL. */
const char *pto_text_fault(const char *text, size_t size);

/* Define `function`, which reads a file of at most `limit_bytes` and calls `parse` to parse its text into
 * `made`, of type `pointer`: pto_X_read by pto_X_parse. */
#define PTO_TEXT_READER(function, parse, pointer, made, limit_bytes)                                         \
    pto_status_t function(const char *path, pointer made, pto_error_t *err) {                                \
        char *text = NULL;                                                                                   \
        size_t size = 0;                                                                                     \
        pto_status_t status = pto_text_read(path, limit_bytes, &text, &size, err);                           \
        if (status == PTO_OK)                                                                                \
            status = parse(text, size, path, made, err);                                                     \
        free(text);                                                                                          \
        return status;                                                                                       \
    }                                                                                                        \
    _Static_assert((limit_bytes) > 0, "there is something to read")

/* Returns the size of the UTF-8 byte-order mark at the start of a text, as written by spreadsheets and some
 * editors; 0 if there is none. */
size_t pto_byte_order_mark(const char *text, size_t text_size);

/* `name` relative to the folder of `file` (NULL: the current folder); absolute names are unchanged. The
 * caller frees the result; NULL when out of memory. */
char *pto_path_beside(const char *file, const char *name);

/* Returns a copy that the caller frees; NULL when out of memory. */
char *pto_text_copy(const char *text);

/* Sets `*copy` to a copy that the caller frees, or to NULL if `text` is NULL. False when out of memory. */
bool pto_text_copy_any(const char *text, char **copy);

#endif
