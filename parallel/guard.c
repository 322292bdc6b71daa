/* The guard (guard.h). A thread of each process wakes several times per time-out, counts a heartbeat in
 * memory that the node's processes share, and checks the heartbeats of the others and the progress of its own
 * process.
 *
 * Time is measured as the sum of the thread's sleeps, and a sleep that took much too long counts as a short
 * one: a job that was suspended as a whole and resumed must not be taken for one that hangs. */
#include "guard.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "mpi_team.h"

enum {
    TEXT_MAX = 192,
    HOST_MAX = 64,
    REPORT_MAX = 4096,
    NAMED_MAX = 4,
    GRACE_S = 5,
    OTHER_NODES_DELAY_S = 3,
    LATE_SLEEPS = 3
};

/* A silent process, one without heartbeats, is probably the cause if others make no progress. So it is
 * reported sooner: after this share of the time-out, but at least silence_min_s, as a busy machine may not
 * run a thread for a second. */
static const double silence_share = 0.75;
static const double silence_min_s = 2.0;
static const double sleep_max_s = 1.0;
/* The minimum limit of MPI_Init: the processes of a job may start at very different times. */
static const double start_min_s = 30.0;
/* If there are several nodes, one without a silent process waits this much longer, so that a node with one
 * reports it. */
static const double no_culprit_delay_s = 2.0;

/* A process of this node, in shared memory. `doing` may be read while it is written: it is for people. */
typedef struct {
    atomic_bool present;
    atomic_uint_least64_t heartbeats;
    atomic_int rank;
    atomic_long pid;
    char doing[TEXT_MAX];
} peer_t;

/* The memory that the processes of a node share. */
typedef struct {
    atomic_bool ending;              /* a process of this node is reporting the reason and ending the job */
    atomic_uint_least64_t last_said; /* hash of guard_says's last text */
    peer_t peer[];
} table_t;

/* What the thread remembers of a peer. */
typedef struct {
    uint64_t heartbeats;
    double silent_s;
} watched_t;

static struct {
    const char *program;
    double timeout_s;
    double sleep_s; /* of the thread */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running;
    bool stop;            /* this and the following members need the lock, except atomic ones */
    char about[TEXT_MAX]; /* of guard_about; only the main thread uses it */
    char doing[TEXT_MAX]; /* `about`, and the current step */
    char host[HOST_MAX];
    int rank;        /* -1: not known yet */
    int node_count;  /* 0: not known yet */
    bool first_node; /* this node has rank 0 */
    table_t *table;  /* NULL: the process is watched by itself only */
    pto_shared_handle_t handle;
    watched_t *watched; /* by peer */
    int peer_count;
    int own;                        /* this process's index among the peers */
    atomic_bool in_mpi;             /* MPI_Abort may be called */
    atomic_uint_least64_t progress; /* number of guard_tick */
    _Atomic double limit_s;         /* of the current step */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .rank = -1};

/* Appends that this process makes no progress. */
static void append_own(pto_line_t *text, double stuck_s) {
    pto_line_add(text, "%s: ", guard.program);
    if (guard.rank >= 0)
        pto_line_add(text, "MPI rank %d on %s", guard.rank, guard.host);
    else
        pto_line_add(text, "process %ld", (long)getpid());
    pto_line_add(text, ": no progress for %.3g s in: %s; ending the job\n", stuck_s, guard.doing);
}

static bool is_silent(int peer) {
    return atomic_load(&guard.table->peer[peer].present) &&
           guard.watched[peer].silent_s > LATE_SLEEPS * guard.sleep_s;
}

static bool does_something_else(int peer) {
    const peer_t *other = &guard.table->peer[peer];
    return atomic_load(&other->present) && strncmp(other->doing, guard.doing, TEXT_MAX) != 0;
}

/* Appends the other processes of this node that `picks` selects. Returns how many. */
static int append_others(pto_line_t *text, bool (*picks)(int peer), const char *what) {
    int count = 0;
    for (int i = 0; i < guard.peer_count; i++) {
        const peer_t *other = &guard.table->peer[i];
        if (i == guard.own || !picks(i))
            continue;
        count++;
        if (count > NAMED_MAX)
            continue;
        pto_line_add(text, "%s: MPI rank %d (process %ld on %s) %s: %.*s\n", guard.program,
                     atomic_load(&other->rank), atomic_load(&other->pid), guard.host, what, TEXT_MAX - 1,
                     other->doing);
    }
    if (count > NAMED_MAX)
        pto_line_add(text, "%s: and so are %d more on %s\n", guard.program, count - NAMED_MAX, guard.host);
    return count;
}

