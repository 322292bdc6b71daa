/* Functions that stand in front of MPI's, for libraries that are preloaded into unchanged programs. Each has
 * MPI's name and the one with the prefix PMPI_, which Open MPI's Fortran bindings call, and calls on the next
 * library's function of the same name. */
#ifndef PRELOAD_NEXT_H
#define PRELOAD_NEXT_H

#include <stddef.h>

#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* The next function of this name. */
void preload_next(const char *name, void *function, size_t size);

#define PRELOAD_JOIN(a, b, c) PRELOAD_JOIN_(a, b, c)
#define PRELOAD_JOIN_(a, b, c) a##b##c
#define PRELOAD_TEXT(name) PRELOAD_TEXT_(name)
#define PRELOAD_TEXT_(name) #name

/* A function that only does something else too, before or after the next one. */
#define PRELOAD_PASS(symbol, params, args, before, after)                                                    \
    PRELOAD_EXPORT int symbol params;                                                                        \
    PRELOAD_EXPORT int symbol params {                                                                       \
        static int(*next) params; /* NOLINT(bugprone-macro-parentheses) */                                   \
        if (!next)                                                                                           \
            preload_next(PRELOAD_TEXT(symbol), &next, sizeof next);                                          \
        before;                                                                                              \
        int code = next args;                                                                                \
        after;                                                                                               \
        return code;                                                                                         \
    }

#endif
