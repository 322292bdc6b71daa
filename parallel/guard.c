/* Each process's thread wakes a few times per time-out, publishes a beat in memory that the node's processes
 * share, and looks at the beats of the others and at its own process's progress.
 *
 * Time is counted in naps of the watching thread, and a nap that took much too long counts as a short one: a
 * job that was suspended as a whole and goes on later must not be taken for one that hangs. */
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
#include "shm.h"

enum {
    TEXT_MAX = 192,
    HOST_MAX = 64,
    REPORT_MAX = 4096,
    NAMED_MAX = 4,
    GRACE_S = 5,
    HEAR_S = 3,
    LATE_NAPS = 3
};

/* A silent process is the cause of whatever else takes too long, so it is named sooner: after this share of
 * the time-out. But a busy machine may not let a thread run for a second. */
static const double silence_share = 0.75;
static const double silence_least_s = 2.0;
static const double nap_longest_s = 1.0;
/* Programs may start at very different times. */
static const double start_least_s = 30.0;
/* How long the nodes that can't name the culprit leave the word to one that can. */
static const double leave_word_s = 2.0;

/* A process of this node. The text is for people only: it may be read while it is written. */
typedef struct {
    atomic_bool present;
    atomic_uint_least64_t beats;
    atomic_int rank;
    atomic_long pid;
    char doing[TEXT_MAX];
} seat_t;

typedef struct {
    atomic_bool ending; /* a process of this node prints why and ends the job */
    atomic_uint_least64_t said;
    seat_t seat[];
} board_t;

/* The watching thread's view of a seat. */
typedef struct {
    uint64_t beats;
    double silent_s;
} watched_t;

static struct {
    const char *program;
    double timeout_s;
    double nap_s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running;
    bool stop;            /* this and what follows: under the lock */
    char about[TEXT_MAX]; /* the main thread writes it */
    char doing[TEXT_MAX];
    char host[HOST_MAX];
    int rank; /* -1: not known yet */
    int node_count;
    bool first_node;
    board_t *board; /* NULL: alone */
    pto_shared_handle_t handle;
    watched_t *watched;
    int seat_count;
    int seat;
    atomic_bool in_mpi;
    atomic_uint_least64_t progress;
    _Atomic double limit_s;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .rank = -1};

/* --- saying what is wrong ------------------------------------------------------------------------------- */

static void append(char text[REPORT_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char text[REPORT_MAX], const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, REPORT_MAX - used, format, arguments);
    va_end(arguments);
}

static void append_own(char text[REPORT_MAX], double stuck_s) {
    append(text, "%s: ", guard.program);
    if (guard.rank >= 0)
        append(text, "MPI rank %d on %s", guard.rank, guard.host);
    else
        append(text, "process %ld", (long)getpid());
    append(text, ": no progress for %.3g s in: %s; ending the job\n", stuck_s, guard.doing);
}

static bool is_silent(int seat) {
    return atomic_load(&guard.board->seat[seat].present) &&
           guard.watched[seat].silent_s > LATE_NAPS * guard.nap_s;
}

static bool does_something_else(int seat) {
    const seat_t *other = &guard.board->seat[seat];
    return atomic_load(&other->present) && strncmp(other->doing, guard.doing, TEXT_MAX) != 0;
}

/* Those of this node that `picks` picks; returns how many. */
static int append_others(char text[REPORT_MAX], bool (*picks)(int seat), const char *what) {
    int count = 0;
    for (int i = 0; i < guard.seat_count; i++) {
        const seat_t *other = &guard.board->seat[i];
        if (i == guard.seat || !picks(i) || count++ >= NAMED_MAX)
            continue;
        append(text, "%s: MPI rank %d (process %ld on %s) %s: %.*s\n", guard.program,
               atomic_load(&other->rank), atomic_load(&other->pid), guard.host, what, TEXT_MAX - 1,
               other->doing);
    }
    if (count > NAMED_MAX)
        append(text, "%s: and so are %d more on %s\n", guard.program, count - NAMED_MAX, guard.host);
    return count;
}

static void report(double stuck_s, bool stuck) {
    char text[REPORT_MAX] = "";
    int silent = 0;
    if (stuck)
        append_own(text, stuck_s);
    if (guard.board)
        silent =
            append_others(text, is_silent, "shows no sign of life (stopped?): ending the job; its last step");
    if (guard.board && silent == 0)
        append_others(text, does_something_else, "is elsewhere");
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

_Noreturn void guard_abort(int status) {
    /* The main thread may hold the MPI library's locks: the alarm's default ends the process then. */
    alarm(GRACE_S);
    if (atomic_load(&guard.in_mpi))
        MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
}

/* One process of a node is enough; should it fail, the others follow. */
static void end_job(double stuck_s, bool stuck) {
    if (guard.board && atomic_exchange(&guard.board->ending, true))
        sleep(GRACE_S);
    report(stuck_s, stuck);
    guard_abort(1);
}

/* --- watching ------------------------------------------------------------------------------------------- */

/* The lock is held before and after, but not meanwhile. Returns how long it was, as far as that counts. */
static double nap(double *woke_s) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    long ns = until.tv_nsec + (long)(guard.nap_s * 1e9);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(&guard.wake, &guard.lock, &until);
    double before_s = *woke_s;
    *woke_s = pto_now_s();
    return fmin(*woke_s - before_s, 2 * guard.nap_s);
}

static void publish(void) {
    seat_t *own = &guard.board->seat[guard.seat];
    memcpy(own->doing, guard.doing, TEXT_MAX);
    atomic_fetch_add(&own->beats, 1);
}

