/* Rows go out by write(2), a point at a time, so that a file of an interrupted run ends with a whole row. */
#include "samples.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "check.h"

enum { ROW_MAX = 256, COMPLETE_MAX = 64 };

struct samples {
    int fd;
    const char *path;
    off_t complete_at; /* where the line "complete" starts; -1: not in a file that can be rewritten */
};

static const char columns[] = "benchmark,space,level,pair,procs,messages,bytes,run,seconds\n";

static void interrupted(int number) {
    static const char message[] = "\nportolan-calibrate: interrupted; the finished points are kept\n";
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored;
    _exit(128 + number);
}

samples_t *samples_create(const char *path, bool force) {
    int fd = STDOUT_FILENO;
    if (strcmp(path, "-") != 0) {
        fd = open(path, O_WRONLY | O_CREAT | (force ? O_TRUNC : O_EXCL), 0666);
        if (fd < 0) {
            fprintf(stderr, "portolan-calibrate: %s: %s%s\n", path, strerror(errno),
                    errno == EEXIST ? " (--force replaces it)" : "");
            return NULL;
        }
    }
    samples_t *samples = must_allocate(1, sizeof *samples);
    samples->fd = fd;
    samples->path = path;
    samples->complete_at = -1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupted;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return samples;
}

static void put(samples_t *samples, const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(samples->fd, text, length);
        if (written < 0 && errno != EINTR) {
            die("%s: %s", samples->path, strerror(errno));
        }
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
}

void samples_provenance(samples_t *samples, const char *key, const char *value) {
    size_t size = strlen(key) + strlen(value) + 8;
    char *line = must_allocate(size, 1);
    int length = snprintf(line, size, "# %s=%s", key, value);
    for (char *at = line; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\r' ? ' ' : *at;
    }
    while (length > 0 && line[length - 1] == ' ') {
        length--;
    }
    line[length++] = '\n';
    put(samples, line, (size_t)length);
    free(line);
}

/* Of one length whatever it says, so that the end of the run can rewrite it. */
static void complete_line(char line[COMPLETE_MAX], const char *what) {
    int length = snprintf(line, COMPLETE_MAX, "# complete=%s", what);
    memset(line + length, ' ', (size_t)(COMPLETE_MAX - 1 - length));
    line[COMPLETE_MAX - 1] = '\n';
}

void samples_begin(samples_t *samples) {
    char line[COMPLETE_MAX];
    complete_line(line, "no, the run was cut short");
    off_t here = lseek(samples->fd, 0, SEEK_CUR);
    if (here >= 0) { /* a pipe's reader sees the run's end by itself */
        samples->complete_at = here;
        put(samples, line, COMPLETE_MAX);
    }
    put(samples, columns, sizeof columns - 1);
}

void samples_point(samples_t *samples, const case_t *what, int64_t bytes, const double *seconds, int count) {
    char *text = must_allocate((size_t)count, ROW_MAX);
    size_t length = 0;
    for (int run = 0; run < count; run++) {
        length += (size_t)snprintf(text + length, ROW_MAX, "%s,%s,%s,%s,%d,%d,%" PRId64 ",%d,%.6e\n",
                                   what->benchmark, what->space, what->level, what->pair, what->procs,
                                   what->messages, bytes, run + 1, seconds[run]);
    }
    put(samples, text, length);
    free(text);
}

bool samples_close(samples_t *samples, int left_out) {
    if (samples == NULL) {
        return true;
    }
    bool written = true;
    if (samples->complete_at >= 0) {
        char what[COMPLETE_MAX - 16];
        char line[COMPLETE_MAX];
        snprintf(what, sizeof what, "yes");
        if (left_out > 0) {
            snprintf(what, sizeof what, "no, %d points over budget", left_out);
        }
        complete_line(line, what);
        written = pwrite(samples->fd, line, COMPLETE_MAX, samples->complete_at) == COMPLETE_MAX;
    }
    if (samples->fd != STDOUT_FILENO) {
        written = close(samples->fd) == 0 && written;
    }
    if (!written) {
        fprintf(stderr, "portolan-calibrate: %s: %s\n", samples->path, strerror(errno));
    }
    free(samples);
    return written;
}
