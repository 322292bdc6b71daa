/* Lines go out by write(2), and what a full disk cut in half is taken back. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "row_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct row_file {
    int fd;
    bool is_own;         /* nobody else writes to it, so it may be cut and closed */
    off_t end;           /* of the last whole line; -1: it has no places */
    char path[PATH_MAX]; /* where the lines are now */
    char name[PATH_MAX]; /* the name to take; empty: `path` is right */
};

static pto_status_t failed(pto_error_t *err, const char *path, const char *hint) {
    return pto_error_set(err, PTO_ERR_IO, "cannot write %s: %s%s", path, strerror(errno), hint);
}

/* A new file beside `name`, with the permissions of the one that it will replace. */
static int open_beside(row_file_t *file, const struct stat *replaced) {
    mode_t mask = umask(0);
    umask(mask);
    if (snprintf(file->path, sizeof file->path, "%s.part-XXXXXX", file->name) >= (int)sizeof file->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkstemp(file->path);
    if (fd >= 0)
        fchmod(fd, replaced ? replaced->st_mode & 0777 : 0666 & ~mask);
    return fd;
}

/* There is nothing in a device or a FIFO that could be lost. */
static bool is_stream(const char *path, struct stat *found, bool *exists) {
    *exists = stat(path, found) == 0;
    return *exists && !S_ISREG(found->st_mode);
}

static int open_named(row_file_t *file, const char *path, bool force) {
    struct stat found;
    bool exists = false, stream = is_stream(path, &found, &exists);
    if (strlen(path) >= sizeof file->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (stream || !force) {
        memcpy(file->path, path, strlen(path) + 1);
        return open(path, stream ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL, 0666);
    }
    /* Replace what a link leads to, not the link. */
    if (!exists || !realpath(path, file->name))
        memcpy(file->name, path, strlen(path) + 1);
    return open_beside(file, exists ? &found : NULL);
}

pto_status_t row_file_open(const char *path, bool force, row_file_t **file, pto_error_t *err) {
    row_file_t *made = calloc(1, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an output file");
    made->is_own = strcmp(path, "-") != 0;
    if (made->is_own) {
        made->fd = open_named(made, path, force);
    } else {
        made->fd = STDOUT_FILENO;
        snprintf(made->path, sizeof made->path, "standard output");
    }
    if (made->fd < 0) {
        pto_status_t status = failed(err, path, errno == EEXIST ? " (--force replaces it)" : "");
        free(made);
        return status;
    }
    /* Beyond a limit on file sizes, write(2) is to fail and not to kill the process. */
    signal(SIGXFSZ, SIG_IGN);
    made->end = lseek(made->fd, 0, SEEK_CUR);
    *file = made;
    return PTO_OK;
}

const char *row_file_path(const row_file_t *file) { return file->path; }

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
    pto_status_t status = failed(err, file->path, file->end > 0 ? "; the lines before are kept" : "");
    if (file->is_own && file->end >= 0 && ftruncate(file->fd, file->end) == 0)
        lseek(file->fd, file->end, SEEK_SET);
    return status;
}

int64_t row_file_place(const row_file_t *file) { return file->end; }

pto_status_t row_file_rewrite(row_file_t *file, int64_t place, const char *text, size_t length,
                              pto_error_t *err) {
    if (pwrite(file->fd, text, length, place) == (ssize_t)length)
        return PTO_OK;
    return failed(err, file->path, "");
}

pto_status_t row_file_close(row_file_t *file, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (!file)
        return PTO_OK;
    /* The name must not be there before what it stands for. */
    if (file->name[0] && fsync(file->fd) != 0)
        status = failed(err, file->path, "");
    if (file->is_own && close(file->fd) != 0 && status == PTO_OK)
        status = failed(err, file->path, "");
    if (status == PTO_OK && file->name[0] && rename(file->path, file->name) != 0)
        status = pto_error_set(err, PTO_ERR_IO, "cannot rename %s to %s: %s", file->path, file->name,
                               strerror(errno));
    free(file);
    return status;
}
