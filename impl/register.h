/* Allocations that all processes of an executor know beforehand (pto_register), so that buffers inside them
 * need no exchange of handles. */
#ifndef PTO_REGISTER_H
#define PTO_REGISTER_H

#include "executor.h"

enum { PTO_SIDE_IN, PTO_SIDE_OUT, PTO_SIDES };

/* A place in registered memory. It means the same on all processes. */
typedef struct {
    int registration; /* -1: none */
    int64_t offset_bytes;
} pto_registered_t;

/* Returns the place of this process's memory; registration -1 if it is not registered as a whole. */
pto_registered_t pto_register_place(const pto_exec_t *exec, const void *memory, int64_t bytes);

/* Another process's memory at a place, as addressed here, and the start of its allocation. Both stay as they
 * are if that process has a substitute of its own for the user's buffer. Errors: PTO_ERR_RANGE if its
 * registered memory ends before `bytes`, or if it has none. */
pto_status_t pto_register_reach(const pto_exec_t *exec, const pto_registered_t *place, int64_t rank, int side,
                                int64_t bytes, pto_peer_memory_t *reach, pto_error_t *err);

/* A message of a rebinding: by side, the place of a buffer that others access. */
typedef struct {
    pto_status_t status;
    bool unknown[PTO_SIDES]; /* the buffer is not in registered memory */
    pto_registered_t place[PTO_SIDES];
} pto_meeting_t;

/* Collective: all processes give theirs and get those of all, by MPI rank, through shared memory.
 * `everyone`: room for as many as there are processes. Only if the executor has `mailboxes`. */
pto_status_t pto_register_meet(pto_exec_t *exec, const pto_meeting_t *mine, pto_meeting_t *everyone,
                               pto_error_t *err);

/* Returns whether any allocation is registered. */
bool pto_register_any(const pto_exec_t *exec);

/* Free everything but what is in exec->opened. */
void pto_register_free(pto_exec_t *exec);

#endif
