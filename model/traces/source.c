/* Reads the bytes of recordings through zlib, which unpacks gzip files and passes others through. */
#include "source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"

/* The limits if the user sets none: of the work, and of how many times its size a gzip file unpacks to, once
 * it has ratio_from_bytes. Known traces unpack to less than 100 times their size. */
static const int64_t limit_default = (int64_t)1 << 31, ratio_from_bytes = (int64_t)1 << 26;
enum { RATIO_MAX = 500 };

PTO_PRINTF_LIKE(3, 4)
static void fail(pto_source_t *source, pto_status_t status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    source->status = status;
    vsnprintf(source->reason, sizeof source->reason, format, arguments);
    va_end(arguments);
}

pto_status_t pto_source_open(pto_source_t *source, const char *path, pto_error_t *err) {
    struct stat info;
    int descriptor = -1;
    source->line = 1;
    source->column = 1;
    pto_status_t status = pto_file_open(path, &descriptor, err);
    if (status != PTO_OK)
        return status;
    if (fstat(descriptor, &info) == 0)
        source->file_bytes = (double)info.st_size;
    source->file = gzdopen(descriptor, "rb");
    if (!source->file) {
        close(descriptor);
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    }
    gzbuffer(source->file, PTO_SOURCE_BUFFER);
    return PTO_OK;
}

void pto_source_close(pto_source_t *source) {
    if (source->file)
        gzclose(source->file);
    source->file = NULL;
    free(source->text);
    source->text = NULL;
}

/* Reads bytes after those that the buffer has; returns how many. */
static size_t read_some(pto_source_t *source) {
    const size_t room = PTO_SOURCE_BUFFER - source->end;
    int size = gzread(source->file, source->buffer + source->end, (unsigned)room), code = Z_OK;
    const char *reason = gzerror(source->file, &code);
    if (size > 0)
        return (size_t)size;
    if (code == Z_BUF_ERROR)
        fail(source, PTO_ERR_SYNTAX, "the gzip file ends early");
    else if (code != Z_OK && code != Z_STREAM_END)
        fail(source, PTO_ERR_IO, "%s", code == Z_ERRNO ? strerror(errno) : reason);
    return 0;
}

static int64_t work_of(const pto_source_t *source) {
    return source->offset + PTO_SOURCE_ITEM_BYTES * source->items;
}

/* Fails if reading would take too long. `packed`: bytes of the file so far; negative if unknown (a pipe). */
static void check_limits(pto_source_t *source, int64_t packed) {
    const int64_t limit = source->limit > 0 ? source->limit : limit_default;
    if (source->limit == 0 && source->offset > ratio_from_bytes && packed > 0 &&
        source->offset / packed >= RATIO_MAX)
        fail(source, PTO_ERR_TOO_LARGE,
             "the gzip file unpacks to more than %d times its size (replay --limit reads it)", RATIO_MAX);
    else if (work_of(source) > limit && packed >= 0 && (double)packed < source->file_bytes)
        fail(source, PTO_ERR_TOO_LARGE,
             "the limit of %lld bytes is reached with %.0f%% of the file left (replay --limit raises it)",
             (long long)limit, 100 * (1 - (double)packed / source->file_bytes));
    else if (work_of(source) > limit)
        fail(source, PTO_ERR_TOO_LARGE, "more than the limit of %lld bytes (replay --limit raises it)",
             (long long)limit);
}

bool pto_source_extend(pto_source_t *source) {
    const size_t kept = source->end - source->at;
    if (kept == PTO_SOURCE_BUFFER || source->status != PTO_OK)
        return false;
    memmove(source->buffer, source->buffer + source->at, kept);
    source->at = 0;
    source->end = kept;
    source->end += read_some(source);
    if (kept == 0 && source->offset == 0) {
        const char *text = (const char *)source->buffer;
        const char *fault = pto_text_fault(text, source->end);
        if (fault)
            fail(source, PTO_ERR_SYNTAX, "%s", fault);
        source->at = pto_byte_order_mark(text, source->end);
    }
    const int64_t packed = (int64_t)gzoffset(source->file);
    check_limits(source, packed); /* at the end of the file as well, for what fitted into the buffer */
    if (source->status != PTO_OK)
        source->end = 0;
    if (source->progress && source->file_bytes > 0)
        source->progress(source->context, (double)packed / source->file_bytes);
    return source->end > kept + source->at;
}

size_t pto_source_fill(pto_source_t *source) {
    if (source->at == source->end)
        pto_source_extend(source);
    return source->end - source->at;
}

void pto_source_skip(pto_source_t *source, size_t size) {
    const unsigned char *from = source->buffer + source->at, *end = from + size;
    source->at += size;
    source->offset += (int64_t)size;
    for (const unsigned char *found; (found = memchr(from, '\n', (size_t)(end - from)));) {
        source->line++;
        source->column = 1;
        from = found + 1;
    }
    source->column += end - from;
}

int pto_source_peek(pto_source_t *source) {
    return pto_source_fill(source) > 0 ? source->buffer[source->at] : -1;
}

static bool append(pto_source_t *source, size_t used, size_t size) {
    if (used + size >= source->text_room) {
        size_t room = 2 * (used + size) + 256;
        char *grown = used + size < PTO_SOURCE_LINE_MAX ? realloc(source->text, room) : NULL;
        if (!grown) {
            if (used + size < PTO_SOURCE_LINE_MAX)
                fail(source, PTO_ERR_MEMORY, "out of memory");
            else
                fail(source, PTO_ERR_TOO_LARGE, "a line of more than 16 MiB");
            return false;
        }
        source->text = grown;
        source->text_room = room;
    }
    memcpy(source->text + used, source->buffer + source->at, size);
    source->text[used + size] = '\0';
    return true;
}

char *pto_source_line(pto_source_t *source) {
    size_t used = 0;
    source->items++;
    for (bool ended = false; !ended;) {
        size_t size = pto_source_fill(source);
        const unsigned char *at = source->buffer + source->at, *found = memchr(at, '\n', size);
        size_t more = found ? (size_t)(found - at) : size;
        if (source->status != PTO_OK || (size == 0 && used == 0))
            return NULL;
        if (!append(source, used, more))
            return NULL;
        pto_source_skip(source, more + (found ? 1 : 0));
        used += more;
        ended = found || size == 0;
        source->is_last_open = !found;
    }
    if (used > 0 && source->text[used - 1] == '\r')
        source->text[--used] = '\0';
    if (strlen(source->text) < used) {
        fail(source, PTO_ERR_SYNTAX, "a zero byte");
        return NULL;
    }
    return source->text;
}
