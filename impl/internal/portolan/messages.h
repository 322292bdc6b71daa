/* Messages between the processes of a node: one kernel passes all of a list at the same time, whichever order
 * the processes have them in. What two processes send each other depends on nothing but these two.
 *
 * A pipe carries messages from one process to another, in order. It has several lanes, each with a thread
 * block and a few slots in the receiver's memory. A message is cut into pieces that fill a slot; piece i goes
 * through lane i % PTO_PIPE_LANES. The sender fills a slot and counts it, the receiver empties it and counts
 * that; both wait for the other's count. Counts continue from kernel to kernel, so one side may pass in one
 * kernel what the other one passes in several. */
#ifndef PORTOLAN_MESSAGES_H
#define PORTOLAN_MESSAGES_H

#include "portolan/api.h"
#include "portolan/exec.h"

PTO_C_BEGIN

enum { PTO_PIPE_LANES = 4, PTO_PIPE_SLOTS = 2, PTO_PIPE_SLOT_BYTES = 16384, PTO_PIPES_MAX = 16 };

/* The sender's end, in its memory, and the receiver's. All zero at first. */
typedef struct {
    uint64_t emptied[PTO_PIPE_LANES]; /* slots, by the receiver */
    uint64_t sent[PTO_PIPE_LANES];    /* pieces */
} pto_pipe_source_t;

typedef struct {
    uint64_t filled[PTO_PIPE_LANES]; /* slots, by the sender */
    uint64_t received[PTO_PIPE_LANES];
    char slot[PTO_PIPE_LANES][PTO_PIPE_SLOTS][PTO_PIPE_SLOT_BYTES];
} pto_pipe_target_t;

typedef struct {
    const char *from; /* NULL: another process's */
    char *to;         /* NULL: another process's */
    int64_t bytes;
} pto_message_t;

/* One process's end of a pipe, and what it passes through it, in order. Without ends, the messages are from
 * the process to itself. */
typedef struct {
    pto_pipe_source_t *source;
    pto_pipe_target_t *target;
    bool sends;
    int first; /* message */
    int count;
} pto_pipe_t;

typedef struct {
    pto_pipe_t pipe[PTO_PIPES_MAX];
    int pipe_count;
    const pto_message_t *message;
    int message_count;
    const uint64_t *stop; /* in memory of the device's `allocate_staging`; not 0: end without results */
} pto_messages_t;

/* A device's means to pass messages. */
typedef struct {
    int near_max; /* messages that need no `far` */
    /* Enqueue the kernel. The lists are the caller's again at once. `far`: device memory for all messages,
     * which the kernels of a stream may share. */
    pto_status_t (*pass)(const pto_messages_t *messages, pto_message_t *far, void *stream, pto_error_t *err);
} pto_messenger_t;

/* NULL: the device has none. */
const pto_messenger_t *pto_messenger_of(const pto_device_t *device);

PTO_C_END

#endif
