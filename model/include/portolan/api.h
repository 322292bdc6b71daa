/* What every public header includes: the conventions of the interface, status codes and error records, the
 * version, and the macros that enclose each header's declarations. */
#ifndef PORTOLAN_API_H
#define PORTOLAN_API_H

#include <stddef.h>

/* The libraries are built with -fvisibility=hidden, so only declarations between PTO_API_BEGIN and
 * PTO_API_END can be used from outside. Headers that are not installed (model/internal, impl/internal) use
 * PTO_C_BEGIN and PTO_C_END instead, which only give C linkage. */
#if defined(__GNUC__)
#define PTO_EXPORT_BEGIN _Pragma("GCC visibility push(default)")
#define PTO_EXPORT_END _Pragma("GCC visibility pop")
#else
#define PTO_EXPORT_BEGIN
#define PTO_EXPORT_END
#endif

#ifdef __cplusplus
#define PTO_C_BEGIN extern "C" {
#define PTO_C_END }
#else
#define PTO_C_BEGIN
#define PTO_C_END
#endif

#define PTO_API_BEGIN PTO_EXPORT_BEGIN PTO_C_BEGIN
#define PTO_API_END PTO_C_END PTO_EXPORT_END

PTO_API_BEGIN

/* Errors: PTO_OK is 0 and errors are negative. A fallible function returns a pto_status_t and takes, as its
 * last argument, a caller-owned pto_error_t that may be NULL. The first function that detects the error fills
 * it; callers only pass it on. Outputs are set only on PTO_OK.
 *
 * Names end in their unit: _s seconds, _bytes bytes, _s_per_byte seconds per byte, _w watts.
 *
 * Ownership: pto_X_fini frees what a structure owns and zeroes it; a zeroed one is legal. pto_X_destroy frees
 * the object; NULL is legal. A returned pointer is borrowed from the function's first argument; if there is
 * none, it is valid until the process ends.
 *
 * pto_X_name returns the static name of an enum's value in files and options. Indices run from 0 to count - 1
 * and are not checked. */

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

/* Why a call failed. Outside of files, `file` is empty and `line` 0; lines and columns count from 1. */
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

/* The version of these headers; pto_version returns that of the library that the program runs with. */
#define PTO_VERSION_MAJOR 0
#define PTO_VERSION_MINOR 1
#define PTO_VERSION_PATCH 0
#define PTO_VERSION_TEXT "0.1.0"

/* For `#if PTO_VERSION >= PTO_VERSION_OF(0, 2, 0)`. */
#define PTO_VERSION_OF(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define PTO_VERSION PTO_VERSION_OF(PTO_VERSION_MAJOR, PTO_VERSION_MINOR, PTO_VERSION_PATCH)

/* PTO_VERSION_TEXT of the library that the program runs with. */
const char *pto_version(void);

/* Structs of the headers that other languages declare again, and their sizes in the library that the program
 * runs with. The last entry has no name. */
typedef struct {
    const char *name;
    size_t bytes;
} pto_struct_size_t;

const pto_struct_size_t *pto_struct_sizes(void);

PTO_API_END

#endif
