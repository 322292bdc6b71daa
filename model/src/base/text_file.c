/* Whole files in memory. Pipes are read too, so the size is not asked for in advance. */
#include "base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1 << 14 };

static pto_status_t read_stream(FILE *stream, const char *path, size_t limit_bytes, char **text, size_t *size,
                                pto_error_t *err) {
    size_t capacity = FIRST_CAPACITY, used = 0;
    char *buffer = malloc(capacity);
    while (buffer) {
        used += fread(buffer + used, 1, capacity - used - 1, stream);
        if (ferror(stream) || used > limit_bytes || feof(stream))
            break;
        capacity *= 2;
        char *larger = realloc(buffer, capacity);
        if (!larger)
            free(buffer);
        buffer = larger;
    }
    if (!buffer)
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    pto_status_t status = PTO_OK;
    if (ferror(stream))
        status = pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot read: %s", strerror(errno));
    else if (used > limit_bytes)
        status = pto_error_set_at(err, PTO_ERR_TOO_LARGE, path, 1, 1, "file is larger than %zu bytes",
                                  limit_bytes);
    if (status != PTO_OK) {
        free(buffer);
        return status;
    }
    buffer[used] = '\0';
    *text = buffer;
    *size = used;
    return PTO_OK;
}

pto_status_t pto_text_read(const char *path, size_t limit_bytes, char **text, size_t *size,
                           pto_error_t *err) {
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot open: %s", strerror(errno));
    pto_status_t status = read_stream(stream, path, limit_bytes, text, size, err);
    fclose(stream);
    return status;
}

size_t pto_byte_order_mark(const char *text, size_t text_size) {
    static const char mark[] = "\xEF\xBB\xBF";
    size_t size = sizeof mark - 1;
    return text_size >= size && memcmp(text, mark, size) == 0 ? size : 0;
}

char *pto_path_beside(const char *file, const char *name) {
    const char *slash = file && name[0] != '/' ? strrchr(file, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - file) + 1 : 0;
    size_t length = strlen(name);
    char *joined = malloc(folder + length + 1);
    if (!joined)
        return NULL;
    if (folder > 0)
        memcpy(joined, file, folder);
    memcpy(joined + folder, name, length + 1);
    return joined;
}

char *pto_text_copy(const char *text) { return pto_path_beside(NULL, text); }
