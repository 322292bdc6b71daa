/* Wrappers of MPI's point-to-point functions: sends, receives, probes, and the functions that start and
 * complete requests. A send is counted when it is called. A receive is counted when it is posted if its
 * source and tag are known, otherwise when it completes and its status tells them. */
#include <limits.h>
#include <stdlib.h>

#include "intercept.h"

/* Describes a message by the arguments of its call. */
static prof_request_t message_of(prof_routine_t routine, const void *buffer, MPI_Count count,
                                 MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    return (prof_request_t){.routine = (uint8_t)routine,
                            .space = (uint8_t)preload_message_space(buffer, type),
                            .is_wildcard = peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG,
                            .peer = peer,
                            .tag = tag,
                            .bytes = count * prof_type_bytes(type),
                            .group = prof_group_of(comm)};
}

static void count_call(const prof_call_t *call, const prof_request_t *msg) {
    prof_count_call(call, msg->group, msg->peer, msg->tag, msg->bytes, (preload_space_t)msg->space);
}

/* Counts a sent message, and keeps the key of its cell. False: it cannot be counted. */
static bool count_send(const prof_call_t *call, prof_request_t *msg) {
    prof_cell_t *cell = prof_count_sent(call->routine, PROF_MESSAGE, msg->group, msg->peer, msg->tag, 1,
                                        msg->bytes, (preload_space_t)msg->space);
    if (!cell)
        return false;
    cell->inside_ticks += call->end_ticks - call->begin_ticks;
    msg->key = cell->key;
    return true;
}

static void note_send(const prof_call_t *call, int code, prof_request_t msg, const MPI_Request *request) {
    count_call(call, &msg);
    if (code != MPI_SUCCESS || msg.peer == MPI_PROC_NULL)
        return;
    msg.sends = count_send(call, &msg);
    msg.active = true;
    if (request && msg.sends && *request != MPI_REQUEST_NULL)
        prof_request_add(*request, &msg);
}

/* Counts a receive that has completed. */
static void count_received(const prof_request_t *msg, const MPI_Status *status) {
    if (status->MPI_SOURCE != MPI_PROC_NULL)
        prof_count_received(msg->group, status->MPI_SOURCE, status->MPI_TAG, 1, (preload_space_t)msg->space,
                            prof_order_post());
}

static void note_recv(const prof_call_t *call, int code, prof_request_t msg, const MPI_Status *status) {
    count_call(call, &msg);
    if (code == MPI_SUCCESS && msg.peer != MPI_PROC_NULL)
        count_received(&msg, status);
}

/* Declares `use`, a status for MPI's function: the program's or, instead of MPI_STATUS_IGNORE, one of our
 * own. */
#define OWN_STATUS                                                                                           \
    MPI_Status own = {0};                                                                                    \
    MPI_Status *use = status == MPI_STATUS_IGNORE ? &own : status

/* Numbers a posted receive. It is counted now, or when it completes if it has a wildcard. */
static void post(prof_request_t *msg) {
    msg->post_index = prof_order_post();
    msg->active = true;
    if (msg->is_wildcard)
        prof_undetermined_receives++;
    else
        prof_count_received(msg->group, msg->peer, msg->tag, 1, (preload_space_t)msg->space, msg->post_index);
}

static void note_irecv(const prof_call_t *call, int code, prof_request_t msg, const MPI_Request *request) {
    count_call(call, &msg);
    if (code != MPI_SUCCESS || msg.peer == MPI_PROC_NULL)
        return;
    msg.receives = true;
    post(&msg);
    prof_request_add(*request, &msg);
}

static void note_sendrecv(const prof_call_t *call, int code, prof_request_t out, prof_request_t in,
                          const MPI_Status *status) {
    note_send(call, code, out, NULL);
    if (code == MPI_SUCCESS && in.peer != MPI_PROC_NULL)
        count_received(&in, status);
}

#if PRELOAD_HAS_MPI4
/* The time until the request completes is added to the message that is sent. */
static void note_isendrecv(const prof_call_t *call, int code, prof_request_t out, prof_request_t in,
                           const MPI_Request *request) {
    count_call(call, &out);
    if (code != MPI_SUCCESS)
        return;
    in.active = true;
    in.receives = in.peer != MPI_PROC_NULL;
    if (in.receives)
        post(&in);
    in.sends = count_send(call, &out);
    in.key = out.key;
    prof_request_add(*request, &in);
}
#endif

