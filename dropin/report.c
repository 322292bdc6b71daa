/* What was done with each call: a line for each (PORTOLAN_REPORT), and a summary (PORTOLAN_EXPLAIN). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dropin.h"
#include "portolan/printable.h"
#include "rows.h"

bool drop_reports;

/* Calls of one kind. */
typedef struct {
    const char *routine;
    const char *way; /* the route, or why there is none */
    int64_t bytes;
    int64_t calls;
    double seconds;
    double predicted_s; /* of one call; 0: unknown */
    double library_s;
    int procs;
    bool taken;
} row_t;

enum { ROWS_MAX = 512 };

static row_t row[ROWS_MAX];
static int row_count;
static int64_t calls_lost;                               /* of kinds without a row */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all of these, and of the report */

static struct {
    preload_rows_t rows;
    char *path;
    size_t used;
    char text[1 << 12];
} report = {.rows = {.file = -1}};

static void flush_rows(void) {
    preload_rows_put(&report.rows, report.text, report.used);
    report.used = 0;
}

static void close_report(void) {
    flush_rows();
    int cause = preload_rows_close(&report.rows);
    char path[PTO_ERROR_FILE_MAX];
    if (cause)
        fprintf(stderr, "portolan: cannot write PORTOLAN_REPORT=%s: %s\n",
                pto_escape_text(report.path, path, sizeof path), strerror(cause));
    free(report.path);
    report.path = NULL;
    report.rows.cause = 0;
}

PTO_PRINTF_LIKE(1, 2)
static void put_row(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line)
        return;
    if (report.used + (size_t)length > sizeof report.text)
        flush_rows();
    memcpy(report.text + report.used, line, (size_t)length);
    report.used += (size_t)length;
}

/* Of a program that ends without MPI_Finalize, too. */
static void end_report(void) {
    pthread_mutex_lock(&lock);
    close_report();
    pthread_mutex_unlock(&lock);
}

