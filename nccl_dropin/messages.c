/* Sends and receives. Both ends of a message must decide alike whether it is taken, although each may have it
 * in a different group. So they decide only by what both of them know (decision 65): its size, which NCCL
 * requires to be equal, whether it is captured, and how many captures with messages between the two processes
 * came before. One kernel passes all messages of a group that are taken at the same time, through pipes in
 * the communicator's memory (portolan/messages.h). */
#include "portolan/messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "environment.h"
#include "tap.h"

enum { SENDING, RECEIVING, DIRECTIONS };
_Static_assert(2 * TAP_SIZE_MAX <= PTO_PIPES_MAX, "a pipe to each process and from it must fit");

/* Allocates the pipes' ends, at the same offset on all processes. Without room, messages are left to NCCL. */
void tap_messages_begin(tap_comm_t *comm) {
    const pto_device_t *device = tap_settings()->device;
    const size_t pipes = (size_t)TAP_PIPES_MAX * (size_t)comm->size;
    const size_t sources = pipes * sizeof(pto_pipe_source_t), targets = pipes * sizeof(pto_pipe_target_t);
    tap_messages_t *made = &comm->messages;
    tap_symmetric_t *from = &comm->symmetric;
    void *stop = NULL;
    if (tap_settings()->messages_max_bytes == 0 || !pto_messenger_of(device) ||
        sources + targets > (from->bytes - from->used) / 2 ||
        device->allocate_staging(sizeof *made->stop, &stop, NULL) != PTO_OK)
        return;
    made->stop = stop;
    *made->stop = 0;
    made->sources = from->own + from->used;
    made->targets = made->sources + sources;
    from->used += sources + targets;
}

void tap_messages_free(tap_comm_t *comm) {
    const pto_device_t *device = tap_settings()->device;
    for (tap_pipes_t *pipes = comm->messages.all_pipes, *next; pipes; pipes = next) {
        next = pipes->next;
        if (pipes->stream)
            device->stream_destroy(pipes->stream, NULL);
        for (int i = 0; i < (int)(sizeof pipes->device_list / sizeof *pipes->device_list); i++)
            if (pipes->device_list[i])
                device->release(pipes->device_list[i], NULL);
        free(pipes);
    }
    if (comm->messages.stop)
        device->release_staging(comm->messages.stop, NULL);
    comm->messages = (tap_messages_t){0};
}

/* NULL: out of memory. */
static tap_pipes_t *pipes_of(tap_comm_t *comm, uint64_t capture) {
    tap_pipes_t *pipes = comm->messages.all_pipes;
    while (pipes && pipes->capture != capture)
        pipes = pipes->next;
    if (pipes)
        return pipes;
    pipes = calloc(1, sizeof *pipes);
    if (!pipes)
        return NULL;
    pipes->capture = capture;
    pipes->next = comm->messages.all_pipes;
    comm->messages.all_pipes = pipes;
    return pipes;
}

/* Returns the number of a pipe, which is given at the first message in it: 1 for messages that are not
 * captured, then one for each capture with a message in this direction. The other end counts the same. */
static int pipe_number(tap_comm_t *comm, tap_pipes_t *pipes, int direction, int peer) {
    int *number = &pipes->number[direction][peer];
    if (*number == 0)
        *number = pipes->capture == 0 ? 1 : 2 + comm->messages.used[direction][peer]++;
    return *number;
}

static int64_t bytes_of(const tap_call_t *call) {
    const int64_t each = tap_element_bytes(call->datatype);
    return each > 0 && call->count <= (size_t)(INT64_MAX / each) ? (int64_t)call->count * each : 0;
}

static int direction_of(const tap_call_t *call) {
    return call->function == TAP_ncclSend ? SENDING : RECEIVING;
}