static void report(double stuck_s, bool stuck) {
    char room[REPORT_MAX] = "";
    pto_line_t text = {.text = room, .size = sizeof room};
    int silent = 0;
    if (stuck)
        append_own(&text, stuck_s);
    if (guard.table)
        silent = append_others(&text, is_silent,
                               "shows no sign of life (stopped?): ending the job; its last step");
    if (guard.table && silent == 0)
        append_others(&text, does_something_else, "is elsewhere");
    ssize_t ignored = write(STDERR_FILENO, text.text, text.used);
    (void)ignored;
}

_Noreturn void guard_abort(int status) {
    /* The main thread may hold the MPI library's locks: the alarm's default ends the process then. */
    alarm(GRACE_S);
    if (atomic_load(&guard.in_mpi))
        MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
}

/* One process of a node reports and ends the job. The others wait, and do the same if it fails. */
static void end_job(double stuck_s, bool stuck) {
    if (guard.table && atomic_exchange(&guard.table->ending, true))
        sleep(GRACE_S);
    report(stuck_s, stuck);
    guard_abort(1);
}

/* Releases the lock and sleeps; the lock is held again after it. Returns the seconds to count. */
static double sleep_unlocked(double *woke_s) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    long ns = until.tv_nsec + (long)(guard.sleep_s * 1e9);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(&guard.wake, &guard.lock, &until);
    double before_s = *woke_s;
    *woke_s = pto_now_s();
    return fmin(*woke_s - before_s, 2 * guard.sleep_s);
}

/* Counts a heartbeat, and shows the other processes the current step. */
static void publish(void) {
    peer_t *own = &guard.table->peer[guard.own];
    memcpy(own->doing, guard.doing, TEXT_MAX);
    atomic_fetch_add(&own->heartbeats, 1);
}

/* Returns the maximum time that another process of this node has been silent. */
static double check_heartbeats(double slept_s) {
    double max_s = 0;
    for (int i = 0; i < guard.peer_count; i++) {
        watched_t *watched = &guard.watched[i];
        uint64_t heartbeats = atomic_load(&guard.table->peer[i].heartbeats);
        bool silent =
            atomic_load(&guard.table->peer[i].present) && heartbeats == watched->heartbeats && i != guard.own;
        watched->silent_s = silent ? watched->silent_s + slept_s : 0;
        watched->heartbeats = heartbeats;
        max_s = fmax(max_s, watched->silent_s);
    }
    return max_s;
}

static void *watch(void *ignored) {
    uint64_t progress = 0;
    double stuck_s = 0, woke_s = pto_now_s();
    pthread_mutex_lock(&guard.lock);
    while (!guard.stop) {
        double slept_s = sleep_unlocked(&woke_s), silent_s = 0;
        uint64_t now = atomic_load(&guard.progress);
        stuck_s = now == progress ? stuck_s + slept_s : 0;
        progress = now;
        if (guard.table) {
            publish();
            silent_s = check_heartbeats(slept_s);
        }
        double limit_s = atomic_load(&guard.limit_s);
        if (guard.node_count > 1 && silent_s == 0)
            limit_s += no_culprit_delay_s;
        bool stuck = stuck_s >= limit_s;
        if (!guard.stop && (stuck || silent_s >= fmax(silence_share * guard.timeout_s, silence_min_s)))
            end_job(stuck_s, stuck);
    }
    pthread_mutex_unlock(&guard.lock);
    return ignored;
}