static void note_init(const prof_call_t *call, int code, prof_request_t msg, bool receives,
                      const MPI_Request *request) {
    msg.sends = !receives;
    msg.receives = receives;
    msg.is_wildcard = receives && msg.is_wildcard;
    msg.persistent = true;
    count_call(call, &msg);
    if (code == MPI_SUCCESS && msg.peer != MPI_PROC_NULL)
        prof_request_add(*request, &msg);
}

/* The time of the call is added to the message only if the call starts a single request. */
static void note_start(const prof_call_t *call, int code, const MPI_Request *request, int count) {
    prof_count_call(call, NULL, -1, -1, 0, PRELOAD_CPU);
    for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
        prof_request_t *msg = prof_request_find(request[i]);
        prof_call_t own = {PROF_Start, call->begin_ticks, count == 1 ? call->end_ticks : call->begin_ticks};
        if (!msg || !msg->persistent)
            continue;
        own.routine = (prof_routine_t)msg->routine;
        if (msg->receives)
            post(msg);
        else if (msg->sends)
            count_send(&own, msg);
        prof_count_persistent(msg->persistent_parts, own.routine);
        msg->active = true;
    }
}

PROF_SIMPLE(Start, (MPI_Request * request), (request), note_start(&call, code, request, 1))
PROF_SIMPLE(Startall, (int count, MPI_Request request[]), (count, request),
            note_start(&call, code, request, count))

/* Number of requests that needs no allocation. */
enum { FEW = 32 };

/* A call that completes requests. MPI overwrites the request handles, so they are copied. If the program
 * passes no statuses but they are needed, ours are passed instead. */
typedef struct {
    MPI_Request *saved; /* copies of the handles: in `few`, or in `many` behind the statuses */
    MPI_Status *status; /* passed to MPI: the program's, or in `few_status` or `many` */
    bool has_status;    /* `status` is not MPI_STATUS(ES)_IGNORE */
    int count;          /* of the requests; 0 if out of memory */
    MPI_Request few[FEW];
    MPI_Status few_status[FEW];
    void *many; /* for more than FEW requests; else NULL */
} completion_t;

/* Returns whether a receive among the requests can be counted only by its status. */
static bool needs_status(const completion_t *waiting) {
    for (int i = 0; prof_undetermined_receives > 0 && i < waiting->count; i++) {
        const prof_request_t *msg = prof_request_find(waiting->saved[i]);
        if (msg && msg->active && (msg->is_wildcard || msg->cancelled))
            return true;
    }
    return false;
}

static void wait_begin(completion_t *waiting, int count, const MPI_Request *request, MPI_Status *status,
                       MPI_Status *ignored) {
    size_t room = (size_t)(count > 0 ? count : 0);
    waiting->many = room > FEW ? malloc(room * (sizeof *request + sizeof *status)) : NULL;
    MPI_Status *own = waiting->many ? waiting->many : waiting->few_status;
    waiting->saved = waiting->many ? (MPI_Request *)(void *)(own + room) : waiting->few;
    waiting->count = room <= FEW || waiting->many ? (int)room : 0;
    for (int i = 0; i < waiting->count; i++)
        waiting->saved[i] = request[i];
    prof_lock();
    bool replace = status == ignored && needs_status(waiting);
    prof_unlock();
    waiting->status = replace ? own : status;
    waiting->has_status = waiting->status != ignored;
}

static bool was_cancelled(const MPI_Status *status) {
    int flag = 0;
    PMPI_Test_cancelled(status, &flag);
    return flag;
}

static void complete_receive(const prof_request_t *msg, const MPI_Status *status) {
    bool cancelled = status && msg->cancelled && was_cancelled(status);
    if (msg->is_wildcard) {
        if (status && !cancelled && status->MPI_SOURCE != MPI_PROC_NULL)
            prof_count_received(msg->group, status->MPI_SOURCE, status->MPI_TAG, 1,
                                (preload_space_t)msg->space, msg->post_index);
        prof_undetermined_receives--;
    } else if (cancelled) {
        prof_order_cancel(prof_world_rank(msg->group, msg->peer), msg->group->id, msg->tag, msg->post_index);
    }
}

static void complete(MPI_Request request, const MPI_Status *status, int64_t waiting) {
    prof_request_t *msg = prof_request_find(request);
    if (!msg || !msg->active)
        return;
    msg->active = false;
    prof.time[msg->routine][msg->space].waiting_ticks += waiting;
    if (msg->receives)
        complete_receive(msg, status);
    prof_cell_t *cell = msg->sends ? prof_find_cell(&msg->key) : NULL;
    if (cell)
        cell->waiting_ticks += waiting;
    prof_undetermined_receives -= msg->cancelled;
    msg->cancelled = false;
    if (!msg->persistent)
        prof_request_remove(msg);
}

