/* The bytes of a recording, from a file (gzip or not), through a buffer of 64 KiB. */
#ifndef PTO_TRACES_SOURCE_H
#define PTO_TRACES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "portolan/api.h"

enum { PTO_SOURCE_BUFFER = 1 << 16, PTO_SOURCE_LINE_MAX = 1 << 24, PTO_SOURCE_ITEM_BYTES = 16 };

/* Zero it before pto_source_open. `line` and `column` are the place of the next byte, counted from 1. */
typedef struct {
    gzFile file;
    size_t at, end; /* indexes in the buffer: of the next byte, and behind the last */
    pto_status_t status;
    char reason[128]; /* unless `status` is PTO_OK */
    int line;
    int64_t column;
    int64_t offset; /* of the next byte, uncompressed */
    int64_t items;  /* lines, JSON values and protobuf messages so far; readers count them */
    /* A limit of the work: bytes, plus PTO_SOURCE_ITEM_BYTES for each item, as even short ones take time. 0:
     * a default of about a minute. */
    int64_t limit;
    char *text; /* the last line */
    size_t text_room;
    bool is_last_open;                            /* the last line that was read has no line end */
    double file_bytes;                            /* as stored, perhaps compressed; 0 if unknown (a pipe) */
    void (*progress)(void *context, double part); /* called when the buffer is filled; may be NULL */
    void *context;
    unsigned char buffer[PTO_SOURCE_BUFFER + 1]; /* one more for a reader's zero byte */
} pto_source_t;

/* Opens a file. Errors: PTO_ERR_IO. The source is to be closed in any case. */
pto_status_t pto_source_open(pto_source_t *source, const char *path, pto_error_t *err);
void pto_source_close(pto_source_t *source);

/* Fills the buffer if it is empty. Returns its number of bytes; 0 at the end or after an error. */
size_t pto_source_fill(pto_source_t *source);
/* Reads more bytes after those in the buffer; false if it is full, at the end, or after an error. */
bool pto_source_extend(pto_source_t *source);
/* Skips bytes of the buffer. */
void pto_source_skip(pto_source_t *source, size_t size);
/* Returns the next byte without skipping it; -1 at the end or after an error. */
int pto_source_peek(pto_source_t *source);

/* Returns the next line without its end, valid until the next call; NULL at the end or after an error, as of
 * a line of more than PTO_SOURCE_LINE_MAX bytes or with a zero byte. */
char *pto_source_line(pto_source_t *source);

#endif
