/* An output file of whole rows (row_file.h), by write(2). A row that a full disk cut off is removed again. */
#define _XOPEN_SOURCE 700 /* pwrite */ /* NOLINT(bugprone-reserved-identifier) */
#include "row_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "portolan/output.h"

struct row_file {
    pto_output_t *output; /* NULL: standard output */
    int fd;
    off_t end; /* of the last whole line; -1: the file cannot be rewritten */
};

const char *row_file_path(const row_file_t *file) {
    return file->output ? pto_output_place(file->output) : "standard output";
}

static pto_status_t failed(pto_error_t *err, const row_file_t *file, const char *hint) {
    if (!file->output)
        return pto_error_set(err, PTO_ERR_IO, "cannot write standard output: %s%s", strerror(errno), hint);
    return pto_error_set_at(err, PTO_ERR_IO, row_file_path(file), 1, 1, "cannot write: %s%s", strerror(errno),
                            hint);
}

pto_status_t row_file_open(const char *path, bool force, row_file_t **file, pto_error_t *err) {
    row_file_t *made = calloc(1, sizeof *made);
    pto_status_t status = PTO_OK;
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an output file");
    if (strcmp(path, "-") != 0)
        status = pto_output_open_growing(path, force, &made->output, err);
    if (status != PTO_OK) {
        free(made);
        return status;
    }
    made->fd = made->output ? fileno(pto_output_stream(made->output)) : STDOUT_FILENO;
    /* At the limit on file sizes, write(2) must fail instead of killing the process. */
    signal(SIGXFSZ, SIG_IGN);
    /* A file that was opened for appending (>>) cannot be rewritten: others may write there, too. */
    made->end = fcntl(made->fd, F_GETFL) & O_APPEND ? -1 : lseek(made->fd, 0, SEEK_CUR);
    *file = made;
    return PTO_OK;
}

pto_status_t row_file_put(row_file_t *file, const char *text, size_t length, pto_error_t *err) {
    size_t done = 0;
    while (done < length) {
        ssize_t written = write(file->fd, text + done, length - done);
        if (written < 0 && errno != EINTR)
            break;
        done += written > 0 ? (size_t)written : 0;
    }
    if (done == length) {
        file->end += file->end >= 0 ? (off_t)length : 0;
        return PTO_OK;
    }
    pto_status_t status = failed(err, file, file->end > 0 ? "; the lines before are kept" : "");
    if (file->output && file->end >= 0 && ftruncate(file->fd, file->end) == 0)
        lseek(file->fd, file->end, SEEK_SET);
    return status;
}

int64_t row_file_place(const row_file_t *file) { return file->end; }

pto_status_t row_file_rewrite(row_file_t *file, int64_t place, const char *text, size_t length,
                              pto_error_t *err) {
    if (pwrite(file->fd, text, length, place) == (ssize_t)length)
        return PTO_OK;
    return failed(err, file, "");
}

pto_status_t row_file_close(row_file_t *file, pto_error_t *err) {
    if (!file)
        return PTO_OK;
    pto_status_t status = pto_output_close(file->output, true, err);
    free(file);
    return status;
}
