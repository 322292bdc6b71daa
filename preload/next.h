/* Wrappers of MPI's functions, for libraries that are preloaded into unchanged programs (LD_PRELOAD). A
 * wrapper has the name of MPI's function and calls the next library's function of the same name. Each comes
 * with the prefix MPI_ and with PMPI_, which Open MPI's Fortran bindings call. */
#ifndef PRELOAD_NEXT_H
#define PRELOAD_NEXT_H

#include <mpi.h>
#include <stddef.h>

/* Which functions the MPI library has. One that it lacks must not be exported: programs that support several
 * libraries, such as mpi4py, look a function up in the dynamic linker and call it if it exists. Open MPI 5
 * declares MPI 3.1, but has most functions of MPI 4, except those with large counts (MPI_Send_c). Open MPI 4
 * has persistent collectives with the prefix MPIX_. */
#define PRELOAD_HAS_LARGE (MPI_VERSION >= 4)
#ifdef OMPI_MAJOR_VERSION
#define PRELOAD_HAS_MPI4 (MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5)
#define PRELOAD_HAS_MPIX_INIT (OMPI_MAJOR_VERSION == 4)
#else
#define PRELOAD_HAS_MPI4 PRELOAD_HAS_LARGE
#define PRELOAD_HAS_MPIX_INIT 0
#endif

#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* Stores the address of the next library's function of this name in `function`, a pointer of `size` bytes. */
void preload_next(const char *name, void *function, size_t size);

/* The same as the operators ## and #, after expanding the arguments; and a list without its parentheses. */
#define PRELOAD_JOIN(a, b, c) PRELOAD_JOIN_(a, b, c)
#define PRELOAD_JOIN_(a, b, c) a##b##c
#define PRELOAD_TEXT(name) PRELOAD_TEXT_(name)
#define PRELOAD_TEXT_(name) #name
#define PRELOAD_EACH(...) __VA_ARGS__

/* Declares `next`, the next library's function of this name. The first call finds it, and keeps it
 * atomically, as several threads may make that call. */
#define PRELOAD_FIND(symbol, params)                                                                         \
    static int(*_Atomic kept) params; /* NOLINT(bugprone-macro-parentheses): a list of parameters */         \
    int(*next) params = kept;         /* NOLINT(bugprone-macro-parentheses) */                               \
    if (!next) {                                                                                             \
        preload_next(PRELOAD_TEXT(symbol), &next, sizeof next);                                              \
        kept = next;                                                                                         \
    }

/* Defines the wrapper `symbol`, which calls the next function and executes statements before and after it.
 * `after` may use its result, `code`. */
#define PRELOAD_PASS(symbol, params, args, before, after)                                                    \
    PRELOAD_EXPORT int symbol params;                                                                        \
    PRELOAD_EXPORT int symbol params {                                                                       \
        PRELOAD_FIND(symbol, params)                                                                         \
        before;                                                                                              \
        int code = next args;                                                                                \
        after;                                                                                               \
        return code;                                                                                         \
    }

/* The same under both names, MPI_ and PMPI_. */
#define PRELOAD_PASS_BOTH(name, params, args, before, after)                                                 \
    PRELOAD_PASS(MPI_##name, params, args, before, after)                                                    \
    PRELOAD_PASS(PMPI_##name, params, args, before, after)

/* MPI_Init and MPI_Init_thread; `after` is executed when they have returned `code`. */
#define PRELOAD_PASS_INIT(after)                                                                             \
    PRELOAD_PASS_BOTH(Init, (int *argc, char ***argv), (argc, argv), (void)0, after)                         \
    PRELOAD_PASS_BOTH(Init_thread, (int *argc, char ***argv, int required, int *provided),                   \
                      (argc, argv, required, provided), (void)0, after)

#endif
