/* Text that grows, and questions about texts. Internal to libportolan. */
#ifndef PTO_BASE_TEXT_H
#define PTO_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "portolan/api.h"

/* Zeroed at first; free `text`. Once memory has run out nothing more is added. */
typedef struct {
    char *text;
    size_t length;
    size_t capacity;
    bool out_of_memory;
} pto_text_t;

void pto_text_add(pto_text_t *text, const char *format, ...) PTO_PRINTF_LIKE(2, 3);

bool pto_text_begins(const char *text, const char *start);
bool pto_text_ends(const char *text, const char *end);

#endif
