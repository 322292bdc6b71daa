/* Allocations that the processes of an executor have registered (pto_register), so that rebinding to buffers
 * inside them needs no exchange of handles. A registration has the same number on all processes, so a number
 * and an offset name a place in each process's own registered memory. */
#ifndef PTO_REGISTER_H
#define PTO_REGISTER_H

#include "executor.h"

enum { PTO_SIDE_IN, PTO_SIDE_OUT, PTO_SIDES };

/* A place in registered memory. */
typedef struct {
    int registration; /* -1: none */
    int64_t offset_bytes;
} pto_registered_t;

/* Returns the place of `bytes` at this process's `memory`; registration -1: not all are registered. */
pto_registered_t pto_register_place(const pto_exec_t *exec, const void *memory, int64_t bytes);

/* Finds the memory of another process at a place. Leaves `found` alone if that process has a shadow buffer
 * instead of the user's. Errors: PTO_ERR_RANGE if its registered memory has no `bytes` there. */
pto_status_t pto_register_peer_memory(const pto_exec_t *exec, const pto_registered_t *place, int64_t rank,
                                      int side, int64_t bytes, pto_peer_memory_t *found, pto_error_t *err);

/* A process's message in a rebinding: by side, the place of its new buffer, if others access it. */
typedef struct {
    pto_status_t status;
    bool unknown[PTO_SIDES]; /* the buffer is not in registered memory */
    pto_registered_t place[PTO_SIDES];
} pto_place_message_t;

/* Collective: an allgather through shared memory, by rank in the team. Only for executors with `mailboxes`.
 */
pto_status_t pto_register_exchange_places(pto_exec_t *exec, const pto_place_message_t *mine,
                                          pto_place_message_t *everyone, pto_error_t *err);

/* Returns whether any allocation is registered. */
bool pto_register_any(const pto_exec_t *exec);

/* Frees everything but what is in exec->opened. */
void pto_register_free(pto_exec_t *exec);

#endif
