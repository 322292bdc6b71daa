/* Wrappers of NCCL's functions. Those that create and destroy communicators call NCCL's and note the
 * communicator. Collectives and messages run here or in NCCL. Within ncclGroupStart and ncclGroupEnd, which
 * PyTorch puts around each call, this is decided for the group as a whole: see `group`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "tap.h"

/* Begins the definition of an exported function: declares it first. */
#define EXPORT(...)                                                                                          \
    __attribute__((visibility("default"))) __VA_ARGS__;                                                      \
    __VA_ARGS__

static void *library;

static void open_library(void) {
    library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
}

void tap_next(const char *name, void *function, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    tap_settings(); /* it sets an environment variable for NCCL */
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        pthread_once(&once, open_library);
    if (!found && library)
        found = dlsym(library, name);
    memcpy(function, &found, size);
}

/* Declares `next`, NCCL's function of this name, which the first call finds. It is atomic, as several threads
 * may make that call. If there is no such function, the wrapper returns NCCL's error. */
#define FIND_NEXT(name, params)                                                                              \
    static int(*_Atomic next) params; /* NOLINT(bugprone-macro-parentheses): a list of parameters */         \
    if (!next) {                                                                                             \
        int(*found) params = NULL; /* NOLINT(bugprone-macro-parentheses) */                                  \
        tap_next(#name, &found, sizeof found);                                                               \
        next = found;                                                                                        \
    }                                                                                                        \
    if (!next)                                                                                               \
    return TAP_INVALID_USAGE

/* function_list.h is a list of FUNCTION(...). It is expanded three times in this file: into a table of names,
 * into the switch that calls NCCL (with, for ncclAllReduce, `next(in, out, count, datatype, op, comm,
 * stream)`), and into the wrappers. EACH strips the parentheses of a list. */
#define IN_OUT const void *in, void *out, size_t count, int datatype
#define BUFFERS .in = in, .out = out, .count = count, .datatype = datatype
#define EACH(...) __VA_ARGS__

#define FUNCTION(name, collective, ...) [TAP_##name] = {#name, (collective)},
const struct tap_known tap_functions[] = {
#include "function_list.h"
};
#undef FUNCTION

#define FUNCTION(name, collective, params, args, ...)                                                        \
    case TAP_##name: {                                                                                       \
        FIND_NEXT(name, (EACH params, void *comm, void *stream));                                            \
        return next(EACH args, comm, stream);                                                                \
    }

int tap_pass(const tap_call_t *call) {
    const void *in = call->in;
    void *out = call->out, *comm = call->comm, *stream = call->stream;
    const size_t count = call->count;
    const int datatype = call->datatype, op = call->op, peer = call->peer;
    switch (call->function) {
#include "function_list.h"
    }
    return TAP_INVALID_USAGE;
}
#undef FUNCTION

/* The group that this thread has open. All processes have the same collectives of a communicator in the
 * group, but their messages may differ (decision 65). So whether a call runs here must not depend on
 * the messages in the group. Held back are:
 * - a message that can run here;
 * - a collective that can run here, until a second one of its communicator follows: both then go to NCCL.
 *
 * All other calls are passed to NCCL, which enqueues them when the group ends.
 *
 * When the outermost group ends, there are two cases:
 * - All calls are held back, and are one collective or messages of one communicator and stream (runs_as_one):
 *   they run in that stream after NCCL has ended its empty group.
 * - Otherwise, the calls that are held back start in side streams before NCCL enqueues its part, and tap_join
 *   then lets the callers' streams wait for the side streams. */
static _Thread_local struct {
    int depth;
    tap_call_t *calls;
    int count;
    size_t room;
    int passed; /* calls passed to NCCL so far; 0: all are held back */
} group;

/* Returns whether one of the group's first `count` calls was passed to NCCL with the same communicator and
 * stream. NCCL enqueues nothing before the group ends. So only the first call of each such pair needs
 * tap_before_pass, and only one needs tap_after_pass. */
static bool was_pair_passed(const tap_call_t *call, int count) {
    for (int i = 0; i < count; i++)
        if (!group.calls[i].runs_here && group.calls[i].comm == call->comm &&
            group.calls[i].stream == call->stream)
            return true;
    return false;
}

static int pass_in_group(tap_call_t *call) {
    const double began_s = pto_now_s();
    call->runs_here = false;
    group.passed++;
    if (!was_pair_passed(call, (int)(call - group.calls)))
        tap_before_pass(call);
    int result = tap_pass(call);
    tap_report_passed(call, began_s);
    return result;
}

/* Returns the communicator's first collective of the group so far. NULL: none. */
static tap_call_t *collective_of(const void *comm) {
    for (int i = 0; i < group.count; i++)
        if (group.calls[i].comm == comm && !tap_is_message(&group.calls[i]))
            return &group.calls[i];
    return NULL;
}

/* Holds a call back or passes it to NCCL, as described at `group`. `other` is the communicator's collective
 * that was the only one until now. */
static int call_in_group(tap_call_t call) {
    tap_call_t *other = tap_is_message(&call) ? NULL : collective_of(call.comm);
    int result = other && other->runs_here ? pass_in_group(other) : TAP_SUCCESS;
    if (result == TAP_SUCCESS && !PTO_RESERVE(group.calls, group.room, group.count + 1))
        result = TAP_SYSTEM_ERROR;
    if (result != TAP_SUCCESS)
        return result;
    call.runs_here = !other && (tap_is_message(&call) ? tap_takes_message(&call) : tap_takes(&call));
    group.calls[group.count++] = call;
    return call.runs_here ? TAP_SUCCESS : pass_in_group(&group.calls[group.count - 1]);
}