/* After the call: counts what `done` requests have completed, those with these indices or, if NULL, the first
 * ones. `done` may be MPI_UNDEFINED, a negative number: none. */
static void wait_end(completion_t *waiting, const prof_call_t *call, int code, int done, const int *index) {
    int64_t waited =
        done > 1 ? (call->end_ticks - call->begin_ticks) / done : call->end_ticks - call->begin_ticks;
    bool some = done > 0 && done <= waiting->count && (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS);
    prof_count_call(call, NULL, -1, -1, 0, PRELOAD_CPU);
    for (int i = 0; some && i < done; i++)
        complete(waiting->saved[index ? index[i] : i], waiting->has_status ? &waiting->status[i] : NULL,
                 waited);
    free(waiting->many);
}

#define WAITING(count, requests, status, ignored)                                                            \
    completion_t waiting;                                                                                    \
    wait_begin(&waiting, count, requests, status, ignored)

PROF_BOTH(Wait, true, (MPI_Request * request, MPI_Status *status), (request, status),
          (request, waiting.status), WAITING(1, request, status, MPI_STATUS_IGNORE),
          wait_end(&waiting, &call, code, 1, NULL))
PROF_BOTH(Test, true, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status),
          (request, flag, waiting.status), WAITING(1, request, status, MPI_STATUS_IGNORE),
          wait_end(&waiting, &call, code, code == MPI_SUCCESS && *flag, NULL))
PROF_BOTH(Waitall, true, (int count, MPI_Request requests[], MPI_Status statuses[]),
          (count, requests, statuses), (count, requests, waiting.status),
          WAITING(count, requests, statuses, MPI_STATUSES_IGNORE),
          wait_end(&waiting, &call, code, count, NULL))
PROF_BOTH(Testall, true, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
          (count, requests, flag, statuses), (count, requests, flag, waiting.status),
          WAITING(count, requests, statuses, MPI_STATUSES_IGNORE),
          wait_end(&waiting, &call, code, code == MPI_SUCCESS && *flag ? count : 0, NULL))
PROF_BOTH(Waitany, true, (int count, MPI_Request requests[], int *index, MPI_Status *status),
          (count, requests, index, status), (count, requests, index, waiting.status),
          WAITING(count, requests, status, MPI_STATUS_IGNORE),
          wait_end(&waiting, &call, code, code == MPI_SUCCESS && *index != MPI_UNDEFINED, index))
PROF_BOTH(Testany, true, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
          (count, requests, index, flag, status), (count, requests, index, flag, waiting.status),
          WAITING(count, requests, status, MPI_STATUS_IGNORE),
          wait_end(&waiting, &call, code, code == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED, index))
