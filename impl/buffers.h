/* The memory behind a plan's buffers and flags: this process's own, and that of others on its node. */
#ifndef PTO_BUFFERS_H
#define PTO_BUFFERS_H

#include <string.h>

#include "executor.h"

/* Not collective. Allocates the memory that pto_exec_bind needs. The processes must agree on errors. */
pto_status_t pto_exec_prepare_binding(pto_exec_t *exec, pto_error_t *err);
/* Collective. Binds every buffer of the plan to memory, opens other processes' buffers and creates the flags.
 * A process that has failed before takes part with its `status` and keeps its error. The processes must agree
 * on errors, also on those of others on the node. */
pto_status_t pto_exec_bind(pto_exec_t *exec, const void *in, void *out, pto_status_t status,
                           pto_error_t *err);
/* Collective. Frees what was bound. Returns false if other processes did not call it within the time-out:
 * then nothing that they may have open is freed. */
bool pto_exec_unbind(pto_exec_t *exec);

/* Not collective. Allocates memory for rebinding (rebind.c), when other processes' memory has been opened. */
pto_status_t pto_rebind_prepare(pto_exec_t *exec, pto_error_t *err);

/* Returns whether two handles are of the same allocation. */
static inline bool pto_same_allocation(const pto_memory_handle_t *one, const pto_memory_handle_t *other) {
    return one && other && memcmp(one->byte, other->byte, sizeof one->byte) == 0;
}

/* Opens the memory that another process exported. Each allocation is opened only once. */
pto_status_t pto_exec_open_memory(pto_exec_t *exec, int64_t rank, const pto_memory_handle_t *handle,
                                  pto_peer_memory_t *opened_at, pto_error_t *err);

/* Returns the address of a logical rank's buffer in this process; NULL if it is not accessible. */
char *pto_exec_memory(const pto_exec_t *exec, int buffer, int64_t rank);

/* Returns the size of a buffer's memory. If it is double-buffered, that of one copy; if it is in line format
 * (kernel.h), that of all its blocks' lines. */
int64_t pto_exec_memory_bytes(const pto_exec_t *exec, int buffer, int64_t rank);

/* Returns whether a buffer lies in the node's shared segment. */
bool pto_exec_in_segment(const pto_exec_t *exec, int buffer);

/* Returns the distance between the two copies of a double-buffered buffer; 0 for other buffers. */
int64_t pto_exec_copy_stride_bytes(const pto_exec_t *exec, int buffer, int64_t rank);

/* Returns the address of part 0's flag (kernel.h) from one logical rank to another, one of which is this
 * process; NULL if it is not accessible. pto_exec_flag_pitch_bytes: the distance to the next part's flag. */
void *pto_exec_kernel_flag(const pto_exec_t *exec, int64_t from, int64_t to, int flag);
int64_t pto_exec_flag_pitch_bytes(const pto_exec_t *exec);

/* Returns the counter of a flag from one logical rank to another; both must be on this process's node. */
atomic_uint_fast64_t *pto_exec_counter(const pto_exec_t *exec, int64_t from, int64_t to, int flag);

#endif
