/* Wrappers of MPI's functions. As this library is preloaded, the program calls these instead of MPI's; each
 * calls the next library's function (next.h) unless the call is taken over. */
#include "dropin.h"
#include "next.h"

/* Wrappers that this thread is in. Nested calls, by MPI, another tool or the executor, are passed on. */
static _Thread_local int depth;

static void begin(int code) {
    depth++;
    if (code == MPI_SUCCESS)
        drop_begin();
    depth--;
}

PRELOAD_PASS_INIT(begin(code))

/* Within these functions, MPI deletes attributes, which frees plans: their collectives are nested, too. */
#define ENDS(name, params, args) PRELOAD_PASS_BOTH(name, params, args, depth++, depth--)
ENDS(Finalize, (void), ())
ENDS(Comm_free, (MPI_Comm * comm), (comm))
ENDS(Comm_disconnect, (MPI_Comm * comm), (comm))

/* Both names of a collective, MPI_ and PMPI_. A staged call replaces `in` and `out`. */
#define TAKE(name, params, args, declared, ...)                                                              \
    TAKE_ONE(PRELOAD_JOIN(MPI_, name, SUFFIX), #name, params, args, declared, __VA_ARGS__)                   \
    TAKE_ONE(PRELOAD_JOIN(PMPI_, name, SUFFIX), #name, params, args, declared, __VA_ARGS__)

#define TAKE_ONE(symbol, text, params, args, declared, ...)                                                  \
    PRELOAD_EXPORT int symbol(PRELOAD_EACH params, MPI_Comm comm);                                           \
    PRELOAD_EXPORT int symbol(PRELOAD_EACH params, MPI_Comm comm) {                                          \
        PRELOAD_FIND(symbol, (PRELOAD_EACH params, MPI_Comm comm))                                           \
        if (!drop.on || depth > 0)                                                                           \
            return next(PRELOAD_EACH args, comm);                                                            \
        depth++;                                                                                             \
        declared;                                                                                            \
        drop_task_t task = {.call = __VA_ARGS__};                                                            \
        task.call.routine = "MPI_" text;                                                                     \
        task.call.comm = comm;                                                                               \
        drop_take(&task);                                                                                    \
        in = task.mpi_call.in;                                                                               \
        (void)in;                                                                                            \
        out = task.mpi_call.out;                                                                             \
        int code = task.done ? task.code : next(PRELOAD_EACH args, comm);                                    \
        code = drop_finish(&task, code);                                                                     \
        depth--;                                                                                             \
        return code;                                                                                         \
    }

#define VECTOR .in = in, .out = out, .in_count = count, .in_type = type, .out_count = count, .out_type = type
#define BLOCKS                                                                                               \
    .in = in, .out = out, .in_count = in_count, .in_type = in_type, .out_count = out_count,                  \
    .out_type = out_type
#define IN_AND_OUT_COUNTS                                                                                    \
    .in = in, .out = out, .in_type = in_type, .out_type = out_type,                                          \
    .in_counts = {in_counts, in_displs, sizeof *in_counts > sizeof(int)}, .out_counts = OUT_COUNTS
#define OUT_COUNTS                                                                                           \
    { out_counts, out_displs, sizeof *out_counts > sizeof(int) }

#define PRELOAD_LIST "taken_list.h"
#include "each_count.h"
