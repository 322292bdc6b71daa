/* Status codes and the error record: one table generates the texts, one function fills the record. */
#include "portolan/api.h"
#include "portolan/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *pto_status_text(pto_status_t status) {
    switch (status) {
#define STATUS_CASE(name, value, text)                                                                       \
    case PTO_##name:                                                                                         \
        return text;
        PTO_STATUS_TABLE(STATUS_CASE)
    }
    return "unknown status";
}

/* A file name too long for the record is truncated at the front, since files differ mostly at the end. */
static void copy_file(char *to, const char *file) {
    size_t length = strlen(file);
    if (length < PTO_ERROR_FILE_MAX) {
        memcpy(to, file, length + 1);
        return;
    }
    size_t kept = PTO_ERROR_FILE_MAX - sizeof "...";
    memcpy(to, "...", 3);
    memcpy(to + 3, file + length - kept, kept + 1);
}

/* A message is one line and safe to print, whatever it quotes. It is built in a separate record, because
 * `file` and the arguments may point into the one that is overwritten. */
static pto_status_t fill(pto_error_t *err, pto_status_t status, const char *file, int line, int column,
                         const char *format, va_list arguments) {
    if (!err)
        return status;
    pto_error_t made = {.status = status, .line = line, .column = column};
    char text[PTO_ERROR_MESSAGE_MAX], name[PTO_ERROR_FILE_MAX];
    if (file) {
        copy_file(name, file);
        pto_escape_text(name, made.file, sizeof made.file);
    }
    vsnprintf(text, sizeof text, format, arguments);
    pto_escape_text(text, made.message, sizeof made.message);
    *err = made;
    return status;
}

pto_status_t pto_error_set(pto_error_t *err, pto_status_t status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(err, status, NULL, 0, 0, format, arguments);
    va_end(arguments);
    return status;
}

pto_status_t pto_error_set_at(pto_error_t *err, pto_status_t status, const char *file, int line, int column,
                              const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(err, status, file, line, column, format, arguments);
    va_end(arguments);
    return status;
}

void pto_error_format(const pto_error_t *err, char *text, size_t text_size) {
    if (text_size == 0)
        return;
    if (err->file[0] == '\0')
        snprintf(text, text_size, "%s", err->message);
    else if (err->line == 0)
        snprintf(text, text_size, "%s: %s", err->file, err->message);
    else
        snprintf(text, text_size, "%s:%d:%d: %s", err->file, err->line, err->column, err->message);
}

const char *pto_version(void) { return PTO_VERSION_TEXT; }
