/* The progress of long calls: a thread polls the library's counters, so the work itself reads no clock. */
#include "progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "portolan/progress.h"

/* How long a call runs before its progress is shown. */
#define QUIET_S 1.0
enum { POLL_NS = 200 * 1000 * 1000 };

static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;
static bool line_is_shown;
static _Atomic(const char *) strategy_now, algorithm_now;

/* From the fraction done; before anything is done, from the usual rate of such work. */
static double estimate_left_s(const pto_progress_t *progress, double seconds) {
    double total = (double)progress->total, done = (double)progress->done;
    if (total > 0 && done > 0)
        return seconds * (total - done) / done;
    return progress->work_per_s > 0 ? total / (double)progress->work_per_s - seconds : 0;
}

/* "pricing: 35 %, 4 s, about 8 s left (dup_devptr by ring)" */
static void show(const pto_progress_t *progress, double seconds) {
    const char *strategy = atomic_load(&strategy_now), *algorithm = atomic_load(&algorithm_now);
    double left_s = estimate_left_s(progress, seconds);
    pto_progress_t now;
    pthread_mutex_lock(&line_lock);
    if (!pto_progress_read(&now)) { /* the call has ended since, and `clear` has run */
        pthread_mutex_unlock(&line_lock);
        return;
    }
    fprintf(stderr, "\r\033[K%s:", progress->what);
    if (progress->total > 0 && progress->done > 0)
        fprintf(stderr, " %.0f %%,", 100 * (double)progress->done / (double)progress->total);
    fprintf(stderr, " %.0f s", seconds);
    if (left_s >= 1)
        fprintf(stderr, ", about %.0f s left", left_s);
    if (strategy && algorithm)
        fprintf(stderr, " (%s by %s)", strategy, algorithm);
    fflush(stderr);
    line_is_shown = true;
    pthread_mutex_unlock(&line_lock);
}

/* Called when the work ends, before its output. */
static void clear(void) {
    atomic_store(&strategy_now, NULL);
    pthread_mutex_lock(&line_lock);
    if (line_is_shown)
        fputs("\r\033[K", stderr);
    line_is_shown = false;
    pthread_mutex_unlock(&line_lock);
}

static void *watch(void *unused) {
    const struct timespec pause = {.tv_nsec = POLL_NS};
    const char *before = NULL;
    double begun_s = pto_now_s();
    (void)unused;
    for (;;) {
        pto_progress_t progress;
        nanosleep(&pause, NULL);
        bool busy = pto_progress_read(&progress);
        if (!busy || progress.what != before)
            begun_s = pto_now_s();
        before = busy ? progress.what : NULL;
        if (busy && pto_now_s() - begun_s >= QUIET_S)
            show(&progress, pto_now_s() - begun_s);
    }
    return NULL;
}

void pto_progress_watch(void) {
    static bool is_watched;
    pthread_t thread;
    if (is_watched || pthread_create(&thread, NULL, watch, NULL) != 0)
        return;
    is_watched = true;
    pthread_detach(thread);
    pto_progress_on_end(clear);
}

void pto_progress_watch_terminal(void) {
    if (isatty(STDERR_FILENO) == 1)
        pto_progress_watch();
}

void pto_progress_show(const pto_simulate_progress_t *progress) {
    atomic_store(&algorithm_now, progress->algorithm);
    atomic_store(&strategy_now, progress->strategy);
}
