/* Sends and receives. The two ends of a message know the same of it: its bytes, which NCCL promises to be
 * equal, whether it is captured, and its place among those from the one process to the other. They decide by
 * nothing else, so each message is taken on both ends or on none, whatever their groups hold (decision 65).
 * What is taken of a group is one kernel, which passes all of it at the same time (portolan/messages.h). */
#include "portolan/messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tap.h"

enum { SENDS, RECEIVES, WAYS };
_Static_assert(2 * TAP_SIZE_MAX <= PTO_PIPES_MAX, "a pipe to each process and from it must fit");

/* --- memory --------------------------------------------------------------------------------------------- */

/* At the same place on all processes. Without room for them, messages are NCCL's on all. */
void tap_messages_begin(tap_comm_t *comm) {
    const pto_device_t *device = tap_settings()->device;
    const size_t pipes = (size_t)TAP_AREAS * (size_t)comm->size;
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
    for (tap_area_t *area = comm->messages.areas, *next; area; area = next) {
        next = area->next;
        if (area->stream)
            device->stream_destroy(area->stream, NULL);
        for (int i = 0; i < (int)(sizeof area->far / sizeof *area->far); i++)
            if (area->far[i])
                device->release(area->far[i], NULL);
        free(area);
    }
    if (comm->messages.stop)
        device->release_staging(comm->messages.stop, NULL);
    comm->messages = (tap_messages_t){0};
}

/* NULL: out of memory. */
static tap_area_t *area_of(tap_comm_t *comm, uint64_t capture) {
    tap_area_t *area = comm->messages.areas;
    while (area && area->capture != capture)
        area = area->next;
    if (area)
        return area;
    area = calloc(1, sizeof *area);
    if (!area)
        return NULL;
    area->capture = capture;
    area->next = comm->messages.areas;
    comm->messages.areas = area;
    return area;
}

/* Of a pipe, which the first message in it numbers: 1 outside graphs, then one for each capture that has a
 * message from the one process to the other. The other end counts the same captures. */
static int number_of(tap_comm_t *comm, tap_area_t *area, int way, int peer) {
    int *number = &area->number[way][peer];
    if (*number == 0)
        *number = area->capture == 0 ? 1 : 2 + comm->messages.used[way][peer]++;
    return *number;
}

/* --- which ---------------------------------------------------------------------------------------------- */

static int64_t bytes_of(const tap_call_t *call) {
    const int64_t each = tap_element_bytes(call->datatype);
    return each > 0 && call->count <= (size_t)(INT64_MAX / each) ? (int64_t)call->count * each : 0;
}

static int way_of(const tap_call_t *call) { return call->function == TAP_ncclSend ? SENDS : RECEIVES; }

static bool takes(tap_comm_t *comm, const tap_call_t *call) {
    const int64_t bytes = bytes_of(call);
    uint64_t capture = 0;
    if (!comm->messages.sources || bytes == 0 || bytes > tap_settings()->messages_max_bytes ||
        call->peer < 0 || call->peer >= comm->size || !(way_of(call) == SENDS ? call->in : call->out) ||
        !tap_gpu_capture(call->stream, &capture))
        return false;
    if (call->peer == comm->rank)
        return true;
    tap_area_t *area = area_of(comm, capture);
    return area && number_of(comm, area, way_of(call), call->peer) <= TAP_AREAS;
}

bool tap_takes_message(const tap_call_t *call) {
    tap_comm_t *comm = tap_enter(call->comm);
    if (!comm)
        return false;
    const bool taken = takes(comm, call);
    tap_leave(comm);
    return taken;
}

/* --- passing -------------------------------------------------------------------------------------------- */

typedef struct {
    pto_messages_t all;
    pto_message_t *message;
} list_t;

/* This process's pipe to or from another one. */
static pto_pipe_t pipe_of(tap_comm_t *comm, tap_area_t *area, int way, int peer) {
    const size_t first = (size_t)(number_of(comm, area, way, peer) - 1) * (size_t)comm->size;
    const int sender = way == SENDS ? comm->rank : peer, receiver = way == SENDS ? peer : comm->rank;
    char *source = comm->messages.sources + (first + (size_t)receiver) * sizeof(pto_pipe_source_t);
    char *target = comm->messages.targets + (first + (size_t)sender) * sizeof(pto_pipe_target_t);
    pto_team_t *team = &comm->symmetric.team;
    return (pto_pipe_t){.source = team->reach(team->context, sender, source),
                        .target = team->reach(team->context, receiver, target),
                        .sends = way == SENDS};
}

static bool is_of(const tap_comm_t *comm, const tap_call_t *call) {
    return call->here && call->comm == comm->handle && tap_is_message(call);
}

/* Those of a pipe, in order. */
static int gather(const tap_comm_t *comm, const tap_call_t *calls, int count, int way, int peer,
                  pto_message_t *message) {
    int found = 0;
    for (int i = 0; i < count; i++)
        if (is_of(comm, &calls[i]) && way_of(&calls[i]) == way && calls[i].peer == peer)
            message[found++] = (pto_message_t){way == SENDS ? calls[i].in : NULL,
                                               way == SENDS ? NULL : calls[i].out, bytes_of(&calls[i])};
    return found;
}

