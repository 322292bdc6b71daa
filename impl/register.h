/* Allocations that the processes of an executor have registered (pto_register), so that rebinding to buffers
 * inside them needs no exchange of handles. A registration has the same number on all processes, so a number
 * and an offset name a place in each process's own registered memory. */
#ifndef PTO_REGISTER_H
#define PTO_REGISTER_H

#include "executor.h"

/* The sides of a collective: the user's input buffer and output buffer. */
enum { PTO_SIDE_IN, PTO_SIDE_OUT, PTO_SIDES };

/* A place in registered memory. */
typedef struct {
    int registration; /* -1: none */
    int64_t offset_bytes;
} pto_registered_t;

/* Returns the side of a buffer; -1: it is no input or output of the user's. */
int pto_side_of(const pto_exec_t *exec, int buffer);

/* Returns the place of `bytes` at this process's `memory`; registration -1: not all are registered. */
pto_registered_t pto_register_place(const pto_exec_t *exec, const void *memory, int64_t bytes);

/* Finds the memory of another process at a place. Leaves `found` alone if that process has a shadow buffer
 * instead of the user's. Errors: PTO_ERR_RANGE if its registered memory has no `bytes` there. */
pto_status_t pto_register_peer_memory(const pto_exec_t *exec, const pto_registered_t *place, int64_t rank,
                                      int side, int64_t bytes, pto_peer_memory_t *found, pto_error_t *err);

/* Returns this process's handle of a place. */
pto_memory_handle_t pto_register_handle(const pto_exec_t *exec, const pto_registered_t *place);

/* Returns whether any allocation is registered. */
bool pto_register_any(const pto_exec_t *exec);

/* Frees everything but what is in exec->opened. */
void pto_register_free(pto_exec_t *exec);

#endif
