/* Point-to-point messages between the GPUs of a node, as in a group of ncclSend and ncclRecv: one kernel
 * passes a list of messages, all at the same time. Each pair of processes makes progress independently of the
 * others, in whatever order the processes list their messages.
 *
 * A pipe carries messages from one process to another, in order. It has several channels, each with a thread
 * block and a few slots in the receiver's memory. A message is cut into chunks of the size of a slot; chunk i
 * goes through channel i % PTO_PIPE_CHANNELS. The sender fills slots and counts them, the receiver empties
 * slots and counts them, and each waits for the other's count. The counts continue from kernel to kernel, so
 * one side may pass in one kernel what the other side passes in several. */
#ifndef PORTOLAN_MESSAGES_H
#define PORTOLAN_MESSAGES_H

#include "portolan/api.h"
#include "portolan/exec.h"

PTO_C_BEGIN

enum { PTO_PIPE_CHANNELS = 4, PTO_PIPE_SLOTS = 2, PTO_PIPE_SLOT_BYTES = 16384, PTO_PIPES_MAX = 16 };

/* The two ends of a pipe, in the memory of the sender and of the receiver. All zero at first. */
typedef struct {
    uint64_t emptied[PTO_PIPE_CHANNELS]; /* slots; written by the receiver */
    uint64_t sent[PTO_PIPE_CHANNELS];    /* chunks */
} pto_pipe_source_t;

typedef struct {
    uint64_t filled[PTO_PIPE_CHANNELS];   /* slots; written by the sender */
    uint64_t received[PTO_PIPE_CHANNELS]; /* chunks */
    char slot[PTO_PIPE_CHANNELS][PTO_PIPE_SLOTS][PTO_PIPE_SLOT_BYTES];
} pto_pipe_target_t;

typedef struct {
    const char *from; /* NULL: in another process */
    char *to;         /* NULL: in another process */
    int64_t bytes;
} pto_message_t;

/* What one process passes through a pipe: `count` messages from `first` on, in order. If `source` and
 * `target` are NULL, the messages are from the process to itself. */
typedef struct {
    pto_pipe_source_t *source;
    pto_pipe_target_t *target;
    bool sends;
    int first;
    int count;
} pto_pipe_t;

typedef struct {
    pto_pipe_t pipe[PTO_PIPES_MAX];
    int pipe_count;
    const pto_message_t *message;
    int message_count;
    const uint64_t *stop; /* in memory of the device's `allocate_staging`; not 0: end without results */
} pto_messages_t;

/* A device's function for messages. */
typedef struct {
    int near_max; /* the longest list that needs no `far` */
    /* Enqueues the kernel and copies the lists. `far`: device memory for a long list, one for a stream. */
    pto_status_t (*pass)(const pto_messages_t *messages, pto_message_t *far, void *stream, pto_error_t *err);
} pto_messenger_t;

/* NULL: the device has none. */
const pto_messenger_t *pto_messenger_of(const pto_device_t *device);

PTO_C_END

#endif