/* FILE is process 0's; with %r in its name, every process has one, with its rank there. */
static void open_report(const char *name) {
    const char *mark = strstr(name, "%r");
    size_t size = strlen(name) + 16;
    report.path = mark || drop.rank == 0 ? malloc(size) : NULL;
    if (!report.path)
        return;
    if (mark)
        snprintf(report.path, size, "%.*s%d%s", (int)(mark - name), name, drop.rank, mark + 2);
    else
        snprintf(report.path, size, "%s", name);
    report.rows.file = open(report.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    report.rows.cause = report.rows.file < 0 ? errno : 0;
    put_row(
        "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space,route,predicted_s,library_s\n");
    flush_rows();
    if (report.rows.cause)
        close_report();
    else
        atexit(end_report);
}

void drop_report_begin(void) {
    const char *name = getenv("PORTOLAN_REPORT");
    if (name && *name)
        open_report(name);
    drop_reports = drop.explains || report.rows.file >= 0;
}

/* What this process contributes. */
static int64_t bytes_of(const drop_call_t *call, int procs, int rank) {
    bool in_place = call->in == MPI_IN_PLACE;
    MPI_Datatype type = in_place ? call->out_type : call->in_type;
    const drop_rows_t *rows = in_place ? &call->out_rows : &call->in_rows;
    int size = 0;
    if (type == MPI_DATATYPE_NULL)
        return 0;
    MPI_Type_size(type, &size);
    if (in_place && call->collective == PTO_COLLECTIVE_ALLGATHERV)
        return drop_row_count(rows, rank) * size;
    if (call->collective != PTO_COLLECTIVE_ALLTOALLV) {
        int64_t bytes = (in_place ? call->out_count : call->in_count) * size;
        bool by_block =
            call->collective == PTO_COLLECTIVE_ALLTOALL || call->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
        return by_block ? bytes * procs : bytes;
    }
    return drop_rows_count(rows, procs) * size;
}

static row_t *row_for(const row_t *like) {
    for (int i = 0; i < row_count; i++)
        if (row[i].routine == like->routine && row[i].way == like->way && row[i].procs == like->procs &&
            row[i].bytes == like->bytes)
            return &row[i];
    if (row_count == ROWS_MAX)
        return NULL;
    row[row_count] = *like;
    return &row[row_count++];
}

/* Empty: unknown. */
static void seconds_text(double seconds, char text[32]) {
    snprintf(text, 32, seconds > 0 ? "%.9g" : "", seconds);
}

/* The way that the call has gone. */
static const char *way_of(const drop_taken_t *taken) {
    return taken->turn == DROP_TURN_MPI ? "mpi" : taken->route->name;
}

static double predicted_s(const drop_taken_t *taken) {
    return taken->turn == DROP_TURN_MPI ? taken->route->library_s : taken->route->predicted_s;
}

static void write_line(const drop_taken_t *taken, int64_t bytes, const row_t *like, double ended_s) {
    char id[32] = "", root[16] = "", predicted[32], library[32];
    bool on_gpus = taken->route && !taken->route->cell.in_host;
    if (taken->comm)
        snprintf(id, sizeof id, "%016llx", (unsigned long long)taken->comm->id);
    if (taken->given.root >= 0)
        snprintf(root, sizeof root, "%d", taken->given.root);
    seconds_text(like->predicted_s, predicted);
    seconds_text(like->library_s, library);
    put_row("%d,%.9f,%.9f,%s,%s,%d,%s,,%lld,%s,%s,%s,%s\n", drop.rank, taken->began_s - drop.began_s,
            ended_s - drop.began_s, taken->given.routine, id, like->procs, root, (long long)bytes,
            on_gpus ? "gpu" : "cpu", taken->route ? way_of(taken) : "mpi", predicted, library);
}

void drop_report(const drop_taken_t *taken, double ended_s) {
    const drop_route_t *route = taken->route;
    int procs = taken->comm && taken->comm->size > 0 ? taken->comm->size : 1;
    bool is_inter = taken->comm && taken->comm->size == 0;
    int64_t bytes = is_inter ? 0 : bytes_of(&taken->given, procs, taken->comm ? taken->comm->rank : 0);
    row_t like = {.routine = taken->given.routine,
                  .way = route ? way_of(taken) : taken->why,
                  .procs = procs,
                  .bytes = bytes,
                  .predicted_s = route ? predicted_s(taken) : 0,
                  .library_s = route ? route->library_s : 0,
                  .taken = route != NULL};
    pthread_mutex_lock(&lock);
    row_t *found = drop.explains ? row_for(&like) : NULL;
    if (found) {
        found->calls++;
        found->seconds += ended_s - taken->began_s;
    }
    calls_lost += drop.explains && !found;
    if (report.rows.file >= 0)
        write_line(taken, bytes, &like, ended_s);
    pthread_mutex_unlock(&lock);
}

static void print_us(double seconds) {
    if (seconds > 0)
        fprintf(stderr, " %10.2f", 1e6 * seconds);
    else
        fprintf(stderr, " %10s", "-");
}

static int by_time(const void *one, const void *other) {
    const row_t *a = one, *b = other;
    return (a->seconds < b->seconds) - (a->seconds > b->seconds);
}

/* What the routes gain, if the predictions are right. */
static void print_gain(void) {
    double gained_s = 0, by_library_s = 0;
    int64_t calls = 0, unpriced = 0;
    for (int i = 0; i < row_count; i++) {
        const row_t *r = &row[i];
        bool is_other = r->taken && strcmp(r->way, "mpi") != 0;
        bool gains = is_other && r->predicted_s > 0 && r->library_s > 0;
        gained_s += gains ? (double)r->calls * (r->library_s - r->predicted_s) : 0;
        by_library_s += gains ? (double)r->calls * r->library_s : 0;
        calls += gains ? r->calls : 0;
        unpriced += is_other && !gains ? r->calls : 0;
    }
    if (calls > 0)
        fprintf(stderr, "# %lld calls by other routes than MPI's, predicted to save %.2f us of %.2f\n",
                (long long)calls, 1e6 * gained_s, 1e6 * by_library_s);
    if (unpriced > 0)
        fprintf(stderr, "# %lld calls by other routes than MPI's, without a predicted time of MPI's\n",
                (long long)unpriced);
    if (calls + unpriced == 0)
        fputs("# no call by another route than MPI's\n", stderr);
}

/* Other libraries in front of MPI, in their order. */
static void print_preloads(void) {
    const char *libraries = getenv("LD_PRELOAD");
    char escaped[1024];
    if (libraries && *libraries)
        fprintf(stderr, "# LD_PRELOAD=%s\n", pto_escape_text(libraries, escaped, sizeof escaped));
}

static void explain(void) {
    fprintf(stderr, "# portolan: collectives of process 0, times in us\n");
    fprintf(stderr, "%-24s %5s %10s %7s %10s %10s %10s  %s\n", "Routine", "Procs", "Bytes", "Calls", "Mean",
            "Predicted", "MPI", "Route");
    qsort(row, (size_t)row_count, sizeof *row, by_time);
    for (int i = 0; i < row_count; i++) {
        const row_t *r = &row[i];
        fprintf(stderr, "%-24s %5d %10lld %7lld %10.2f", r->routine, r->procs, (long long)r->bytes,
                (long long)r->calls, 1e6 * r->seconds / (double)r->calls);
        print_us(r->predicted_s);
        print_us(r->library_s);
        fprintf(stderr, "  %s%s%s\n", r->taken ? r->way : "mpi (", r->taken ? "" : r->way,
                r->taken ? "" : ")");
    }
    if (calls_lost > 0)
        fprintf(stderr, "# and %lld calls of other kinds\n", (long long)calls_lost);
    print_gain();
    print_preloads();
}

void drop_report_end(void) {
    if (drop.explains && drop.rank == 0)
        explain();
    end_report();
    drop_reports = false;
}