static int do_outside_group(tap_call_t call) {
    call.runs_here = tap_is_message(&call) && tap_takes_message(&call);
    return call.runs_here ? tap_do_messages(&call, &call, 1, false) : tap_do(&call);
}

EXPORT(int ncclGroupStart(void)) {
    FIND_NEXT(ncclGroupStart, (void));
    int result = next();
    group.depth += result == TAP_SUCCESS;
    return result;
}

/* Returns whether the whole group runs here: one collective, or messages of one communicator and stream. */
static bool runs_as_one(void) {
    const tap_call_t *first = group.calls;
    for (int i = 1; i < group.count; i++)
        if (!tap_is_message(first) || !tap_is_message(&first[i]) || first[i].comm != first->comm ||
            first[i].stream != first->stream)
            return false;
    return group.count > 0 && group.passed == 0;
}

/* Returns whether a call is the first held-back message of its communicator. */
static bool is_first_message(int at) {
    for (int i = 0; i < at; i++)
        if (group.calls[i].runs_here && tap_is_message(&group.calls[i]) &&
            group.calls[i].comm == group.calls[at].comm)
            return false;
    return tap_is_message(&group.calls[at]);
}

/* Run the calls that are held back, concurrently with those of NCCL. As in NCCL, a communicator's messages
 * follow its collective. A collective for which no executor can be created goes to NCCL after all. */
static int begin_beside_nccl(void) {
    int result = TAP_SUCCESS;
    for (int i = 0; i < group.count && result == TAP_SUCCESS; i++)
        if (group.calls[i].runs_here && !tap_is_message(&group.calls[i]) &&
            !tap_do_beside_nccl(&group.calls[i], group.calls, group.count, &result))
            result = pass_in_group(&group.calls[i]);
    for (int i = 0; i < group.count && result == TAP_SUCCESS; i++)
        if (group.calls[i].runs_here && is_first_message(i))
            result = tap_do_messages(&group.calls[i], group.calls, group.count, true); /* all of them */
    return result;
}

/* After NCCL has enqueued its part: records that as the last call of each communicator and stream, joins the
 * side streams, and empties the group. */
static void end_group(void) {
    for (int i = 0; i < group.count; i++)
        if (!group.calls[i].runs_here && !was_pair_passed(&group.calls[i], i))
            tap_after_pass(&group.calls[i]);
    for (int i = 0; i < group.count; i++)
        if (group.calls[i].side_stream)
            tap_join(&group.calls[i], group.calls, group.count);
    group.count = group.passed = 0;
}

static int run_as_one(void) {
    const int count = group.count;
    group.count = group.passed = 0; /* group.calls remains valid */
    return tap_is_message(group.calls) ? tap_do_messages(group.calls, group.calls, count, false)
                                       : tap_do(group.calls);
}

EXPORT(int ncclGroupEnd(void)) {
    FIND_NEXT(ncclGroupEnd, (void));
    const bool is_last = group.depth == 1, as_one = is_last && runs_as_one();
    const int begun = is_last && !as_one ? begin_beside_nccl() : TAP_SUCCESS;
    int result = next();
    group.depth -= group.depth > 0;
    if (!is_last)
        return result;
    if (as_one && result == TAP_SUCCESS)
        return run_as_one();
    end_group();
    return result == TAP_SUCCESS ? begun : result;
}

#define FUNCTION(name, collective, params, args, ...)                                                        \
    EXPORT(int name(EACH params, void *comm, void *stream)) {                                                \
        const tap_call_t call = {.function = TAP_##name, __VA_ARGS__, .comm = comm, .stream = stream};       \
        return group.depth == 0 ? do_outside_group(call) : call_in_group(call);                              \
    }
#include "function_list.h"

/* The beginning of ncclConfig_t, as of NCCL 2.14. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    int blocking;
} config_t;

/* Returns whether NCCL has created the communicator when its function returns. Non-blocking communicators,
 * and those created in a group, are not ready then and are left to NCCL. */
static bool is_ready(int result, const config_t *config) {
    return result == TAP_SUCCESS && group.depth == 0 && !(config && config->blocking == 0);
}

EXPORT(int ncclCommInitRank(void **comm, int size, pto_nccl_id_t id, int rank)) {
    FIND_NEXT(ncclCommInitRank, (void **, int, pto_nccl_id_t, int));
    int result = next(comm, size, id, rank);
    if (is_ready(result, NULL))
        tap_comm_begin(*comm, &id, size, rank);
    return result;
}

EXPORT(int ncclCommInitRankConfig(void **comm, int size, pto_nccl_id_t id, int rank, void *config)) {
    FIND_NEXT(ncclCommInitRankConfig, (void **, int, pto_nccl_id_t, int, void *));
    int result = next(comm, size, id, rank, config);
    if (is_ready(result, config))
        tap_comm_begin(*comm, &id, size, rank);
    return result;
}

EXPORT(int ncclCommSplit(void *comm, int color, int key, void **made, void *config)) {
    FIND_NEXT(ncclCommSplit, (void *, int, int, void **, void *));
    int result = next(comm, color, key, made, config);
    tap_comm_t *parent = tap_comm_of(comm);
    const uint64_t split = parent ? ++parent->splits : 0;
    if (parent && is_ready(result, config) && *made)
        tap_comm_begin_split(parent, split, color, *made);
    return result;
}

#define END(name, act)                                                                                       \
    EXPORT(int name(void *comm)) {                                                                           \
        FIND_NEXT(name, (void *));                                                                           \
        act(comm);                                                                                           \
        return next(comm);                                                                                   \
    }

END(ncclCommFinalize, tap_comm_end)
END(ncclCommDestroy, tap_comm_end)
END(ncclCommAbort, tap_comm_abort)
