/* Wrappers of MPI's one-sided functions. They count what a process writes to the memory of others and reads
 * from there. The memory of a window may be in a different space on each process. If any process has CUDA,
 * all processes exchange these spaces when the window is created. */
#include <stdlib.h>

#include "intercept.h"

/* A window. MPI keeps it as an attribute of the handle, and frees it by `forget`. */
typedef struct {
    const prof_group_t *group;
    uint8_t space[]; /* of each process's memory */
} window_t;

static int keyval = MPI_KEYVAL_INVALID;
/* The window of the last call: a cache. */
static MPI_Win known_handle = MPI_WIN_NULL;
static const window_t *known;

/* MPI calls this when it frees a window, whose handle it may reuse. */
static int forget(MPI_Win handle, int key, void *window, void *extra) {
    (void)key, (void)extra;
    if (handle == known_handle)
        known_handle = MPI_WIN_NULL;
    free(window);
    return MPI_SUCCESS;
}

/* Collective, so it must be called without prof_lock. NULL: out of memory on some process. */
static window_t *new_window(const prof_group_t *group, MPI_Comm comm, preload_space_t space) {
    window_t *made = group ? calloc(1, sizeof *made + (size_t)group->size) : NULL;
    int able = made != NULL, all = able;
    if (prof.has_spaces)
        PMPI_Allreduce(&able, &all, 1, MPI_INT, MPI_MIN, comm);
    if (!made || !all) {
        free(made);
        return NULL;
    }
    uint8_t own = (uint8_t)space;
    made->group = group;
    if (prof.has_spaces)
        PMPI_Allgather(&own, 1, MPI_BYTE, made->space, 1, MPI_BYTE, comm);
    return made;
}

static void note_window(int code, MPI_Comm comm, preload_space_t space, MPI_Win handle) {
    if (code != MPI_SUCCESS || !prof_enter(true))
        return;
    prof_lock();
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, forget, &keyval, NULL);
    const prof_group_t *group = prof_group_of(comm);
    prof_unlock();
    window_t *window = new_window(group, comm, space);
    if (window)
        PMPI_Win_set_attr(handle, keyval, window);
    prof_leave();
}

/* NULL: unknown. */
static const window_t *window_of(MPI_Win handle) {
    void *found = NULL;
    int is_set = 0;
    if (handle == known_handle)
        return known;
    if (keyval == MPI_KEYVAL_INVALID ||
        PMPI_Win_get_attr(handle, keyval, (void *)&found, &is_set) != MPI_SUCCESS || !is_set)
        return NULL;
    known_handle = handle;
    known = found;
    return known;
}

#define CREATES_ONE(symbol, params, args, space)                                                             \
    PRELOAD_PASS(symbol, params, args, (void)0,                                                              \
                 note_window(code, comm, space, code == MPI_SUCCESS ? *window : MPI_WIN_NULL))
#define CREATES(name, params, args, space)                                                                   \
    CREATES_ONE(PRELOAD_JOIN(MPI_, name, SUFFIX), params, args, space)                                       \
    CREATES_ONE(PRELOAD_JOIN(PMPI_, name, SUFFIX), params, args, space)

/* The memory of a dynamic window is attached later. */
static preload_space_t dynamic_space(void) { return prof.has_spaces ? PRELOAD_UNKNOWN : PRELOAD_CPU; }

/* This process's side of an access. */
typedef struct {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
} side_t;

static const side_t none = {NULL, 0, MPI_DATATYPE_NULL};

static prof_cell_t *count_access(const prof_call_t *call, int kind, const side_t *side,
                                 const window_t *window, int peer) {
    int64_t bytes = side->count * prof_type_bytes(side->type);
    bool is_known = window && peer >= 0 && peer < window->group->size;
    if (bytes == 0)
        return NULL;
    return prof_count_access(call->routine, kind, window ? window->group : NULL, peer, bytes,
                             preload_message_space(side->buffer, side->type),
                             is_known ? (preload_space_t)window->space[peer] : PRELOAD_UNKNOWN);
}

