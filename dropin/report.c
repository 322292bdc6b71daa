/* Reports of the drop-in: a row for each call in a file (PORTOLAN_REPORT), and a summary of process 0 at
 * MPI_Finalize (PORTOLAN_EXPLAIN) that compares measured with predicted times. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "call_rows.h"
#include "dropin.h"
#include "environment.h"
#include "portolan/printable.h"

bool drop_reports;

/* A row of the summary: calls of one routine with the same size, number of processes and route. */
typedef struct {
    const char *routine;
    const char *route; /* its name, or why there is none */
    int64_t bytes;
    int64_t calls;
    double seconds;
    double predicted_s; /* of one call; 0: unknown */
    double library_s;
    int procs;
    bool has_route;
} row_t;

enum { ROWS_MAX = 512 };

static row_t row[ROWS_MAX];
static int row_count;
static int64_t calls_lost;                               /* for which no row was left */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the variables above */

void drop_report_begin(void) {
    const char *name = preload_text("PORTOLAN_REPORT");
    if (name)
        preload_call_rows_open(name, drop.rank);
    drop_reports = drop.prints_summary || preload_call_rows_are_open();
}

/* Returns the bytes that this process contributes. */
static int64_t bytes_of(const drop_call_t *call, int procs, int rank) {
    bool in_place = call->in == MPI_IN_PLACE;
    MPI_Datatype type = in_place ? call->out_type : call->in_type;
    const drop_counts_t *counts = in_place ? &call->out_counts : &call->in_counts;
    int size = 0;
    if (type == MPI_DATATYPE_NULL)
        return 0;
    MPI_Type_size(type, &size);
    if (in_place && call->collective == PTO_COLLECTIVE_ALLGATHERV)
        return drop_peer_count(counts, rank) * size;
    if (call->collective == PTO_COLLECTIVE_REDUCE_SCATTER && call->out_counts.count)
        return drop_total_count(&call->out_counts, procs) * size;
    if (call->collective == PTO_COLLECTIVE_ALLTOALLV)
        return drop_total_count(counts, procs) * size;
    int64_t bytes = (in_place ? call->out_count : call->in_count) * size;
    bool by_block =
        call->collective == PTO_COLLECTIVE_ALLTOALL || call->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    return by_block ? bytes * procs : bytes;
}

static row_t *row_for(const row_t *like) {
    for (int i = 0; i < row_count; i++)
        if (row[i].routine == like->routine && row[i].route == like->route && row[i].procs == like->procs &&
            row[i].bytes == like->bytes)
            return &row[i];
    if (row_count == ROWS_MAX)
        return NULL;
    row[row_count] = *like;
    return &row[row_count++];
}

/* Returns what executed the call: on trial, MPI may do so instead of the route. */
static const char *route_name(const drop_task_t *task) {
    return task->turn == DROP_TURN_MPI ? "mpi" : task->route->name;
}

static double predicted_s(const drop_task_t *task) {
    return task->turn == DROP_TURN_MPI ? task->route->library_s : task->route->predicted_s;
}

static void write_row(const drop_task_t *task, int64_t bytes, const row_t *like, double ended_s) {
    const bool on_gpus = task->route && !task->route->key.in_host;
    preload_call_row(&(preload_call_row_t){.begin_s = task->began_s - drop.began_s,
                                           .end_s = ended_s - drop.began_s,
                                           .routine = task->call.routine,
                                           .communicator = task->comm ? task->comm->id : 0,
                                           .procs = like->procs,
                                           .root = task->call.root,
                                           .bytes = bytes,
                                           .space = on_gpus ? "gpu" : "cpu",
                                           .route = task->route ? route_name(task) : "mpi",
                                           .predicted_s = like->predicted_s,
                                           .library_s = like->library_s});
}

void drop_report(const drop_task_t *task, double ended_s) {
    const drop_route_t *route = task->route;
    int procs = task->comm && task->comm->size > 0 ? task->comm->size : 1;
    bool is_inter = task->comm && task->comm->size == 0;
    int64_t bytes = is_inter ? 0 : bytes_of(&task->call, procs, task->comm ? task->comm->rank : 0);
    row_t like = {.routine = task->call.routine,
                  .route = route ? route_name(task) : task->why_not,
                  .procs = procs,
                  .bytes = bytes,
                  .predicted_s = route ? predicted_s(task) : 0,
                  .library_s = route ? route->library_s : 0,
                  .has_route = route != NULL};
    pthread_mutex_lock(&lock);
    row_t *found = drop.prints_summary ? row_for(&like) : NULL;
    if (found) {
        found->calls++;
        found->seconds += ended_s - task->began_s;
    }
    calls_lost += drop.prints_summary && !found;
    pthread_mutex_unlock(&lock);
    if (preload_call_rows_are_open())
        write_row(task, bytes, &like, ended_s);
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

static void print_gain(void) {
    double gained_s = 0, by_library_s = 0;
    int64_t calls = 0, unpriced = 0;
    for (int i = 0; i < row_count; i++) {
        const row_t *r = &row[i];
        bool is_other = r->has_route && strcmp(r->route, "mpi") != 0;
        bool is_priced = is_other && r->predicted_s > 0 && r->library_s > 0;
        gained_s += is_priced ? (double)r->calls * (r->library_s - r->predicted_s) : 0;
        by_library_s += is_priced ? (double)r->calls * r->library_s : 0;
        calls += is_priced ? r->calls : 0;
        unpriced += is_other && !is_priced ? r->calls : 0;
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

/* Prints the preloaded libraries, which may include other tools. */
static void print_preloads(void) {
    const char *libraries = preload_text("LD_PRELOAD");
    char escaped[1024];
    if (libraries)
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
        if (r->has_route)
            fprintf(stderr, "  %s\n", r->route);
        else
            fprintf(stderr, "  mpi (%s)\n", r->route);
    }
    if (calls_lost > 0)
        fprintf(stderr, "# and %lld calls of other kinds\n", (long long)calls_lost);
    print_gain();
    print_preloads();
}

void drop_report_end(void) {
    if (drop.prints_summary && drop.rank == 0)
        explain();
    preload_call_rows_close();
    drop_reports = false;
}
