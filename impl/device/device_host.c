/* The host device (portolan/exec.h), which every machine has: host memory emulates GPU memory, and POSIX
 * shared memory emulates CUDA IPC. The calling process does all the work: copies and reductions when their
 * stream is polled or finished (host_stream.c), kernels when they are polled (kernel_host.c). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host_stream.h"
#include "portolan/exec.h"
#include "shm.h"

enum { PAGE_BYTES = 4096 };

/* A region of memory: allocated here (`own`), or another process's opened here. */
typedef struct region {
    struct region *next;
    char *memory;
    bool own;
    pto_shared_handle_t handle;
} region_t;

_Static_assert(sizeof(pto_shared_handle_t) <= PTO_HANDLE_BYTES, "an allocation must fit into a handle");

/* A function of the profiler, if that is preloaded: it counts this memory as a GPU's (docs/profiling.md). */
extern void portolan_profile_memory(const void *memory, size_t bytes) __attribute__((weak));

static region_t *regions;
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;

static pto_status_t keep(char *memory, bool own, const pto_shared_handle_t *handle, pto_error_t *err) {
    region_t *region = malloc(sizeof *region);
    if (!region)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    pthread_mutex_lock(&regions_lock);
    *region = (region_t){regions, memory, own, *handle};
    regions = region;
    if (portolan_profile_memory)
        portolan_profile_memory(memory, handle->bytes);
    pthread_mutex_unlock(&regions_lock);
    return PTO_OK;
}

/* Returns the link to the region that holds an address. Needs the lock. */
static region_t **find(const void *memory) {
    const char *at = memory;
    region_t **link = &regions;
    while (*link && (at < (*link)->memory || at >= (*link)->memory + (*link)->handle.bytes))
        link = &(*link)->next;
    return link;
}

static pto_status_t host_select(int64_t gpu, pto_error_t *err) {
    (void)gpu, (void)err;
    return PTO_OK;
}

static bool host_mpi_reaches(void) { return true; }

static pto_status_t host_allocate(size_t bytes, void **memory, pto_error_t *err) {
    void *made = NULL;
    pto_shared_handle_t handle;
    pto_status_t status = pto_shared_create(bytes, &made, &handle, err);
    if (status != PTO_OK)
        return status;
    status = keep(made, true, &handle, err);
    if (status != PTO_OK) {
        pto_shared_destroy(made, &handle);
        return status;
    }
    *memory = made;
    return PTO_OK;
}

static pto_status_t drop(void *memory, pto_error_t *err) {
    if (!memory)
        return PTO_OK;
    pthread_mutex_lock(&regions_lock);
    region_t **link = find(memory);
    region_t *region = *link;
    if (region)
        *link = region->next;
    if (region && portolan_profile_memory)
        portolan_profile_memory(region->memory, 0);
    pthread_mutex_unlock(&regions_lock);
    if (!region)
        return pto_error_set(err, PTO_ERR_RANGE, "memory that the host device did not allocate or open");
    (region->own ? pto_shared_destroy : pto_shared_close)(region->memory, &region->handle);
    free(region);
    return PTO_OK;
}

pto_status_t pto_host_pages_allocate(size_t bytes, void **memory, pto_error_t *err) {
    void *made = NULL;
    if (posix_memalign(&made, PAGE_BYTES, bytes > 0 ? bytes : 1))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %zu bytes", bytes);
    *memory = made;
    return PTO_OK;
}

pto_status_t pto_host_pages_release(void *memory, pto_error_t *err) {
    (void)err;
    free(memory);
    return PTO_OK;
}

static pto_status_t host_reduce(void *target, const void *source, size_t count, pto_datatype_t datatype,
                                pto_op_t op, void *stream, pto_error_t *err) {
    return pto_host_stream_reduce(target, false, &source, 1, count, datatype, op, stream, err);
}

static pto_status_t host_export(const void *memory, pto_memory_handle_t *handle, pto_error_t *err) {
    memset(handle, 0, sizeof *handle);
    pthread_mutex_lock(&regions_lock);
    const region_t *region = *find(memory);
    if (region) {
        memcpy(handle->byte, &region->handle, sizeof region->handle);
        handle->offset_bytes = (uint64_t)((const char *)memory - region->memory);
    }
    pthread_mutex_unlock(&regions_lock);
    if (!region)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "memory that the host device did not allocate");
    return PTO_OK;
}

static pto_status_t host_open(const pto_memory_handle_t *handle, void **memory, pto_error_t *err) {
    pto_shared_handle_t shared;
    void *opened = NULL;
    memcpy(&shared, handle->byte, sizeof shared);
    pto_status_t status = pto_shared_open(&shared, &opened, err);
    if (status != PTO_OK)
        return status;
    status = keep(opened, false, &shared, err);
    if (status != PTO_OK) {
        pto_shared_close(opened, &shared);
        return status;
    }
    *memory = (char *)opened + handle->offset_bytes;
    return PTO_OK;
}

extern const pto_kernels_t pto_kernels_host;
extern const pto_nccl_t pto_nccl_host;
extern const pto_device_bench_t pto_device_bench_host;
extern const pto_device_t pto_device_host;
const pto_device_t pto_device_host = {
    .name = "host",
    .summary = "host memory emulating GPU memory; timings are not GPU timings",
    .select = host_select,
    .mpi_reaches = host_mpi_reaches,
    .allocate = host_allocate,
    .release = drop,
    .allocate_staging = pto_host_pages_allocate,
    .release_staging = pto_host_pages_release,
    .stream_create = pto_host_stream_create,
    .stream_destroy = pto_host_stream_destroy,
    .copy = pto_host_stream_copy,
    .reduce = host_reduce,
    .reduce_many = pto_host_stream_reduce,
    .divide = pto_host_stream_divide,
    .finish = pto_host_stream_finish,
    .poll = pto_host_stream_poll,
    .event_create = pto_host_event_create,
    .event_destroy = pto_host_event_destroy,
    .event_record = pto_host_event_record,
    .event_poll = pto_host_event_poll,
    .event_follow = pto_host_event_follow,
    .export_memory = host_export,
    .open_memory = host_open,
    .close_memory = drop,
    .kernels = &pto_kernels_host,
    .nccl = &pto_nccl_host,
    .bench = &pto_device_bench_host,
};
