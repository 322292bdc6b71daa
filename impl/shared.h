/* Memory that processes of a node share: POSIX shared memory without a name. */
#ifndef PTO_SHARED_H
#define PTO_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "portolan/status.h"

typedef struct {
    int64_t pid;
    int64_t descriptor;
    uint64_t bytes;
} pto_shared_handle_t;

enum { PTO_SHARED_NAME_MAX = 128 };

/* A name for a segment that no other has. It begins with $PORTOLAN_SEGMENTS (default: portolan), so that a
 * test can tell its own segments from those of other jobs. */
void pto_shared_name(char name[PTO_SHARED_NAME_MAX]);

/* The segment's name is removed before this returns, so nothing is left over however the job ends; others
 * open it through the maker's descriptor. Its pages are reserved at once: a full /dev/shm is an error here
 * and no signal later. */
pto_status_t pto_shared_create(size_t bytes, void **memory, pto_shared_handle_t *handle, pto_error_t *err);
pto_status_t pto_shared_open(const pto_shared_handle_t *handle, void **memory, pto_error_t *err);
void pto_shared_close(void *memory, const pto_shared_handle_t *handle);
/* The maker's: unmap and close. */
void pto_shared_destroy(void *memory, const pto_shared_handle_t *handle);

#endif