static void add_pipe(list_t *list, pto_pipe_t pipe, int count) {
    pipe.first = list->all.message_count;
    pipe.count = count;
    list->all.pipe[list->all.pipe_count++] = pipe;
    list->all.message_count += count;
}

/* What the process sends to itself; false: it does not receive just this. */
static bool add_own(const tap_comm_t *comm, const tap_call_t *calls, int count, list_t *list) {
    pto_message_t *sent = list->message + list->all.message_count;
    const int sends = gather(comm, calls, count, SENDS, comm->rank, sent);
    const int receives = gather(comm, calls, count, RECEIVES, comm->rank, sent + sends);
    bool same = sends == receives;
    for (int i = 0; i < sends && same; i++) {
        same = sent[i].bytes == sent[sends + i].bytes;
        sent[i].to = sent[sends + i].to;
    }
    if (same && sends > 0)
        add_pipe(list, (pto_pipe_t){.source = NULL}, sends);
    return same;
}

static bool list_all(tap_comm_t *comm, tap_area_t *area, const tap_call_t *calls, int count, list_t *list) {
    list->message = calloc((size_t)count, sizeof *list->message);
    list->all.message = list->message;
    list->all.stop = comm->messages.stop;
    for (int way = 0; way < WAYS && list->message; way++)
        for (int peer = 0; peer < comm->size; peer++) {
            const int found = peer == comm->rank ? 0
                                                 : gather(comm, calls, count, way, peer,
                                                          list->message + list->all.message_count);
            if (found > 0)
                add_pipe(list, pipe_of(comm, area, way, peer), found);
        }
    return list->message && add_own(comm, calls, count, list);
}

/* Room for a long list. */
static pto_status_t find_far(tap_area_t *area, int count, pto_message_t **far, pto_error_t *err) {
    int power = 0;
    while (1 << power < count)
        power++;
    void **memory = &area->far[power];
    pto_status_t status = PTO_OK;
    if (!*memory)
        status = tap_settings()->device->allocate(sizeof **far << power, memory, err);
    *far = *memory;
    return status;
}

static pto_status_t pass(tap_comm_t *comm, tap_area_t *area, const list_t *list, void *stream,
                         pto_error_t *err) {
    const pto_messenger_t *messenger = pto_messenger_of(tap_settings()->device);
    pto_message_t *far = NULL;
    pto_status_t status = PTO_OK;
    if (list->all.message_count > messenger->near_max)
        status = find_far(area, list->all.message_count, &far, err);
    tap_follow(comm, stream, area->capture);
    if (status == PTO_OK)
        status = messenger->pass(&list->all, far, stream, err);
    if (status == PTO_OK)
        tap_note(comm, stream, area->capture);
    return status;
}

static pto_status_t list_and_pass(tap_comm_t *comm, tap_area_t *area, tap_call_t *first,
                                  const tap_call_t *calls, int count, bool aside, pto_error_t *err) {
    list_t list = {.message = NULL};
    void *stream = first->stream;
    pto_status_t status = PTO_OK;
    if (!list_all(comm, area, calls, count, &list))
        status = pto_error_set(err, PTO_ERR_RANGE, "it does not receive what it sends to itself");
    if (status == PTO_OK && aside) {
        status = tap_begin_aside(&area->stream, first->comm, calls, count, err);
        first->aside = stream = area->stream;
    }
    if (status == PTO_OK)
        status = pass(comm, area, &list, stream, err);
    comm->messages.taken += list.all.message_count;
    free(list.message);
    return status;
}

static int do_here(tap_comm_t *comm, tap_call_t *first, const tap_call_t *calls, int count, bool aside) {
    pto_error_t err = {0};
    uint64_t capture = 0;
    tap_area_t *area = tap_gpu_capture(first->stream, &capture) ? area_of(comm, capture) : NULL;
    if (!area)
        return TAP_SYSTEM_ERROR;
    pto_status_t status = list_and_pass(comm, area, first, calls, count, aside, &err);
    if (status != PTO_OK)
        tap_say(0, "messages of rank %d: %s", comm->rank, err.message);
    return status == PTO_OK ? TAP_SUCCESS : status == PTO_ERR_RANGE ? TAP_INVALID_USAGE : TAP_SYSTEM_ERROR;
}

int tap_do_messages(tap_call_t *first, const tap_call_t *calls, int count, bool aside) {
    static const tap_pick_t by_pipes = {.name = "pipes"};
    tap_comm_t *comm = tap_enter(first->comm);
    const double began_s = pto_now_s();
    if (!comm)
        return TAP_SYSTEM_ERROR;
    const int result = do_here(comm, first, calls, count, aside);
    for (int i = 0; i < count && tap_reports(comm); i++)
        if (is_of(comm, &calls[i]))
            tap_report(comm, &calls[i], &by_pipes, true, began_s);
    tap_leave(comm);
    return result;
}
