/* Writes the samples file (samples.h), a point's rows by one call, so that it always ends with a whole row.
 * */
#include "samples.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fatal.h"
#include "row_file.h"

enum { ROW_MAX = 256, COMPLETE_MAX = 64 };

struct samples {
    row_file_t *file;
    int64_t complete_at; /* offset of the line `# complete=`; -1: the output, such as a pipe, cannot be
                            rewritten */
};

static const char columns[] = "benchmark,space,level,pair,procs,messages,bytes,run,seconds\n";

/* The message of an interrupted run, formatted in advance, as a signal handler must not format. */
static char farewell[PTO_ERROR_MESSAGE_MAX];

static void interrupted(int number) {
    ssize_t ignored = write(STDERR_FILENO, farewell, strlen(farewell));
    (void)ignored;
    _exit(128 + number);
}

static void catch_interrupts(const samples_t *samples) {
    snprintf(farewell, sizeof farewell,
             "\nportolan-calibrate: interrupted; the finished points are in %.200s\n",
             row_file_path(samples->file));
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupted;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static const char *text_of(const pto_error_t *err) {
    static char text[PTO_ERROR_FILE_MAX + PTO_ERROR_MESSAGE_MAX + 64];
    pto_error_format(err, text, sizeof text);
    return text;
}

samples_t *samples_create(const char *path, bool force) {
    pto_error_t err = {0};
    samples_t *samples = must_allocate(1, sizeof *samples);
    samples->complete_at = -1;
    if (row_file_open(path, force, &samples->file, &err) != PTO_OK) {
        fprintf(stderr, "portolan-calibrate: %s\n", text_of(&err));
        free(samples);
        return NULL;
    }
    catch_interrupts(samples);
    return samples;
}

static void put(samples_t *samples, const char *text, size_t length) {
    pto_error_t err = {0};
    if (row_file_put(samples->file, text, length, &err) != PTO_OK)
        die("%s", text_of(&err));
}

void samples_provenance(samples_t *samples, const char *key, const char *format, ...) {
    char *line = NULL;
    size_t length = 0;
    va_list arguments;
    FILE *file = open_memstream(&line, &length);
    if (file == NULL) {
        die("out of memory for a line of the samples file");
        return; /* never: for the checkers, which do not know die */
    }
    fprintf(file, "# %s=", key);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    if (fclose(file) != 0)
        die("out of memory for a line of the samples file");
    for (char *at = line; *at != '\0'; at++)
        *at = *at == '\n' || *at == '\r' || *at == '\t' ? ' ' : *at;
    while (length > 0 && line[length - 1] == ' ')
        length--;
    line[length++] = '\n'; /* over the NUL, or over a blank that was dropped */
    put(samples, line, length);
    free(line);
}

/* Formats the line `# complete=`, always of the same length, since the end of the run rewrites it. */
static void complete_line(char line[COMPLETE_MAX], const char *value) {
    int length = snprintf(line, COMPLETE_MAX, "# complete=%s", value);
    memset(line + length, ' ', (size_t)(COMPLETE_MAX - 1 - length));
    line[COMPLETE_MAX - 1] = '\n';
}

void samples_begin(samples_t *samples) {
    char line[COMPLETE_MAX];
    complete_line(line, "no, the run was cut short");
    samples->complete_at = row_file_place(samples->file);
    if (samples->complete_at >= 0) /* a pipe's reader sees the run's end by itself */
        put(samples, line, COMPLETE_MAX);
    put(samples, columns, sizeof columns - 1);
}

void samples_point(samples_t *samples, const case_t *bench_case, const char *benchmark, int64_t bytes,
                   int earlier, const double *seconds, int count) {
    char *text = must_allocate((size_t)count, ROW_MAX);
    size_t length = 0;
    for (int run = 0; run < count; run++)
        length +=
            (size_t)snprintf(text + length, ROW_MAX, "%s,%s,%s,%s,%d,%d,%" PRId64 ",%d,%.6e\n", benchmark,
                             bench_case->space, bench_case->level, bench_case->pair, bench_case->procs,
                             bench_case->messages, bytes, earlier + run + 1, seconds[run]);
    put(samples, text, length);
    free(text);
}

/* Rewrites the line `# complete=` at the end of the run, if the file can be rewritten. */
static pto_status_t rewrite_complete(samples_t *samples, int left_out, pto_error_t *err) {
    char value[COMPLETE_MAX - 16] = "yes";
    char line[COMPLETE_MAX];
    if (samples->complete_at < 0)
        return PTO_OK;
    if (left_out > 0)
        snprintf(value, sizeof value, "no, %d points over budget", left_out);
    complete_line(line, value);
    return row_file_rewrite(samples->file, samples->complete_at, line, COMPLETE_MAX, err);
}

bool samples_close(samples_t *samples, int left_out) {
    if (samples == NULL)
        return true;
    pto_error_t err = {0};
    pto_error_t close_err = {0};
    pto_status_t rewritten = rewrite_complete(samples, left_out, &err);
    pto_status_t closed = row_file_close(samples->file, &close_err);
    if (rewritten != PTO_OK || closed != PTO_OK)
        fprintf(stderr, "portolan-calibrate: %s\n", text_of(rewritten != PTO_OK ? &err : &close_err));
    free(samples);
    return rewritten == PTO_OK && closed == PTO_OK;
}
