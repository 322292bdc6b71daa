/* Unnamed POSIX shared memory: segments that the processes of a node share. */
#ifndef PTO_SHM_H
#define PTO_SHM_H

#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"

typedef struct {
    int64_t pid;
    int64_t descriptor;
    uint64_t bytes;
    uint64_t device; /* with the inode, detects that pid and descriptor name another file */
    uint64_t inode;
} pto_shared_handle_t;

/* Creates a segment and maps it. Its random name begins with $PORTOLAN_SEGMENTS (default: portolan), so that
 * a test can distinguish its own segments. It is unlinked at once, so that nothing remains however the job
 * ends. All pages are allocated: if /dev/shm is full, this returns an error, instead of a SIGBUS later. */
pto_status_t pto_shared_create(size_t bytes, void **memory, pto_shared_handle_t *handle, pto_error_t *err);
/* Creates a segment without pages. Each process allocates the pages of its part by pto_shared_reserve, and so
 * on its own NUMA node, before any process uses them. */
pto_status_t pto_shared_create_sparse(size_t bytes, void **memory, pto_shared_handle_t *handle,
                                      pto_error_t *err);
pto_status_t pto_shared_reserve(const pto_shared_handle_t *handle, size_t offset, size_t bytes,
                                pto_error_t *err);
/* Maps a segment of another process through /proc/PID/fd, which must be in the same PID namespace. */
pto_status_t pto_shared_open(const pto_shared_handle_t *handle, void **memory, pto_error_t *err);
/* Unmaps it. */
void pto_shared_close(void *memory, const pto_shared_handle_t *handle);
/* Poisons up to 64 KiB of the segment (a process that still reads it must not find plausible data), then
 * unmaps and closes it; called by its creator once. */
void pto_shared_destroy(void *memory, const pto_shared_handle_t *handle);

#endif