void guard_begin(const char *program, double timeout_s) {
    guard.program = program;
    guard.timeout_s = timeout_s;
    guard.sleep_s = fmin(timeout_s / 8, sleep_max_s);
    gethostname(guard.host, sizeof guard.host - 1);
    guard_step(fmax(timeout_s, start_min_s), "MPI_Init");
    /* Signals are for the main thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    guard.running = pthread_create(&guard.thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* NULL: there is no shared memory; the node's processes then do not watch each other. */
static table_t *create_table(MPI_Comm node, int peer_count) {
    void *memory = NULL;
    size_t bytes = sizeof(table_t) + (size_t)peer_count * sizeof(peer_t);
    pto_mpi_share(node, bytes, &memory, &guard.handle, NULL);
    return memory;
}

static void join_table(table_t *table, int rank, int own, int peer_count) {
    watched_t *watched = calloc((size_t)peer_count, sizeof *watched);
    if (!table || !watched) {
        free(watched);
        return;
    }
    atomic_store(&table->peer[own].rank, rank);
    atomic_store(&table->peer[own].pid, (long)getpid());
    pthread_mutex_lock(&guard.lock);
    guard.table = table;
    guard.watched = watched;
    guard.own = own;
    guard.peer_count = peer_count;
    publish();
    pthread_mutex_unlock(&guard.lock);
    atomic_store(&table->peer[own].present, guard.running);
}

void guard_meet(MPI_Comm comm) {
    MPI_Comm node = MPI_COMM_NULL;
    int rank = 0, own = 0, peer_count = 0, nodes = 0;
    atomic_store(&guard.in_mpi, true);
    guard_step(0, "meeting the other processes");
    MPI_Comm_rank(comm, &rank);
    pthread_mutex_lock(&guard.lock);
    guard.rank = rank;
    pthread_mutex_unlock(&guard.lock);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &own);
    MPI_Comm_size(node, &peer_count);
    int first_rank = rank, leads = own == 0;
    MPI_Bcast(&first_rank, 1, MPI_INT, 0, node);
    MPI_Allreduce(&leads, &nodes, 1, MPI_INT, MPI_SUM, comm);
    table_t *table = create_table(node, peer_count);
    join_table(table, rank, own, peer_count);
    pthread_mutex_lock(&guard.lock);
    guard.node_count = nodes;
    guard.first_node = first_rank == 0;
    pthread_mutex_unlock(&guard.lock);
    MPI_Comm_free(&node);
}

void guard_leave_mpi(void) {
    guard_about("%s", "");
    guard_step(0, "MPI_Finalize");
    atomic_store(&guard.in_mpi, false);
}

void guard_end(void) {
    if (guard.table)
        atomic_store(&guard.table->peer[guard.own].present, false);
    pthread_mutex_lock(&guard.lock);
    guard.stop = true;
    pthread_cond_signal(&guard.wake);
    pthread_mutex_unlock(&guard.lock);
    if (guard.running)
        pthread_join(guard.thread, NULL);
    pto_team_unshare(guard.own, guard.table, &guard.handle);
    free(guard.watched);
    guard.table = NULL;
}

const char *guard_program(void) { return guard.program; }

double guard_timeout_s(void) { return guard.timeout_s; }

void guard_about(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(guard.about, sizeof guard.about, format, arguments);
    va_end(arguments);
}

void guard_step(double limit_s, const char *format, ...) {
    char step[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(step, sizeof step, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&guard.lock);
    int used = snprintf(guard.doing, sizeof guard.doing, "%.*s%s", TEXT_MAX / 2, guard.about,
                        guard.about[0] ? ": " : "");
    snprintf(guard.doing + used, sizeof guard.doing - (size_t)used, "%.*s", TEXT_MAX / 2 - 4, step);
    pthread_mutex_unlock(&guard.lock);
    guard_tick(limit_s);
}

void guard_tick(double limit_s) {
    atomic_store_explicit(&guard.limit_s, limit_s > 0 ? limit_s : guard.timeout_s, memory_order_relaxed);
    atomic_fetch_add_explicit(&guard.progress, 1, memory_order_relaxed);
}

static uint64_t hash_of(const char *text) { return pto_hash_bytes(PTO_HASH_START, text, strlen(text)) | 1; }

bool guard_says(const char *text) {
    uint64_t hash = hash_of(text);
    if (guard.node_count > 1 && !guard.first_node)
        sleep(OTHER_NODES_DELAY_S);
    if (!guard.table || atomic_exchange(&guard.table->last_said, hash) != hash)
        return true;
    sleep(GRACE_S); /* the process that prints it ends the job */
    return false;
}
