/* Progress of long calls (progress.h), in atomic counters that any thread may read. Only the outermost call
 * is reported. If it was begun by pto_progress_begin_parts, nested calls of the same name (parts) add to its
 * work; other nested calls report nothing. */
#include "portolan/progress.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static _Atomic(const char *) what_now;
static _Atomic int64_t done_now, total_now, work_per_s_now;
static _Atomic(void (*)(void)) end_hook;
static atomic_bool has_parts;  /* the outermost call was begun by pto_progress_begin_parts */
static atomic_int parts_begun; /* number of parts that have not ended */
static atomic_bool stopped;

/* Begins a nested call; returns whether it is a part of the outermost one. */
static bool begin_nested(const char *what) {
    const char *whole = atomic_load(&what_now);
    if (!atomic_load(&has_parts) || !whole || strcmp(whole, what) != 0)
        return false;
    atomic_fetch_add(&parts_begun, 1);
    return true;
}

bool pto_progress_begin(const char *what, int64_t total, int64_t work_per_s) {
    const char *none = NULL;
    if (!atomic_compare_exchange_strong(&what_now, &none, what))
        return begin_nested(what);
    atomic_store(&done_now, 0);
    atomic_store(&total_now, total);
    atomic_store(&work_per_s_now, work_per_s);
    return true;
}

bool pto_progress_begin_parts(const char *what, int64_t total, int64_t work_per_s) {
    bool begun = pto_progress_begin(what, total, work_per_s);
    if (begun && atomic_load(&parts_begun) == 0)
        atomic_store(&has_parts, true);
    return begun;
}

void pto_progress_add(int64_t done) { atomic_fetch_add(&done_now, done); }

void pto_progress_end(void) {
    void (*ended)(void) = atomic_load(&end_hook);
    if (atomic_load(&parts_begun) > 0) {
        atomic_fetch_sub(&parts_begun, 1);
        return;
    }
    atomic_store(&has_parts, false);
    atomic_store(&what_now, NULL);
    if (ended)
        ended();
}

void pto_progress_on_end(void (*ended)(void)) { atomic_store(&end_hook, ended); }

bool pto_progress_read(pto_progress_t *progress) {
    *progress = (pto_progress_t){.what = atomic_load(&what_now),
                                 .done = atomic_load(&done_now),
                                 .total = atomic_load(&total_now),
                                 .work_per_s = atomic_load(&work_per_s_now)};
    return progress->what != NULL;
}

void pto_stop(void) { atomic_store(&stopped, true); }
bool pto_is_stopped(void) { return atomic_load_explicit(&stopped, memory_order_relaxed); }