static bool takes(tap_comm_t *comm, const tap_call_t *call) {
    const int64_t bytes = bytes_of(call);
    uint64_t capture = 0;
    if (!comm->messages.sources || bytes == 0 || bytes > tap_settings()->messages_max_bytes ||
        call->peer < 0 || call->peer >= comm->size ||
        !(direction_of(call) == SENDING ? call->in : call->out) || !tap_gpu_capture(call->stream, &capture))
        return false;
    if (call->peer == comm->rank)
        return true;
    tap_pipes_t *pipes = pipes_of(comm, capture);
    return pipes && pipe_number(comm, pipes, direction_of(call), call->peer) <= TAP_PIPES_MAX;
}

bool tap_takes_message(const tap_call_t *call) {
    tap_comm_t *comm = tap_enter(call->comm);
    if (!comm)
        return false;
    const bool taken = takes(comm, call);
    tap_leave(comm);
    return taken;
}

typedef struct {
    pto_messages_t args;
    pto_message_t *message;
} message_list_t;

/* Returns this process's pipe to or from another one. */
static pto_pipe_t pipe_of(tap_comm_t *comm, tap_pipes_t *pipes, int direction, int peer) {
    const size_t first = (size_t)(pipe_number(comm, pipes, direction, peer) - 1) * (size_t)comm->size;
    const int sender = direction == SENDING ? comm->rank : peer,
              receiver = direction == SENDING ? peer : comm->rank;
    char *source = comm->messages.sources + (first + (size_t)receiver) * sizeof(pto_pipe_source_t);
    char *target = comm->messages.targets + (first + (size_t)sender) * sizeof(pto_pipe_target_t);
    pto_team_t *team = &comm->symmetric.team;
    return (pto_pipe_t){.source = team->reach(team->context, sender, source),
                        .target = team->reach(team->context, receiver, target),
                        .sends = direction == SENDING};
}

static bool is_of(const tap_comm_t *comm, const tap_call_t *call) {
    return call->runs_here && call->comm == comm->handle && tap_is_message(call);
}

/* Collects the messages of a pipe, in order. Returns their number. */
static int gather(const tap_comm_t *comm, const tap_call_t *calls, int count, int direction, int peer,
                  pto_message_t *message) {
    int found = 0;
    for (int i = 0; i < count; i++)
        if (is_of(comm, &calls[i]) && direction_of(&calls[i]) == direction && calls[i].peer == peer)
            message[found++] =
                (pto_message_t){direction == SENDING ? calls[i].in : NULL,
                                direction == SENDING ? NULL : calls[i].out, bytes_of(&calls[i])};
    return found;
}

static void add_pipe(message_list_t *list, pto_pipe_t pipe, int count) {
    pipe.first = list->args.message_count;
    pipe.count = count;
    list->args.pipe[list->args.pipe_count++] = pipe;
    list->args.message_count += count;
}

/* Adds what the process sends to itself. False: its receives from itself differ. */
static bool add_own(const tap_comm_t *comm, const tap_call_t *calls, int count, message_list_t *list) {
    pto_message_t *sent = list->message + list->args.message_count;
    const int sends = gather(comm, calls, count, SENDING, comm->rank, sent);
    const int receives = gather(comm, calls, count, RECEIVING, comm->rank, sent + sends);
    bool same = sends == receives;
    for (int i = 0; i < sends && same; i++) {
        same = sent[i].bytes == sent[sends + i].bytes;
        sent[i].to = sent[sends + i].to;
    }
    if (same && sends > 0)
        add_pipe(list, (pto_pipe_t){.source = NULL}, sends);
    return same;
}

static bool list_messages(tap_comm_t *comm, tap_pipes_t *pipes, const tap_call_t *calls, int count,
                          message_list_t *list) {
    list->message = calloc((size_t)count, sizeof *list->message);
    list->args.message = list->message;
    list->args.stop = comm->messages.stop;
    for (int direction = 0; direction < DIRECTIONS && list->message; direction++)
        for (int peer = 0; peer < comm->size; peer++) {
            const int found = peer == comm->rank ? 0
                                                 : gather(comm, calls, count, direction, peer,
                                                          list->message + list->args.message_count);
            if (found > 0)
                add_pipe(list, pipe_of(comm, pipes, direction, peer), found);
        }
    return list->message && add_own(comm, calls, count, list);
}

