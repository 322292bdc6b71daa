/* Text that grows, and questions about texts. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(pto_text_t *text, size_t more) {
    if (text->length + more < text->capacity)
        return true;
    size_t capacity = 2 * (text->length + more) + 256;
    char *grown = realloc(text->text, capacity);
    if (!grown) {
        text->out_of_memory = true;
        return false;
    }
    text->text = grown;
    text->capacity = capacity;
    return true;
}

void pto_text_add(pto_text_t *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int needed = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (text->out_of_memory || needed < 0 || !reserve(text, (size_t)needed + 1))
        return;
    va_start(arguments, format);
    vsnprintf(text->text + text->length, (size_t)needed + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)needed;
}

bool pto_text_begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

bool pto_text_ends(const char *text, const char *end) {
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}
