/* Building texts (text.h). */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void pto_text_add(pto_text_t *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int needed = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (text->out_of_memory || needed < 0)
        return;
    text->out_of_memory = !PTO_RESERVE(text->text, text->capacity, text->length + (size_t)needed + 1);
    if (text->out_of_memory)
        return;
    va_start(arguments, format);
    vsnprintf(text->text + text->length, (size_t)needed + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)needed;
}

pto_status_t pto_text_take(pto_text_t *text, const char *what, char **made, pto_error_t *err) {
    if (text->out_of_memory) {
        free(text->text);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %s", what);
    }
    *made = text->text;
    return PTO_OK;
}

void pto_line_add(pto_line_t *line, const char *format, ...) {
    const size_t room = line->size - line->used;
    va_list arguments;
    va_start(arguments, format);
    int needed = vsnprintf(line->text + line->used, room, format, arguments);
    va_end(arguments);
    if (needed > 0)
        line->used += (size_t)needed < room ? (size_t)needed : room - 1;
}

bool pto_text_begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

bool pto_text_ends(const char *text, const char *end) {
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}