/* Returns how long the most silent process of this node has been so. */
static double listen_to_others(double slept_s) {
    double most_s = 0;
    for (int i = 0; i < guard.seat_count; i++) {
        watched_t *watched = &guard.watched[i];
        uint64_t beats = atomic_load(&guard.board->seat[i].beats);
        bool silent =
            atomic_load(&guard.board->seat[i].present) && beats == watched->beats && i != guard.seat;
        watched->silent_s = silent ? watched->silent_s + slept_s : 0;
        watched->beats = beats;
        most_s = fmax(most_s, watched->silent_s);
    }
    return most_s;
}

static void *watch(void *ignored) {
    uint64_t progress = 0;
    double stuck_s = 0, woke_s = pto_now_s();
    pthread_mutex_lock(&guard.lock);
    while (!guard.stop) {
        double slept_s = nap(&woke_s), most_silent_s = 0;
        uint64_t now = atomic_load(&guard.progress);
        stuck_s = now == progress ? stuck_s + slept_s : 0;
        progress = now;
        if (guard.board) {
            publish();
            most_silent_s = listen_to_others(slept_s);
        }
        double limit_s = atomic_load(&guard.limit_s);
        if (guard.node_count > 1 && most_silent_s == 0)
            limit_s += leave_word_s;
        bool stuck = stuck_s >= limit_s;
        if (!guard.stop && (stuck || most_silent_s >= fmax(silence_share * guard.timeout_s, silence_least_s)))
            end_job(stuck_s, stuck);
    }
    pthread_mutex_unlock(&guard.lock);
    return ignored;
}

/* --- the main thread's part ----------------------------------------------------------------------------- */

void guard_begin(const char *program, double timeout_s) {
    guard.program = program;
    guard.timeout_s = timeout_s;
    guard.nap_s = fmin(timeout_s / 8, nap_longest_s);
    gethostname(guard.host, sizeof guard.host - 1);
    guard_step(fmax(timeout_s, start_least_s), "MPI_Init");
    /* Signals are for the main thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    guard.running = pthread_create(&guard.thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The first of the node makes it and the others open it. A process without it goes unwatched by the others.
 */
static board_t *make_board(MPI_Comm node, int seat, int seat_count) {
    pto_shared_handle_t handle = {0};
    void *memory = NULL;
    size_t bytes = sizeof(board_t) + (size_t)seat_count * sizeof(seat_t);
    if (seat == 0 && pto_shared_create(bytes, &memory, &handle, NULL) != PTO_OK)
        handle.bytes = 0;
    MPI_Bcast(&handle, (int)sizeof handle, MPI_BYTE, 0, node);
    if (seat > 0 && handle.bytes > 0 && pto_shared_open(&handle, &memory, NULL) != PTO_OK)
        memory = NULL;
    MPI_Barrier(node); /* all have opened it: the maker may go */
    guard.handle = handle;
    return memory;
}

static void take_seat(board_t *board, int rank, int seat, int seat_count) {
    watched_t *watched = calloc((size_t)seat_count, sizeof *watched);
    if (!board || !watched) {
        free(watched);
        return;
    }
    atomic_store(&board->seat[seat].rank, rank);
    atomic_store(&board->seat[seat].pid, (long)getpid());
    pthread_mutex_lock(&guard.lock);
    guard.board = board;
    guard.watched = watched;
    guard.seat = seat;
    guard.seat_count = seat_count;
    publish();
    pthread_mutex_unlock(&guard.lock);
    atomic_store(&board->seat[seat].present, guard.running);
}

void guard_meet(MPI_Comm comm) {
    MPI_Comm node = MPI_COMM_NULL;
    int rank = 0, seat = 0, seat_count = 0, nodes = 0;
    atomic_store(&guard.in_mpi, true);
    guard_step(0, "meeting the other processes");
    MPI_Comm_rank(comm, &rank);
    pthread_mutex_lock(&guard.lock);
    guard.rank = rank;
    pthread_mutex_unlock(&guard.lock);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &seat);
    MPI_Comm_size(node, &seat_count);
    int first_rank = rank, leads = seat == 0;
    MPI_Bcast(&first_rank, 1, MPI_INT, 0, node);
    MPI_Allreduce(&leads, &nodes, 1, MPI_INT, MPI_SUM, comm);
    board_t *board = make_board(node, seat, seat_count);
    take_seat(board, rank, seat, seat_count);
    pthread_mutex_lock(&guard.lock);
    guard.node_count = nodes;
    guard.first_node = first_rank == 0;
    pthread_mutex_unlock(&guard.lock);
    MPI_Comm_free(&node);
}

void guard_part(void) {
    guard_about("%s", "");
    guard_step(0, "MPI_Finalize");
    atomic_store(&guard.in_mpi, false);
}

void guard_end(void) {
    if (guard.board)
        atomic_store(&guard.board->seat[guard.seat].present, false);
    pthread_mutex_lock(&guard.lock);
    guard.stop = true;
    pthread_cond_signal(&guard.wake);
    pthread_mutex_unlock(&guard.lock);
    if (guard.running)
        pthread_join(guard.thread, NULL);
    if (guard.board && guard.seat == 0)
        pto_shared_destroy(guard.board, &guard.handle);
    else if (guard.board)
        pto_shared_close(guard.board, &guard.handle);
    free(guard.watched);
    guard.board = NULL;
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
        sleep(HEAR_S);
    if (!guard.board || atomic_exchange(&guard.board->said, hash) != hash)
        return true;
    sleep(GRACE_S); /* the one that says it ends the job */
    return false;
}
