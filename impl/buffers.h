/* The memory of a plan: buffers, flags, and what other processes share. */
#ifndef PTO_BUFFERS_H
#define PTO_BUFFERS_H

#include "executor.h"

/* Not collective: the memory that pto_exec_bind needs to take part. Errors must be agreed on. */
pto_status_t pto_exec_prepare_binding(pto_exec_t *exec, pto_error_t *err);
/* Collective: bind every buffer of the plan to memory, open other processes' buffers, create the flags.
 * `status` is what this process has come to so far: one that has failed takes part, and keeps its error.
 * Errors, also those of others on the node, must be agreed on. */
pto_status_t pto_exec_bind(pto_exec_t *exec, const void *in, void *out, pto_status_t status,
                           pto_error_t *err);
/* Collective. False, and nothing that others may have open is freed, where they have not come within the
 * time-out. */
bool pto_exec_unbind(pto_exec_t *exec);

/* Not collective: what rebinding needs, so that it allocates nothing. All that others export is open. */
pto_status_t pto_rebind_prepare(pto_exec_t *exec, pto_error_t *err);

/* Address of what another process exported. Every allocation is opened once. */
pto_status_t pto_exec_open_memory(pto_exec_t *exec, int64_t rank, const pto_memory_handle_t *handle,
                                  pto_peer_memory_t *reach, pto_error_t *err);

/* Address of a logical rank's buffer in this process; NULL if it is not accessible. */
char *pto_exec_memory(const pto_exec_t *exec, int buffer, int64_t rank);

/* Size of a buffer's memory: of one copy, if it is double-buffered, and of lines, if it is in line format,
 * where each block has its own. */
int64_t pto_exec_memory_bytes(const pto_exec_t *exec, int buffer, int64_t rank);

/* Returns whether a buffer lies in the segment of the node. */
bool pto_exec_in_segment(const pto_exec_t *exec, int buffer);

/* Distance between the two copies of a double-buffered buffer; 0 if it has one copy. */
int64_t pto_exec_apart_bytes(const pto_exec_t *exec, int buffer, int64_t rank);

/* Address of a kernel's flag from one logical rank to another, one of which is this process: the flag of
 * block 0 and the distance to the next block's. NULL if it is not accessible. */
void *pto_exec_kernel_flag(const pto_exec_t *exec, int64_t from, int64_t to, int flag);
int64_t pto_exec_flag_pitch_bytes(const pto_exec_t *exec);

/* Returns the counter of a flag from one logical rank to another; both must be on this process's node. */
atomic_uint_fast64_t *pto_exec_counter(const pto_exec_t *exec, int64_t from, int64_t to, int flag);

#endif
