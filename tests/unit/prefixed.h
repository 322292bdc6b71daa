/* Logs as launchers print them. */
#ifndef PTO_TEST_PREFIXED_H
#define PTO_TEST_PREFIXED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text with a prefix before each line; `%d` in it is the number of the line. */
static inline char *prefixed(const char *prefix, const char *text) {
    char *made = calloc(1, 2 * strlen(text) + 64 * 100), *at = made;
    for (int line = 0; *text; line++) {
        const char *end = strchr(text, '\n') + 1;
        for (const char *from = prefix; *from; from++)
            if (*from == '%')
                at += sprintf(at, "%02d", line % 60);
            else
                *at++ = *from;
        memcpy(at, text, (size_t)(end - text));
        at += end - text;
        text = end;
    }
    return made;
}

#endif
