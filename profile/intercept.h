/* Macros for the profiler's wrappers (next.h): each calls the next library's MPI function, measures its time
 * and counts it. A wrapper exists under both names of the function, MPI_NAME and PMPI_NAME. */
#ifndef PROF_INTERCEPT_H
#define PROF_INTERCEPT_H

#include <pthread.h>

#include "next.h"
#include "profile.h"

extern _Thread_local int prof_depth; /* above 0 within a call of MPI, or while the profiler itself calls it */

/* Returns whether to count a call; if so, prof_leave must follow. Nested calls, by MPI itself or another
 * tool, are not counted. `always`: also while the program has switched counting off, as for functions that
 * create or complete requests, which must not be lost. */
static inline bool prof_enter(bool always) {
    if (!(always ? prof.running : prof.enabled) || prof_depth > 0)
        return false;
    prof_depth++;
    return true;
}
static inline void prof_leave(void) { prof_depth--; }

/* Protects the tables, if several threads may call MPI. */
extern pthread_mutex_t prof_mutex;
static inline void prof_lock(void) {
    if (prof.threaded)
        pthread_mutex_lock(&prof_mutex);
}
static inline void prof_unlock(void) {
    if (prof.threaded)
        pthread_mutex_unlock(&prof_mutex);
}

/* Defines the wrapper `symbol` of routine `name`. A call that is not counted has the program's own arguments
 * (`plain`). A counted call has `args`, for which `before` may declare variables, such as a status. `after`
 * counts it, and may use `call` and MPI's result, `code`. */
#define PROF_ONE(symbol, name, always, params, plain, args, before, after)                                   \
    PRELOAD_EXPORT int symbol params;                                                                        \
    PRELOAD_EXPORT int symbol params {                                                                       \
        PRELOAD_FIND(symbol, params)                                                                         \
        if (!prof_enter(always))                                                                             \
            return next plain;                                                                               \
        before;                                                                                              \
        prof_call_t call = {PROF_##name, prof_ticks(), 0};                                                   \
        int code = next args;                                                                                \
        call.end_ticks = prof_ticks();                                                                       \
        prof_lock();                                                                                         \
        after;                                                                                               \
        prof_unlock();                                                                                       \
        prof_leave();                                                                                        \
        return code;                                                                                         \
    }

/* BOTH: under both names. FORM: for a function with counts, which exists as MPI_NAME and MPI_NAME_c.
 * each_count.h includes lists of these once for each form, and defines COUNT (the type of counts), DISPL
 * (that of displacements) and SUFFIX. SIMPLE: the program's arguments are passed on unchanged. */
#define PROF_FORM(prefix, name, ...) PROF_ONE(PRELOAD_JOIN(prefix, name, SUFFIX), name, __VA_ARGS__)
#define PROF_BOTH_FORM(name, ...) PROF_FORM(MPI_, name, __VA_ARGS__) PROF_FORM(PMPI_, name, __VA_ARGS__)
#define PROF_BOTH(name, ...) PROF_ONE(MPI_##name, name, __VA_ARGS__) PROF_ONE(PMPI_##name, name, __VA_ARGS__)
#define PROF_SIMPLE(name, params, args, after) PROF_BOTH(name, false, params, args, args, (void)0, after)
#define PROF_SIMPLE_FORM(name, params, args, after)                                                          \
    PROF_BOTH_FORM(name, false, params, args, args, (void)0, after)

#endif
