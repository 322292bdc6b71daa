/* The bytes of a recording, from a file (gzip or not) or from memory, through a buffer of 64 KiB. */
#ifndef PTO_TRACES_SOURCE_H
#define PTO_TRACES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "portolan/api.h"

enum { PTO_SOURCE_BUFFER = 1 << 16, PTO_SOURCE_LINE_MAX = 1 << 24, PTO_SOURCE_ITEM_BYTES = 16 };

/* Zeroed at first. `line` and `column` are the place of the next byte, counted from 1. */
typedef struct {
    gzFile file;        /* NULL: `memory` */
    const char *memory; /* what is left of it */
    size_t memory_size;
    size_t at, end; /* of the buffer */
    pto_status_t status;
    char reason[128]; /* unless PTO_OK */
    int line;
    int64_t column;
    int64_t offset; /* bytes before the next one */
    int64_t items;  /* lines, values and messages so far, which take time however short they are */
    int64_t limit;  /* of `offset` and PTO_SOURCE_ITEM_BYTES for each item; 0: what takes about a minute */
    char *text;     /* of the last line */
    size_t text_room;
    double file_bytes;                            /* compressed, if it is; 0: unknown */
    void (*progress)(void *context, double part); /* NULL: none; called when the buffer is filled */
    void *context;
    unsigned char buffer[PTO_SOURCE_BUFFER + 1]; /* one more for a reader's zero byte */
} pto_source_t;

/* Errors: PTO_ERR_IO. Close in any case. */
pto_status_t pto_source_open(pto_source_t *source, const char *path, pto_error_t *err);
/* `text` is borrowed. */
void pto_source_open_memory(pto_source_t *source, const char *text, size_t text_size);
void pto_source_close(pto_source_t *source);

/* Fill an empty buffer; the number of bytes in it. 0: the end, or an error (`status`). */
size_t pto_source_fill(pto_source_t *source);
/* Read more behind the bytes that the buffer holds; false: it is full, or as pto_source_fill's 0. */
bool pto_source_extend(pto_source_t *source);
/* Move past bytes of the buffer. */
void pto_source_skip(pto_source_t *source, size_t size);
/* Returns the next byte, which stays; -1: as pto_source_fill's 0. */
int pto_source_peek(pto_source_t *source);

/* Returns the next line without its end, valid until the next call; NULL at the end, after an error, and
 * where the line is longer than PTO_SOURCE_LINE_MAX or has a zero byte in it. */
char *pto_source_line(pto_source_t *source);

#endif
