/* Writes the file of PORTOLAN_REPORT. Rows are buffered, and written when the buffer is full or the process
 * ends. */
#include "call_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "portolan/printable.h"
#include "rows.h"

static struct {
    preload_rows_t rows;
    char *path;
    int rank;
    pid_t process; /* forked children must not write */
    size_t used;
    char text[1 << 12];
} report = {.rows = {.file = -1}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void flush(void) {
    preload_rows_put(&report.rows, report.text, report.used);
    report.used = 0;
}

static void close_file(void) {
    flush();
    int cause = preload_rows_close(&report.rows);
    char path[PTO_ERROR_FILE_MAX];
    if (cause)
        fprintf(stderr, "portolan: cannot write PORTOLAN_REPORT=%s: %s\n",
                pto_escape_text(report.path, path, sizeof path), strerror(cause));
    free(report.path);
    report.path = NULL;
    report.rows.cause = 0;
}

void preload_call_rows_close(void) {
    pthread_mutex_lock(&lock);
    if (report.process == getpid())
        close_file();
    pthread_mutex_unlock(&lock);
}

void preload_call_rows_flush(void) {
    pthread_mutex_lock(&lock);
    flush();
    pthread_mutex_unlock(&lock);
}

void preload_call_rows_open(const char *name, int rank) {
    static const char heading[] =
        "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space,route,predicted_s,library_s\n";
    const char *mark = strstr(name, "%r");
    size_t size = strlen(name) + 16;
    report.rank = rank;
    report.process = getpid();
    report.path = mark || rank == 0 ? malloc(size) : NULL;
    if (!report.path)
        return;
    if (mark)
        snprintf(report.path, size, "%.*s%d%s", (int)(mark - name), name, rank, mark + 2);
    else
        snprintf(report.path, size, "%s", name);
    report.rows.file = open(report.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    report.rows.cause = report.rows.file < 0 ? errno : 0;
    preload_rows_put(&report.rows, heading, sizeof heading - 1);
    if (report.rows.cause)
        close_file();
    else
        atexit(preload_call_rows_close);
}

bool preload_call_rows_are_open(void) { return report.rows.file >= 0; }

/* Formats a time; an unknown one (0) as "". */
static void seconds_text(double seconds, char text[32]) {
    *text = '\0';
    if (seconds > 0)
        snprintf(text, 32, "%.9g", seconds);
}

void preload_call_row(const preload_call_row_t *row) {
    char line[512], id[32] = "", root[16] = "", predicted[32], library[32];
    if (row->communicator)
        snprintf(id, sizeof id, "%016llx", (unsigned long long)row->communicator);
    if (row->root >= 0)
        snprintf(root, sizeof root, "%d", row->root);
    seconds_text(row->predicted_s, predicted);
    seconds_text(row->library_s, library);
    int length = snprintf(line, sizeof line, "%d,%.9f,%.9f,%s,%s,%d,%s,,%lld,%s,%s,%s,%s\n", report.rank,
                          row->begin_s, row->end_s, row->routine, id, row->procs, root, (long long)row->bytes,
                          row->space, row->route, predicted, library);
    if (length < 0 || (size_t)length >= sizeof line)
        return;
    pthread_mutex_lock(&lock);
    if (report.used + (size_t)length > sizeof report.text)
        flush();
    memcpy(report.text + report.used, line, (size_t)length);
    report.used += (size_t)length;
    pthread_mutex_unlock(&lock);
}
