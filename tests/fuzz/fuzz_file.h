/* Bytes as a file, for readers that take a path: pto_text_read, linked by --wrap, reads them from memory. */
#ifndef PORTOLAN_TESTS_FUZZ_FILE_H
#define PORTOLAN_TESTS_FUZZ_FILE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"

pto_status_t __wrap_pto_text_read(const char *path, size_t limit_bytes, char **text, size_t *size,
                                  pto_error_t *err);

static const uint8_t *fuzz_bytes;
static size_t fuzz_size;

/* Its path, the same each time. */
static inline const char *fuzz_file(const uint8_t *data, size_t size) {
    fuzz_bytes = data;
    fuzz_size = size;
    return "fuzz";
}

pto_status_t __wrap_pto_text_read(const char *path, size_t limit_bytes, char **text, size_t *size,
                                  pto_error_t *err) {
    if (fuzz_size > limit_bytes)
        return pto_error_set_at(err, PTO_ERR_TOO_LARGE, path, 1, 1, "more than the limit");
    *text = malloc(fuzz_size + 1);
    if (!*text)
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    if (fuzz_size > 0)
        memcpy(*text, fuzz_bytes, fuzz_size);
    (*text)[fuzz_size] = '\0';
    *size = fuzz_size;
    return PTO_OK;
}

#endif
