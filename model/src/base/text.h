/* Building texts, growable or truncated to a fixed buffer. Internal to libportolan. */
#ifndef PTO_BASE_TEXT_H
#define PTO_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "portolan/api.h"

/* A growable text. Start with a zeroed one; free `text`. When memory runs out, out_of_memory is set and
 * nothing more is added. */
typedef struct {
    char *text;
    size_t length;
    size_t capacity;
    bool out_of_memory;
} pto_text_t;

void pto_text_add(pto_text_t *text, const char *format, ...) PTO_PRINTF_LIKE(2, 3);

/* Hand the text over to the caller, who frees `*made`. PTO_ERR_MEMORY: "out of memory for WHAT". */
pto_status_t pto_text_take(pto_text_t *text, const char *what, char **made, pto_error_t *err);

/* A text in the caller's buffer, truncated to its size. Start with all but `text` and `size` zeroed. */
typedef struct {
    char *text;
    size_t size;
    size_t used;
} pto_line_t;

void pto_line_add(pto_line_t *line, const char *format, ...) PTO_PRINTF_LIKE(2, 3);

bool pto_text_begins(const char *text, const char *start);
bool pto_text_ends(const char *text, const char *end);

#endif