static void note_access(const prof_call_t *call, int code, side_t writes, side_t reads, int peer,
                        MPI_Win handle, const MPI_Request *request) {
    const window_t *window = window_of(handle);
    const side_t *own = writes.count > 0 ? &writes : &reads;
    preload_space_t space = preload_message_space(own->buffer, own->type);
    prof_count_call(call, window ? window->group : NULL, peer, -1, own->count * prof_type_bytes(own->type),
                    space);
    if (code != MPI_SUCCESS)
        return;
    prof_cell_t *cell = count_access(call, PROF_WRITE, &writes, window, peer);
    prof_cell_t *second = count_access(call, PROF_READ, &reads, window, peer);
    cell = second ? second : cell;
    if (cell)
        cell->inside_ticks += call->end_ticks - call->begin_ticks;
    if (cell && request && *request != MPI_REQUEST_NULL)
        prof_request_add(*request, &(prof_request_t){.key = cell->key,
                                                     .routine = (uint8_t)call->routine,
                                                     .space = (uint8_t)space,
                                                     .sends = true,
                                                     .active = true});
}

#define SIDE(buffer, count, type) ((side_t){buffer, count, type})
#define BUFFER SIDE(buffer, count, type)
/* With MPI_NO_OP, nothing is written. */
#define WRITES_BY(op) ((op) == MPI_NO_OP ? none : BUFFER)

#define ACCESS_PARAMS(const_void)                                                                            \
    const_void *buffer, COUNT count, MPI_Datatype type, int peer, MPI_Aint displacement, COUNT peer_count,   \
        MPI_Datatype peer_type
#define ACCESS_ARGS buffer, count, type, peer, displacement, peer_count, peer_type
#define GET_ACCUMULATE_PARAMS                                                                                \
    const void *buffer, COUNT count, MPI_Datatype type, void *result, COUNT result_count,                    \
        MPI_Datatype result_type, int peer, MPI_Aint displacement, COUNT peer_count, MPI_Datatype peer_type, \
        MPI_Op op
#define GET_ACCUMULATE_ARGS                                                                                  \
    buffer, count, type, result, result_count, result_type, peer, displacement, peer_count, peer_type, op

/* An access with and without a request. */
#define ACCESS(name, rname, params, args, writes, reads)                                                     \
    PROF_SIMPLE_FORM(name, (PRELOAD_EACH params, MPI_Win window), (PRELOAD_EACH args, window),               \
                     note_access(&call, code, writes, reads, peer, window, NULL))                            \
    PROF_SIMPLE_FORM(rname, (PRELOAD_EACH params, MPI_Win window, MPI_Request * request),                    \
                     (PRELOAD_EACH args, window, request),                                                   \
                     note_access(&call, code, writes, reads, peer, window, request))

#define PRELOAD_LIST "one_sided_list.h"
#include "each_count.h"

#define SINGLE_PARAMS MPI_Datatype type, int peer, MPI_Aint displacement

PROF_SIMPLE(Fetch_and_op, (const void *buffer, void *result, SINGLE_PARAMS, MPI_Op op, MPI_Win window),
            (buffer, result, type, peer, displacement, op, window), const MPI_Count count = 1;
            note_access(&call, code, WRITES_BY(op), SIDE(result, 1, type), peer, window, NULL))
/* Two values are sent: the new one and the one to compare. */
PROF_SIMPLE(Compare_and_swap,
            (const void *buffer, const void *compared, void *result, SINGLE_PARAMS, MPI_Win window),
            (buffer, compared, result, type, peer, displacement, window),
            note_access(&call, code, SIDE(buffer, 2, type), SIDE(result, 1, type), peer, window, NULL))

static void note_sync(const prof_call_t *call, MPI_Win handle) {
    const window_t *window = window_of(handle);
    prof_count_call(call, window ? window->group : NULL, -1, -1, 0, PRELOAD_CPU);
}

#define SYNC(name, params, args) PROF_SIMPLE(name, params, args, note_sync(&call, window))
#include "synchronization_list.h"

#define DYNAMIC(prefix)                                                                                      \
    CREATES_ONE(prefix##Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win * window),                \
                (info, comm, window), dynamic_space())
DYNAMIC(MPI_)
DYNAMIC(PMPI_)
