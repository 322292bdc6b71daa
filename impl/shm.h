/* Memory shared by the processes of a node: unnamed POSIX shared memory. */
#ifndef PTO_SHM_H
#define PTO_SHM_H

#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"

typedef struct {
    int64_t pid;
    int64_t descriptor;
    uint64_t bytes;
    uint64_t inode; /* so that no other process's file is taken for it */
} pto_shared_handle_t;

/* Creates a segment and maps it. It has a random name, which begins with $PORTOLAN_SEGMENTS (default:
 * portolan) so that a test can tell its own segments from others. It is unlinked before this function
 * returns, so nothing remains however the job ends. Other processes open it through the creator's file
 * descriptor. All pages are allocated at once: a full /dev/shm yields an error here instead of SIGBUS later.
 */
pto_status_t pto_shared_create(size_t bytes, void **memory, pto_shared_handle_t *handle, pto_error_t *err);
/* Creates a segment without pages. Before any process uses a part of it, the part's process allocates the
 * pages, on its own NUMA node, by pto_shared_reserve. */
pto_status_t pto_shared_create_sparse(size_t bytes, void **memory, pto_shared_handle_t *handle,
                                      pto_error_t *err);
pto_status_t pto_shared_reserve(const pto_shared_handle_t *handle, size_t offset, size_t bytes,
                                pto_error_t *err);
pto_status_t pto_shared_open(const pto_shared_handle_t *handle, void **memory, pto_error_t *err);
void pto_shared_close(void *memory, const pto_shared_handle_t *handle);
/* Unmaps and closes the segment at its creator. */
void pto_shared_destroy(void *memory, const pto_shared_handle_t *handle);

#endif
