/* Functions that stand in front of MPI's. Each has MPI's name and the one with the prefix PMPI_, which Open
 * MPI's Fortran bindings call, and calls on the next library's function of the same name. */
#ifndef PROF_INTERCEPT_H
#define PROF_INTERCEPT_H

#include "profile.h"

#define PROF_EXPORT __attribute__((visibility("default")))

/* The next function of this name. */
void prof_next(const char *name, void *function, size_t size);

/* Whether a call is to be looked at: not those that MPI or another tool makes within one. If so, prof_leave
 * must follow. Requests must be followed even while counting is switched off: `always`. */
bool prof_enter(bool always);
void prof_leave(void);
/* Around everything that uses the tables. */
void prof_lock(void);
void prof_unlock(void);

/* One function. `plain` are its arguments; `before` may declare what stands in `args` instead; `after` sees
 * `call` and `code`. */
#define PROF_ONE(prefix, name, always, params, plain, args, before, after)                                   \
    PROF_EXPORT int prefix##name params;                                                                     \
    PROF_EXPORT int prefix##name params {                                                                    \
        static int(*next) params;                                                                            \
        if (!next)                                                                                           \
            prof_next(#prefix #name, &next, sizeof next);                                                    \
        if (!prof_enter(always))                                                                             \
            return next plain;                                                                               \
        before;                                                                                              \
        prof_call_t call = {PROF_##name, prof_ticks(), 0};                                                   \
        int code = next args;                                                                                \
        call.end = prof_ticks();                                                                             \
        prof_lock();                                                                                         \
        after;                                                                                               \
        prof_unlock();                                                                                       \
        prof_leave();                                                                                        \
        return code;                                                                                         \
    }

#define PROF_BOTH(name, always, params, plain, args, before, after)                                          \
    PROF_ONE(MPI_, name, always, params, plain, args, before, after)                                         \
    PROF_ONE(PMPI_, name, always, params, plain, args, before, after)

/* A function whose arguments go on as they are. */
#define PROF_SIMPLE(name, params, args, after) PROF_BOTH(name, false, params, args, args, (void)0, after)

#endif
