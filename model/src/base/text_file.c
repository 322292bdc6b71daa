/* Reads whole files into memory (text_file.h). Pipes are read, too, so the size is not known in advance. */
#include "base/text_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"

enum { READ_BYTES_MIN = 1 << 14 }; /* free room before each read, including the final NUL */

/* Returns whether a path names an open file. Opening it never waits, unlike opening a named pipe. */
static bool is_open_file(const char *path) {
    return pto_text_begins(path, "/dev/fd/") || pto_text_begins(path, "/proc/self/fd/") ||
           strcmp(path, "/dev/stdin") == 0;
}

static bool may_read(const char *path, const struct stat *found) {
    return S_ISREG(found->st_mode) || (S_ISFIFO(found->st_mode) && is_open_file(path));
}

bool pto_file_is_readable(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && may_read(path, &found) && access(path, R_OK) == 0;
}

pto_status_t pto_file_open(const char *path, int *descriptor, pto_error_t *err) {
    struct stat found;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 || fstat(file, &found) != 0) {
        pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot open: %s", strerror(errno));
    } else if (S_ISDIR(found.st_mode)) {
        pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot read: %s", strerror(EISDIR));
    } else if (!may_read(path, &found)) {
        pto_error_set_at(err, PTO_ERR_IO, path, 1, 1,
                         "not a regular file (pipes are read as /dev/stdin or /dev/fd/N)");
    } else {
        fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
        *descriptor = file;
        return PTO_OK;
    }
    if (file >= 0)
        close(file);
    return PTO_ERR_IO;
}

static pto_status_t read_all(int file, const char *path, size_t limit_bytes, char **text, size_t *size,
                             pto_error_t *err) {
    size_t capacity = 0, used = 0;
    ssize_t more = 1;
    char *buffer = NULL;
    while (more > 0 && used <= limit_bytes) {
        if (!PTO_RESERVE(buffer, capacity, used + READ_BYTES_MIN)) {
            free(buffer);
            return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
        }
        do
            more = read(file, buffer + used, capacity - used - 1);
        while (more < 0 && errno == EINTR);
        used += more > 0 ? (size_t)more : 0;
    }
    pto_status_t status = PTO_OK;
    if (more < 0)
        status = pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot read: %s", strerror(errno));
    else if (used > limit_bytes)
        status = pto_error_set_at(err, PTO_ERR_TOO_LARGE, path, 1, 1, "file is larger than %zu bytes",
                                  limit_bytes);
    else if (pto_text_fault(buffer, used))
        status = pto_error_set_at(err, PTO_ERR_SYNTAX, path, 1, 1, "%s", pto_text_fault(buffer, used));
    if (status != PTO_OK) {
        free(buffer);
        return status;
    }
    const size_t mark = pto_byte_order_mark(buffer, used);
    memmove(buffer, buffer + mark, used - mark);
    buffer[used - mark] = '\0';
    *text = buffer;
    *size = used - mark;
    return PTO_OK;
}

pto_status_t pto_text_read(const char *path, size_t limit_bytes, char **text, size_t *size,
                           pto_error_t *err) {
    int file = -1;
    pto_status_t status = pto_file_open(path, &file, err);
    if (status != PTO_OK)
        return status;
    status = read_all(file, path, limit_bytes, text, size, err);
    close(file);
    return status;
}

/* Recognises UTF-16 with a byte-order mark or, for ASCII characters, without one. */
static bool is_utf16(const unsigned char *byte, size_t size) {
    if (size < 4)
        return false;
    const bool is_marked = (byte[0] == 0xFF && byte[1] == 0xFE && byte[3] == 0) ||
                           (byte[0] == 0xFE && byte[1] == 0xFF && byte[2] == 0);
    return is_marked || (byte[0] >= ' ' && byte[1] == 0 && byte[2] >= ' ' && byte[3] == 0);
}

/* Returns whether the first key is "cells": a notebook's keys are in alphabetic order. */
static bool is_notebook(const char *text, size_t size) {
    static const char first[] = "\"cells\"";
    size_t at = size > 0 && *text == '{';
    while (at > 0 && at < size && isspace((unsigned char)text[at]))
        at++;
    return at > 0 && size - at >= sizeof first - 1 && memcmp(text + at, first, sizeof first - 1) == 0;
}

#define RCCL_RECORDS "records of rccl-tests (-Z): the table that it prints is what is read"

const char *pto_text_fault(const char *text, size_t size) {
    static const struct {
        const char *begin, *fault;
    } others[] = {
        {"\xFD"
         "7zXZ",
         "a file packed by xz: unpack it by xz -d"},
        {"BZh", "a file packed by bzip2: unpack it by bzip2 -d"},
        {"\x28\xB5\x2F\xFD", "a file packed by zstd: unpack it by zstd -d"},
        {"\x1F\x8B", "a file packed by gzip: unpack it by gzip -d"},
        {"PK\x03\x04", "a zip archive: unpack it by unzip"},
        {"numCycle", RCCL_RECORDS},
        {"{\"numCycle\"", RCCL_RECORDS},
        {"[{\"numCycle\"", RCCL_RECORDS},
        {"%PDF", "a PDF file: copy its text, or write it by pdftotext -layout"},
        {"SQLite format 3", "a database of SQLite, as Nsight Systems exports it, which is not read"},
        {"{\"log\":\"", "a log as Docker keeps it: `docker logs CONTAINER` or `jq -j .log FILE` prints it"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (size >= strlen(others[i].begin) && memcmp(text, others[i].begin, strlen(others[i].begin)) == 0)
            return others[i].fault;
    if (is_notebook(text, size))
        return "a Jupyter notebook: `jupyter nbconvert --to markdown FILE` writes its outputs as text";
    return is_utf16((const unsigned char *)text, size)
               ? "text in UTF-16, as PowerShell's > writes it: convert it by iconv -f UTF-16 -t UTF-8"
               : NULL;
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

bool pto_text_copy_any(const char *text, char **copy) {
    *copy = text ? pto_text_copy(text) : NULL;
    return !text || *copy;
}
