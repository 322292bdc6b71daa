/* Messages (portolan/messages.h) on the host device. A batch of messages is a step of a stream
 * (host_stream.h): each time, the process passes one chunk in each channel, if possible, until none is left.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device/host_stream.h"
#include "portolan/messages.h"

/* The position of a channel of a pipe: its message, and the offset of the next chunk. */
typedef struct {
    int message;
    int64_t at;
} position_t;

/* The messages of one call of `pass`. */
typedef struct batch {
    struct batch *next; /* in the list of batches in graphs */
    pto_messages_t all;
    pto_message_t *message; /* a copy of the list, behind this struct */
    position_t position[PTO_PIPES_MAX][PTO_PIPE_CHANNELS];
    bool in_graph; /* it may run again, so it is never freed */
} batch_t;

static uint64_t load(const uint64_t *count) {
    return atomic_load_explicit((const _Atomic uint64_t *)count, memory_order_acquire);
}

static void store(uint64_t *count, uint64_t value) {
    atomic_store_explicit((_Atomic uint64_t *)count, value, memory_order_release);
}

/* Passes a chunk, from byte `at` of a message on. Returns false if no slot is empty, or filled. */
static bool pass_chunk(const pto_pipe_t *pipe, int channel, const pto_message_t *message, int64_t at,
                       size_t bytes) {
    if (!pipe->source) {
        memmove(message->to + at, message->from + at, bytes);
        return true;
    }
    uint64_t *passed = pipe->sends ? &pipe->source->sent[channel] : &pipe->target->received[channel];
    char *slot = pipe->target->slot[channel][*passed % PTO_PIPE_SLOTS];
    if (pipe->sends && *passed >= load(&pipe->source->emptied[channel]) + PTO_PIPE_SLOTS)
        return false;
    if (!pipe->sends && load(&pipe->target->filled[channel]) <= *passed)
        return false;
    if (pipe->sends)
        memcpy(slot, message->from + at, bytes);
    else
        memcpy(message->to + at, slot, bytes);
    ++*passed;
    store(pipe->sends ? &pipe->target->filled[channel] : &pipe->source->emptied[channel], *passed);
    return true;
}

/* Passes the next chunk of a channel, if possible. Returns false if there are no more chunks. */
static bool advance(const batch_t *batch, const pto_pipe_t *pipe, int channel, position_t *position) {
    while (position->message < pipe->count) {
        const pto_message_t *message = &batch->message[pipe->first + position->message];
        if (position->at < message->bytes) {
            const int64_t left = message->bytes - position->at;
            const int64_t chunk = left < PTO_PIPE_SLOT_BYTES ? left : PTO_PIPE_SLOT_BYTES;
            if (pass_chunk(pipe, channel, message, position->at, (size_t)chunk))
                position->at += PTO_PIPE_CHANNELS * PTO_PIPE_SLOT_BYTES;
            return true;
        }
        position->message++;
        position->at = (int64_t)channel * PTO_PIPE_SLOT_BYTES;
    }
    return false;
}

static void begin(batch_t *batch) {
    for (int pipe = 0; pipe < PTO_PIPES_MAX; pipe++)
        for (int channel = 0; channel < PTO_PIPE_CHANNELS; channel++)
            batch->position[pipe][channel] = (position_t){0, (int64_t)channel * PTO_PIPE_SLOT_BYTES};
}

/* Passes chunks as a step of a stream (pto_host_step_t). */
static bool step(void *context, bool *begun) {
    batch_t *batch = context;
    bool left = false; /* there are more chunks */
    if (!*begun)
        begin(batch);
    *begun = true;
    for (int pipe = 0; pipe < batch->all.pipe_count; pipe++)
        for (int channel = 0; channel < PTO_PIPE_CHANNELS; channel++)
            left = advance(batch, &batch->all.pipe[pipe], channel, &batch->position[pipe][channel]) || left;
    if (left && load(batch->all.stop) == 0)
        return false;
    if (!batch->in_graph)
        free(batch);
    return true;
}

/* Keeps a batch of a graph, which may run at any time, reachable (for leak checkers). */
static void keep(batch_t *batch) {
    static _Atomic(batch_t *) kept;
    batch->next = atomic_load(&kept);
    while (!atomic_compare_exchange_weak(&kept, &batch->next, batch))
        continue;
}

static pto_status_t pass(const pto_messages_t *messages, pto_message_t *far, void *stream, pto_error_t *err) {
    const size_t bytes = (size_t)messages->message_count * sizeof *messages->message;
    batch_t *batch = malloc(sizeof *batch + bytes);
    (void)far;
    if (!batch)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %d messages", messages->message_count);
    *batch = (batch_t){.all = *messages, .in_graph = pto_host_stream_capture(stream) != 0};
    batch->message = (pto_message_t *)(batch + 1);
    memcpy(batch->message, messages->message, bytes);
    if (batch->in_graph)
        keep(batch);
    return pto_host_stream_step(step, batch, stream, err);
}

extern const pto_messenger_t pto_messenger_host;
const pto_messenger_t pto_messenger_host = {.near_max = 64, .pass = pass};
