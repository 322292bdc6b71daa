/* Status codes, and the error record that every fallible call of libportolan fills.
 *
 * Conventions: PTO_OK is 0 and errors are negative. A fallible function returns a pto_status_t and takes, as
 * its last argument, a caller-owned pto_error_t that may be NULL. The first function that detects the error
 * fills it; callers only pass it on. Outputs are set only on PTO_OK.
 *
 * Names end in their unit: _s seconds, _bytes bytes, _s_per_byte seconds per byte, _w watts.
 *
 * pto_X_fini frees what a structure owns and zeroes it; a zeroed one is legal. pto_X_destroy frees the
 * object; NULL is legal. A pointer that a function returns is borrowed from its first argument; without one
 * it is valid for ever. pto_X_name is the static name of an enum's value in files and options. An index runs
 * from 0 to below the count and is not checked. */
#ifndef PORTOLAN_STATUS_H
#define PORTOLAN_STATUS_H

#include <stddef.h>

#include "portolan/api.h"

PTO_API_BEGIN

/* name, value, text */
#define PTO_STATUS_TABLE(X)                                                                                  \
    X(OK, 0, "success")                                                                                      \
    X(ERR_MEMORY, -1, "out of memory")                                                                       \
    X(ERR_IO, -2, "cannot read or write")                                                                    \
    X(ERR_SYNTAX, -3, "malformed file")                                                                      \
    X(ERR_KEY, -4, "unknown, missing or duplicate key")                                                      \
    X(ERR_TYPE, -5, "value of the wrong type")                                                               \
    X(ERR_RANGE, -6, "value out of range")                                                                   \
    X(ERR_NOT_FOUND, -7, "no such name")                                                                     \
    X(ERR_NOT_APPLICABLE, -8, "does not apply here")                                                         \
    X(ERR_INVALID_PLAN, -9, "plan is not right")                                                             \
    X(ERR_TOO_LARGE, -10, "too large for this operation")                                                    \
    X(ERR_TIMEOUT, -11, "timed out")                                                                         \
    X(ERR_INTERRUPTED, -12, "interrupted")

typedef enum {
#define PTO_STATUS_ENUM(name, value, text) PTO_##name = (value),
    PTO_STATUS_TABLE(PTO_STATUS_ENUM)
#undef PTO_STATUS_ENUM
} pto_status_t;

enum { PTO_ERROR_MESSAGE_MAX = 512, PTO_ERROR_FILE_MAX = 256 };

/* Why a call failed. `file` is empty and `line` is 0 if the error is not in a file; lines and columns count
 * from 1. */
typedef struct {
    pto_status_t status;
    int line;
    int column;
    char file[PTO_ERROR_FILE_MAX];
    char message[PTO_ERROR_MESSAGE_MAX];
} pto_error_t;

/* One lower-case phrase for a status, never NULL. */
const char *pto_status_text(pto_status_t status);

#if defined(__GNUC__)
#define PTO_PRINTF_LIKE(format_index, first_argument)                                                        \
    __attribute__((format(printf, format_index, first_argument)))
#else
#define PTO_PRINTF_LIKE(format_index, first_argument)
#endif

/* Fill `err` (if not NULL) and return `status`, so that `return pto_error_set(err, ...)` is the idiom. */
pto_status_t pto_error_set(pto_error_t *err, pto_status_t status, const char *format, ...)
    PTO_PRINTF_LIKE(3, 4);

/* The same for an error at a place in a file. `file` may be NULL. */
pto_status_t pto_error_set_at(pto_error_t *err, pto_status_t status, const char *file, int line, int column,
                              const char *format, ...) PTO_PRINTF_LIKE(6, 7);

/* Write "file:line:column: message" (or just the message) into `text`, always terminated. */
void pto_error_format(const pto_error_t *err, char *text, size_t text_size);

PTO_API_END

#endif