PROF_BOTH(Waitsome, true,
          (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
          (count, requests, done, indices, statuses), (count, requests, done, indices, waiting.status),
          WAITING(count, requests, statuses, MPI_STATUSES_IGNORE),
          wait_end(&waiting, &call, code, *done, indices))
PROF_BOTH(Testsome, true,
          (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
          (count, requests, done, indices, statuses), (count, requests, done, indices, waiting.status),
          WAITING(count, requests, statuses, MPI_STATUSES_IGNORE),
          wait_end(&waiting, &call, code, *done, indices))

static void forget(prof_request_t *msg) {
    prof_undetermined_receives -= (msg->active && msg->is_wildcard) + msg->cancelled;
    prof_request_remove(msg);
}

static void mark_cancelled(prof_request_t *msg) {
    prof_undetermined_receives += msg->receives && !msg->cancelled;
    msg->cancelled = msg->receives;
}

static void on_request(MPI_Request request, void (*act)(prof_request_t *msg)) {
    if (!prof_enter(true))
        return;
    prof_lock();
    prof_request_t *msg = prof_request_find(request);
    if (msg)
        act(msg);
    prof_unlock();
    prof_leave();
}

PRELOAD_PASS_BOTH(Request_free, (MPI_Request * request), (request), on_request(*request, forget), (void)0)
PRELOAD_PASS_BOTH(Cancel, (MPI_Request * request), (request), on_request(*request, mark_cancelled), (void)0)

static void note_probe(const prof_call_t *call, int peer, int tag, MPI_Comm comm) {
    prof_count_call(call, prof_group_of(comm), peer, tag, 0, PRELOAD_CPU);
}

/* A matched probe takes its place in the order of posted receives; a later call receives the message. */
static void note_mprobe(const prof_call_t *call, int code, int peer, int tag, MPI_Comm comm, bool found,
                        MPI_Message message, const MPI_Status *status) {
    note_probe(call, peer, tag, comm);
    if (code != MPI_SUCCESS || !found || status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    prof_message_add(message, &(prof_request_t){.peer = status->MPI_SOURCE,
                                                .tag = status->MPI_TAG,
                                                .post_index = prof_order_post(),
                                                .group = prof_group_of(comm)});
    prof_undetermined_receives++;
}

static void note_mrecv(const prof_call_t *call, int code, const void *buffer, MPI_Count count,
                       MPI_Datatype type, MPI_Message message) {
    prof_request_t msg = {.group = NULL};
    preload_space_t space = preload_message_space(buffer, type);
    bool known = prof_message_take(message, &msg);
    prof_count_call(call, msg.group, msg.peer, msg.tag, count * prof_type_bytes(type), space);
    if (!known)
        return;
    if (code == MPI_SUCCESS)
        prof_count_received(msg.group, msg.peer, msg.tag, 1, space, msg.post_index);
    prof_undetermined_receives--;
}

PROF_SIMPLE(Probe, (int peer, int tag, MPI_Comm comm, MPI_Status *status), (peer, tag, comm, status),
            note_probe(&call, peer, tag, comm))
PROF_SIMPLE(Iprobe, (int peer, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
            (peer, tag, comm, flag, status), note_probe(&call, peer, tag, comm))
PROF_BOTH(Mprobe, false, (int peer, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
          (peer, tag, comm, message, status), (peer, tag, comm, message, use), OWN_STATUS,
          note_mprobe(&call, code, peer, tag, comm, true, *message, use))
PROF_BOTH(Improbe, false,
          (int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
          (peer, tag, comm, flag, message, status), (peer, tag, comm, flag, message, use), OWN_STATUS,
          note_mprobe(&call, code, peer, tag, comm, *flag != 0, *message, use))

#define SEND_PARAMS const void *buffer, COUNT count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define SEND_ARGS buffer, count, type, peer, tag, comm
#define RECV_PARAMS void *buffer, COUNT count, MPI_Datatype type, int peer, int tag, MPI_Comm comm

#define MESSAGE message_of(call.routine, SEND_ARGS)

#define SEND(name) PROF_SIMPLE_FORM(name, (SEND_PARAMS), (SEND_ARGS), note_send(&call, code, MESSAGE, NULL))
#define ISEND(name)                                                                                          \
    PROF_SIMPLE_FORM(name, (SEND_PARAMS, MPI_Request * request), (SEND_ARGS, request),                       \
                     note_send(&call, code, MESSAGE, request))
#define SEND_INIT(name)                                                                                      \
    PROF_BOTH_FORM(name, true, (SEND_PARAMS, MPI_Request * request), (SEND_ARGS, request),                   \
                   (SEND_ARGS, request), (void)0, note_init(&call, code, MESSAGE, false, request))

#define BOTH_OF(in, in_count, in_type)                                                                       \
    MESSAGE, message_of(call.routine, in, in_count, in_type, source, in_tag, comm)
#define SENDRECV_PARAMS                                                                                      \
    const void *buffer, COUNT count, MPI_Datatype type, int peer, int tag, void *in, COUNT in_count,         \
        MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm
#define SENDRECV_ARGS buffer, count, type, peer, tag, in, in_count, in_type, source, in_tag, comm
#define REPLACE_PARAMS                                                                                       \
    void *buffer, COUNT count, MPI_Datatype type, int peer, int tag, int source, int in_tag, MPI_Comm comm
#define REPLACE_ARGS buffer, count, type, peer, tag, source, in_tag, comm

#define PRELOAD_LIST "message_list.h"
#include "each_count.h"

#if PRELOAD_HAS_MPI4
/* A partitioned message counts as one message. It is matched only by a partitioned receive, so its tag is
 * shifted out of the range of other tags. */
#define PARTITIONED_PARAMS(const_void)                                                                       \
    const_void *buffer, int partitions, MPI_Count count, MPI_Datatype type, int peer, int tag,               \
        MPI_Comm comm, MPI_Info info, MPI_Request *request
#define PARTITIONED_ARGS buffer, partitions, count, type, peer, tag, comm, info, request
#define PARTITIONED(name, const_void, receives)                                                              \
    PROF_BOTH(                                                                                               \
        name, true, (PARTITIONED_PARAMS(const_void)), (PARTITIONED_ARGS), (PARTITIONED_ARGS), (void)0,       \
        note_init(&call, code,                                                                               \
                  message_of(call.routine, buffer, partitions *count, type, peer, INT_MIN + tag, comm),      \
                  receives, request))
PARTITIONED(Psend_init, const void, false)
PARTITIONED(Precv_init, void, true)
#endif
