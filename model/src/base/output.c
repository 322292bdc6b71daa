/* Output files. Their bytes go to a temporary file in the same folder, which takes the place of the target
 * when the output is complete (pto_output_close). Devices, pipes and open files are written directly. A
 * growing output (for long measurements) is never removed, so that an interrupted run keeps what it wrote. */
#include "portolan/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"

enum { SUFFIX_MAX = 40, ATTEMPTS_MAX = 100, LINKS_MAX = 40, LINK_TEXT_MAX = 4096, UNFINISHED_MAX = 8 };

/* The paths of the open temporary files, which a signal handler removes. A command has few of them; any
 * beyond this number would be left behind when a signal ends the command. */
static _Atomic(const char *) unfinished[UNFINISHED_MAX];

struct pto_output {
    FILE *stream;
    char *path;   /* as named by the caller, for messages */
    char *target; /* the same file after following symbolic links */
    char *beside; /* the temporary file beside it; NULL: `target` is written directly */
    bool force;   /* replace an existing file */
    bool grows;   /* keep what was written in any case (pto_output_open_growing) */
};

/* Replaces an entry of `unfinished`; NULL is a free entry. */
static void replace_unfinished(const char *old, const char *new) {
    for (int i = 0; i < UNFINISHED_MAX; i++) {
        const char *expected = old;
        if (atomic_compare_exchange_strong(&unfinished[i], &expected, new))
            return;
    }
}

void pto_output_unlink_unfinished(void) {
    for (int i = 0; i < UNFINISHED_MAX; i++) {
        const char *path = atomic_exchange(&unfinished[i], NULL);
        if (path)
            unlink(path);
    }
}

static pto_status_t io_error(pto_error_t *err, const char *path, int cause) {
    return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot write: %s", strerror(cause));
}

static pto_status_t exists_error(pto_error_t *err, const char *path) {
    return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "exists already (--force replaces it)");
}

/* Links below /proc represent open files, as /dev/stdout does; their link text is meaningless. */
static bool is_open_file(const char *path) { return strncmp(path, "/proc/", strlen("/proc/")) == 0; }

/* Replaces `*path` by the target of a symbolic link, which need not exist. `named` is for messages. */
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

/* Creates the temporary file. Signals are blocked, since a signal between creating the file and recording it
 * would leave the file behind. Returns a descriptor, or -1 with errno. */
static int create_unfinished(const pto_output_t *output) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int file = open(output->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), cause = errno;
    if (file >= 0 && !output->grows)
        replace_unfinished(NULL, output->beside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    return file;
}

/* Create a file in the folder of `target`, with the permissions of the old one, or those of any new file
 * (mkstemp would make it private). Returns its descriptor, or -1. */
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
        file = create_unfinished(output);
        if (file < 0 && errno != EEXIST)
            break;
    }
    if (file >= 0 && old)
        (void)fchmod(file, old->st_mode & 0777); /* a file system without permissions is not an error */
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
    bool is_regular = !exists || (S_ISREG(old.st_mode) && !is_open_file(output->target));
    if (is_regular && exists && !output->force)
        return exists_error(err, output->path);
    int file = -1;
    if (!is_regular)
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

/* Frees an output. Removes its temporary file unless it has been renamed or grows. */
static void release(pto_output_t *output) {
    if (output->beside && !output->grows) {
        unlink(output->beside);
        replace_unfinished(output->beside, NULL);
    }
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

/* Makes the temporary file the target. Without `force`, link() fails if the target exists; a check in advance
 * could not guarantee that. On file systems without links, a check must do. */
static pto_status_t put_in_place(const pto_output_t *output, pto_error_t *err) {
    if (!output->force && link(output->beside, output->target) == 0)
        return PTO_OK; /* the temporary name is removed with the output */
    if (!output->force && (errno == EEXIST || access(output->target, F_OK) == 0))
        return exists_error(err, output->path);
    return rename(output->beside, output->target) == 0 ? PTO_OK : io_error(err, output->path, errno);
}

pto_status_t pto_output_close(pto_output_t *output, bool keep, pto_error_t *err) {
    if (!output)
        return PTO_OK;
    int cause =
        fflush(output->stream) != 0 ? errno : 0; /* retries an earlier failed write, and reports the cause */
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