/* Finds device memory for a list of `count` messages, and allocates it where needed. */
static pto_status_t find_device_list(tap_pipes_t *pipes, int count, pto_message_t **device_list,
                                     pto_error_t *err) {
    int power = 0;
    while (1 << power < count)
        power++;
    void **memory = &pipes->device_list[power];
    pto_status_t status = PTO_OK;
    if (!*memory)
        status = tap_settings()->device->allocate(sizeof **device_list << power, memory, err);
    *device_list = *memory;
    return status;
}

static pto_status_t pass(tap_comm_t *comm, tap_pipes_t *pipes, const message_list_t *list, void *stream,
                         pto_error_t *err) {
    const pto_messenger_t *messenger = pto_messenger_of(tap_settings()->device);
    pto_message_t *device_list = NULL;
    pto_status_t status = PTO_OK;
    if (list->args.message_count > messenger->near_max)
        status = find_device_list(pipes, list->args.message_count, &device_list, err);
    tap_follow_last(comm, stream, pipes->capture);
    if (status == PTO_OK)
        status = messenger->pass(&list->args, device_list, stream, err);
    if (status == PTO_OK)
        tap_record_last(comm, stream, pipes->capture);
    return status;
}

static pto_status_t list_and_pass(tap_comm_t *comm, tap_pipes_t *pipes, tap_call_t *first,
                                  const tap_call_t *calls, int count, bool in_side_stream, pto_error_t *err) {
    message_list_t list = {.message = NULL};
    void *stream = first->stream;
    pto_status_t status = PTO_OK;
    if (!list_messages(comm, pipes, calls, count, &list))
        status = pto_error_set(err, PTO_ERR_RANGE, "it does not receive what it sends to itself");
    if (status == PTO_OK && in_side_stream) {
        status = tap_begin_side_stream(&pipes->stream, first->comm, calls, count, err);
        first->side_stream = stream = pipes->stream;
    }
    if (status == PTO_OK)
        status = pass(comm, pipes, &list, stream, err);
    comm->messages.taken += list.args.message_count;
    free(list.message);
    return status;
}

static int do_here(tap_comm_t *comm, tap_call_t *first, const tap_call_t *calls, int count,
                   bool in_side_stream) {
    pto_error_t err = {0};
    uint64_t capture = 0;
    tap_pipes_t *pipes = tap_gpu_capture(first->stream, &capture) ? pipes_of(comm, capture) : NULL;
    if (!pipes)
        return TAP_SYSTEM_ERROR;
    pto_status_t status = list_and_pass(comm, pipes, first, calls, count, in_side_stream, &err);
    if (status != PTO_OK)
        preload_say("messages of rank %d: %s", comm->rank, err.message);
    return status == PTO_OK ? TAP_SUCCESS : status == PTO_ERR_RANGE ? TAP_INVALID_USAGE : TAP_SYSTEM_ERROR;
}

int tap_do_messages(tap_call_t *first, const tap_call_t *calls, int count, bool in_side_stream) {
    static const tap_pick_t by_pipes = {.name = "pipes"};
    tap_comm_t *comm = tap_enter(first->comm);
    const double began_s = pto_now_s();
    if (!comm)
        return TAP_SYSTEM_ERROR;
    const int result = do_here(comm, first, calls, count, in_side_stream);
    for (int i = 0; i < count && tap_reports(comm); i++)
        if (is_of(comm, &calls[i]))
            tap_report(comm, &calls[i], &by_pipes, true, began_s);
    tap_leave(comm);
    return result;
}
