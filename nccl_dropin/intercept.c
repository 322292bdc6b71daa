/* NCCL's functions. Those that make and end communicators are NCCL's own, with something before or after.
 * Collectives are NCCL's or run here; PyTorch makes each call a group. All other functions are NCCL's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "tap.h"

#define EXPORT __attribute__((visibility("default")))

static void *library;

static void open_library(void) {
    library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
}

void tap_next(const char *name, void *function, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    tap_settings(); /* before NCCL reads the environment */
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        pthread_once(&once, open_library);
    if (!found && library)
        found = dlsym(library, name);
    memcpy(function, &found, size);
}

/* `next`: the function behind this one, found at the first call; without it, NCCL's error. */
#define FIND_NEXT(name, params)                                                                              \
    static int(*next) params; /* NOLINT(bugprone-macro-parentheses): a list of parameters */                 \
    if (!next)                                                                                               \
        tap_next(#name, &next, sizeof next);                                                                 \
    if (!next)                                                                                               \
    return TAP_INVALID_USAGE

/* --- the next functions --------------------------------------------------------------------------------- */

#define PASS(label, name, params, ...)                                                                       \
    case label: {                                                                                            \
        FIND_NEXT(name, params);                                                                             \
        return next(__VA_ARGS__);                                                                            \
    }

int tap_pass(const tap_call_t *c) {
    switch (c->function) {
        PASS(TAP_ALL_REDUCE, ncclAllReduce, (const void *, void *, size_t, int, int, void *, void *), c->in,
             c->out, c->count, c->datatype, c->op, c->comm, c->stream)
        PASS(TAP_ALL_GATHER, ncclAllGather, (const void *, void *, size_t, int, void *, void *), c->in,
             c->out, c->count, c->datatype, c->comm, c->stream)
        PASS(TAP_REDUCE_SCATTER, ncclReduceScatter, (const void *, void *, size_t, int, int, void *, void *),
             c->in, c->out, c->count, c->datatype, c->op, c->comm, c->stream)
        PASS(TAP_ALL_TO_ALL, ncclAlltoAll, (const void *, void *, size_t, int, void *, void *), c->in, c->out,
             c->count, c->datatype, c->comm, c->stream)
        PASS(TAP_BROADCAST, ncclBroadcast, (const void *, void *, size_t, int, int, void *, void *), c->in,
             c->out, c->count, c->datatype, c->peer, c->comm, c->stream)
        PASS(TAP_BCAST, ncclBcast, (void *, size_t, int, int, void *, void *), c->out, c->count, c->datatype,
             c->peer, c->comm, c->stream)
        PASS(TAP_REDUCE, ncclReduce, (const void *, void *, size_t, int, int, int, void *, void *), c->in,
             c->out, c->count, c->datatype, c->op, c->peer, c->comm, c->stream)
        PASS(TAP_SEND, ncclSend, (const void *, size_t, int, int, void *, void *), c->in, c->count,
             c->datatype, c->peer, c->comm, c->stream)
        PASS(TAP_RECV, ncclRecv, (void *, size_t, int, int, void *, void *), c->out, c->count, c->datatype,
             c->peer, c->comm, c->stream)
    }
    return TAP_INVALID_USAGE;
}

/* --- groups --------------------------------------------------------------------------------------------- */

/* The group that this thread has open. All processes have the same collectives of a communicator in it, but
 * other processes may have other messages. So a collective that is its communicator's only one in the group
 * is held back if it can be run here, whatever else there is; a second one makes both NCCL's. */
static _Thread_local struct {
    int depth;
    tap_call_t *held;
    int held_count;
    size_t held_room;
    tap_call_t *passed; /* to NCCL, which enqueues them at the end */
    int passed_count;
    size_t passed_room;
} group;

/* Whether one of the group's first `count` calls is of the same communicator and stream. */
static bool is_among_passed(const tap_call_t *call, int count) {
    for (int i = 0; i < count; i++)
        if (group.passed[i].comm == call->comm && group.passed[i].stream == call->stream)
            return true;
    return false;
}

static bool is_message(const tap_call_t *call) {
    return call->function == TAP_SEND || call->function == TAP_RECV;
}

/* Of the communicator. */
static bool has_passed_collective(const void *comm) {
    for (int i = 0; i < group.passed_count; i++)
        if (group.passed[i].comm == comm && !is_message(&group.passed[i]))
            return true;
    return false;
}

static int pass_in_group(const tap_call_t *call) {
    if (!PTO_RESERVE(group.passed, group.passed_room, group.passed_count + 1))
        return TAP_SYSTEM_ERROR;
    const bool is_first = !is_among_passed(call, group.passed_count);
    group.passed[group.passed_count++] = *call;
    const double began_s = pto_now_s();
    if (is_first)
        tap_before_pass(call);
    int result = tap_pass(call);
    tap_report_passed(call, began_s);
    return result;
}

static int release_held(int at) {
    const tap_call_t call = group.held[at];
    memmove(&group.held[at], &group.held[at + 1], (size_t)(--group.held_count - at) * sizeof call);
    return pass_in_group(&call);
}

static int collective_in_group(const tap_call_t *call) {
    int at = 0, result = TAP_SUCCESS;
    while (at < group.held_count && group.held[at].comm != call->comm)
        at++;
    if (at < group.held_count)
        result = release_held(at);
    else if (!has_passed_collective(call->comm) && tap_takes(call) &&
             PTO_RESERVE(group.held, group.held_room, group.held_count + 1)) {
        group.held[group.held_count++] = *call;
        return TAP_SUCCESS;
    }
    return result == TAP_SUCCESS ? pass_in_group(call) : result;
}

static int collective(tap_call_t call) {
    return group.depth == 0    ? tap_do(&call)
           : is_message(&call) ? pass_in_group(&call)
                               : collective_in_group(&call);
}

EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupStart(void) {
    FIND_NEXT(ncclGroupStart, (void));
    int result = next();
    group.depth += result == TAP_SUCCESS;
    return result;
}

/* Run what is held back beside what NCCL will run. What cannot be run here is NCCL's after all. */
static int begin_aside(void) {
    int result = TAP_SUCCESS;
    for (int i = 0; i < group.held_count && result == TAP_SUCCESS; i++)
        if (!tap_do_aside(&group.held[i], group.passed, group.passed_count, &result))
            result = release_held(i--);
    return result;
}

static void end_group(void) {
    for (int i = 0; i < group.passed_count; i++)
        if (!is_among_passed(&group.passed[i], i))
            tap_after_pass(&group.passed[i]);
    for (int i = 0; i < group.held_count; i++)
        if (group.held[i].aside)
            tap_join(&group.held[i], group.passed, group.passed_count);
    group.held_count = group.passed_count = 0;
}

EXPORT int ncclGroupEnd(void);
EXPORT int ncclGroupEnd(void) {
    FIND_NEXT(ncclGroupEnd, (void));
    const bool is_last = group.depth == 1, alone = group.held_count == 1 && group.passed_count == 0;
    const int begun = is_last && !alone ? begin_aside() : TAP_SUCCESS;
    int result = next();
    group.depth -= group.depth > 0;
    if (!is_last)
        return result;
    const tap_call_t only = alone ? group.held[0] : (tap_call_t){0};
    group.held_count -= alone;
    end_group();
    if (result == TAP_SUCCESS)
        result = begun;
    return alone && result == TAP_SUCCESS ? tap_do(&only) : result;
}

/* --- collectives ---------------------------------------------------------------------------------------- */

#define TAKE(name, params, ...)                                                                              \
    EXPORT int name params;                                                                                  \
    EXPORT int name params { return collective((tap_call_t){__VA_ARGS__, NULL}); }

TAKE(ncclAllReduce, (const void *in, void *out, size_t count, int type, int op, void *comm, void *stream),
     TAP_ALL_REDUCE, in, out, count, type, op, 0, comm, stream)
TAKE(ncclAllGather, (const void *in, void *out, size_t count, int type, void *comm, void *stream),
     TAP_ALL_GATHER, in, out, count, type, 0, 0, comm, stream)
TAKE(ncclReduceScatter, (const void *in, void *out, size_t count, int type, int op, void *comm, void *stream),
     TAP_REDUCE_SCATTER, in, out, count, type, op, 0, comm, stream)
TAKE(ncclAlltoAll, (const void *in, void *out, size_t count, int type, void *comm, void *stream),
     TAP_ALL_TO_ALL, in, out, count, type, 0, 0, comm, stream)
TAKE(ncclBroadcast, (const void *in, void *out, size_t count, int type, int root, void *comm, void *stream),
     TAP_BROADCAST, in, out, count, type, 0, root, comm, stream)
TAKE(ncclBcast, (void *data, size_t count, int type, int root, void *comm, void *stream), TAP_BCAST, data,
     data, count, type, 0, root, comm, stream)
TAKE(ncclReduce,
     (const void *in, void *out, size_t count, int type, int op, int root, void *comm, void *stream),
     TAP_REDUCE, in, out, count, type, op, root, comm, stream)
TAKE(ncclSend, (const void *in, size_t count, int type, int peer, void *comm, void *stream), TAP_SEND, in,
     NULL, count, type, 0, peer, comm, stream)
TAKE(ncclRecv, (void *out, size_t count, int type, int peer, void *comm, void *stream), TAP_RECV, NULL, out,
     count, type, 0, peer, comm, stream)

/* --- communicators -------------------------------------------------------------------------------------- */

/* The beginning of ncclConfig_t, as of NCCL 2.14. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    int blocking;
} config_t;

/* A communicator that its maker does not wait for is NCCL's; so is one that is made in a group, which makes
 * several. */
static bool is_ready(int result, const config_t *config) {
    return result == TAP_SUCCESS && group.depth == 0 && !(config && config->blocking == 0);
}

EXPORT int ncclCommInitRank(void **comm, int size, pto_nccl_id_t id, int rank);
EXPORT int ncclCommInitRank(void **comm, int size, pto_nccl_id_t id, int rank) {
    FIND_NEXT(ncclCommInitRank, (void **, int, pto_nccl_id_t, int));
    int result = next(comm, size, id, rank);
    if (is_ready(result, NULL))
        tap_comm_begin(*comm, &id, size, rank);
    return result;
}

EXPORT int ncclCommInitRankConfig(void **comm, int size, pto_nccl_id_t id, int rank, void *config);
EXPORT int ncclCommInitRankConfig(void **comm, int size, pto_nccl_id_t id, int rank, void *config) {
    FIND_NEXT(ncclCommInitRankConfig, (void **, int, pto_nccl_id_t, int, void *));
    int result = next(comm, size, id, rank, config);
    if (is_ready(result, config))
        tap_comm_begin(*comm, &id, size, rank);
    return result;
}

EXPORT int ncclCommSplit(void *comm, int color, int key, void **made, void *config);
EXPORT int ncclCommSplit(void *comm, int color, int key, void **made, void *config) {
    FIND_NEXT(ncclCommSplit, (void *, int, int, void **, void *));
    int result = next(comm, color, key, made, config);
    tap_comm_t *parent = tap_comm_of(comm);
    const uint64_t split = parent ? ++parent->splits : 0;
    if (parent && is_ready(result, config) && *made)
        tap_comm_begin_split(parent, split, color, *made);
    return result;
}

#define END(name, act)                                                                                       \
    EXPORT int name(void *comm);                                                                             \
    EXPORT int name(void *comm) {                                                                            \
        FIND_NEXT(name, (void *));                                                                           \
        act(comm);                                                                                           \
        return next(comm);                                                                                   \
    }

END(ncclCommFinalize, tap_comm_end)
END(ncclCommDestroy, tap_comm_end)
END(ncclCommAbort, tap_comm_abort)
