/* Files under way: where their bytes go until they are whole. */
#include "portolan/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"

enum { SUFFIX_MAX = 40, ATTEMPTS_MAX = 100, LINKS_MAX = 40, LINK_TEXT_MAX = 4096 };

struct pto_output {
    FILE *stream;
    char *path;   /* as it was named, for messages */
    char *target; /* what links lead to */
    char *beside; /* where the bytes are until the end; NULL: in `target` itself */
    bool force;
    bool grows; /* what was written is kept, whatever happens */
};

static pto_status_t io_error(pto_error_t *err, const char *path, int cause) {
    return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot write: %s", strerror(cause));
}

static pto_status_t exists_error(pto_error_t *err, const char *path) {
    return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "exists already (--force replaces it)");
}

/* The links below /proc stand for open files, as /dev/stdout does: where they seem to lead means nothing. */
static bool is_open_file(const char *path) { return strncmp(path, "/proc/", strlen("/proc/")) == 0; }

/* Replace `*path` by what a symbolic link leads to, which need not exist. */
static pto_status_t follow_links(char **path, const char *named, pto_error_t *err) {
    char text[LINK_TEXT_MAX];
    for (int links = 0; !is_open_file(*path); links++) {
        ssize_t length = readlink(*path, text, sizeof text - 1);
        if (length < 0)
            return PTO_OK;
        if (links == LINKS_MAX)
            return io_error(err, named, ELOOP);
        text[length] = '\0';
        char *next = pto_path_beside(*path, text);
        if (!next)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a file's name");
        free(*path);
        *path = next;
    }
    return PTO_OK;
}

/* A new file in the folder of `target`, with the rights of the old one, or those that any new file gets
 * (mkstemp would make it private). Returns its descriptor, -1 where there is none. */
static int open_beside(pto_output_t *output, const struct stat *old) {
    size_t size = strlen(output->target) + SUFFIX_MAX;
    int file = -1;
    output->beside = malloc(size);
    if (!output->beside) {
        errno = ENOMEM;
        return -1;
    }
    for (int attempt = 0; file < 0 && attempt < ATTEMPTS_MAX; attempt++) {
        snprintf(output->beside, size, "%s.part-%ld-%d", output->target, (long)getpid(), attempt);
        file = open(output->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST)
            break;
    }
    if (file >= 0 && old)
        (void)fchmod(file, old->st_mode & 0777); /* a file system without rights is no reason to fail */
    if (file < 0) {
        int cause = errno;
        free(output->beside);
        output->beside = NULL;
        errno = cause;
    }
    return file;
}

static pto_status_t open_stream(pto_output_t *output, pto_error_t *err) {
    struct stat old;
    pto_status_t status = follow_links(&output->target, output->path, err);
    if (status != PTO_OK)
        return status;
    bool exists = stat(output->target, &old) == 0;
    bool whole = !exists || (S_ISREG(old.st_mode) && !is_open_file(output->target));
    if (whole && exists && !output->force)
        return exists_error(err, output->path);
    int file = -1;
    if (!whole)
        file = open(output->target, O_WRONLY | O_APPEND | O_CLOEXEC);
    else if (output->grows && !output->force)
        file = open(output->target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    else
        file = open_beside(output, exists ? &old : NULL);
    output->stream = file >= 0 ? fdopen(file, "w") : NULL;
    if (output->stream)
        return PTO_OK;
    status = io_error(err, output->path, errno);
    if (file >= 0)
        close(file);
    return status;
}

static void release(pto_output_t *output) {
    if (output->beside && !output->grows)
        unlink(output->beside);
    free(output->beside);
    free(output->target);
    free(output->path);
    free(output);
}

static pto_status_t open_output(const char *path, bool force, bool grows, pto_output_t **output,
                                pto_error_t *err) {
    pto_output_t *made = calloc(1, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a file");
    made->path = pto_text_copy(path);
    made->target = pto_text_copy(path);
    made->force = force;
    made->grows = grows;
    pto_status_t status = made->path && made->target
                              ? open_stream(made, err)
                              : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a file's name");
    if (status != PTO_OK) {
        release(made);
        return status;
    }
    *output = made;
    return PTO_OK;
}

pto_status_t pto_output_open(const char *path, bool force, pto_output_t **output, pto_error_t *err) {
    return open_output(path, force, false, output, err);
}

pto_status_t pto_output_open_growing(const char *path, bool force, pto_output_t **output, pto_error_t *err) {
    return open_output(path, force, true, output, err);
}

const char *pto_output_place(const pto_output_t *output) {
    return output->beside ? output->beside : output->target;
}

FILE *pto_output_stream(pto_output_t *output) { return output->stream; }

/* Without `force` link() makes the name only where there is none, which no check beforehand can promise; file
 * systems without links get the check. */
static pto_status_t put_in_place(const pto_output_t *output, pto_error_t *err) {
    if (!output->force && link(output->beside, output->target) == 0)
        return PTO_OK; /* its other name goes with the output */
    if (!output->force && (errno == EEXIST || access(output->target, F_OK) == 0))
        return exists_error(err, output->path);
    return rename(output->beside, output->target) == 0 ? PTO_OK : io_error(err, output->path, errno);
}

pto_status_t pto_output_close(pto_output_t *output, bool keep, pto_error_t *err) {
    if (!output)
        return PTO_OK;
    int cause = fflush(output->stream) != 0 ? errno : 0; /* tries again what failed before, and says why */
    if (!cause && ferror(output->stream))
        cause = EIO;
    if (!cause && keep && output->beside && fsync(fileno(output->stream)) != 0)
        cause = errno;
    if (fclose(output->stream) != 0 && !cause)
        cause = errno;
    pto_status_t status = PTO_OK;
    if (keep && cause)
        status = io_error(err, output->path, cause);
    else if (keep && output->beside)
        status = put_in_place(output, err);
    release(output);
    return status;
}
