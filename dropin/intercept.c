/* MPI's functions as the program calls them. */
#include "dropin.h"
#include "next.h"

/* Calls that MPI, another tool or the executor makes within one are not looked at. */
static _Thread_local int depth;

static void begin(int code) {
    depth++;
    if (code == MPI_SUCCESS)
        drop_begin();
    depth--;
}

PRELOAD_PASS_INIT(begin(code))

/* Attributes that MPI deletes within these end plans, whose processes meet in collectives. */
#define ENDS(name, params, args) PRELOAD_PASS_BOTH(name, params, args, depth++, depth--)
ENDS(Finalize, (void), ())
ENDS(Comm_free, (MPI_Comm * comm), (comm))
ENDS(Comm_disconnect, (MPI_Comm * comm), (comm))

#define TAKE(name, params, args, declared, ...)                                                              \
    TAKE_ONE(PRELOAD_JOIN(MPI_, name, SUFFIX), #name, params, args, declared, __VA_ARGS__)                   \
    TAKE_ONE(PRELOAD_JOIN(PMPI_, name, SUFFIX), #name, params, args, declared, __VA_ARGS__)

#define TAKE_ONE(symbol, text, params, args, declared, ...)                                                  \
    PRELOAD_EXPORT int symbol(PRELOAD_EACH params, MPI_Comm comm);                                           \
    PRELOAD_EXPORT int symbol(PRELOAD_EACH params, MPI_Comm comm) {                                          \
        static int (*next)(PRELOAD_EACH params, MPI_Comm);                                                   \
        if (!next)                                                                                           \
            preload_next(PRELOAD_TEXT(symbol), &next, sizeof next);                                          \
        if (!drop.on || depth > 0)                                                                           \
            return next(PRELOAD_EACH args, comm);                                                            \
        depth++;                                                                                             \
        declared;                                                                                            \
        drop_taken_t taken = {.given = __VA_ARGS__};                                                         \
        taken.given.routine = "MPI_" text;                                                                   \
        taken.given.comm = comm;                                                                             \
        drop_take(&taken);                                                                                   \
        in = taken.call.in;                                                                                  \
        (void)in;                                                                                            \
        out = taken.call.out;                                                                                \
        int code = taken.done ? taken.code : next(PRELOAD_EACH args, comm);                                  \
        code = drop_finish(&taken, code);                                                                    \
        depth--;                                                                                             \
        return code;                                                                                         \
    }

#define VECTOR .in = in, .out = out, .in_count = count, .in_type = type, .out_count = count, .out_type = type
#define BLOCKS                                                                                               \
    .in = in, .out = out, .in_count = in_count, .in_type = in_type, .out_count = out_count,                  \
    .out_type = out_type
#define ROWS                                                                                                 \
    .in = in, .out = out, .in_type = in_type, .out_type = out_type,                                          \
    .in_rows = {in_counts, in_places, sizeof *in_counts > sizeof(int)}, .out_rows = OUT_ROWS
#define OUT_ROWS                                                                                             \
    { out_counts, out_places, sizeof *out_counts > sizeof(int) }

#define PRELOAD_LIST "taken_list.h"
#include "each_count.h"
