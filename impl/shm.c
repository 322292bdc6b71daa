/* Unnamed shared memory: shm_open followed at once by shm_unlink; other processes open /proc/PID/fd. */
#include "shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POISON = 0xa5, POISONED_BYTES = 65536 };

static pto_status_t failed(pto_error_t *err, const char *call, int cause, size_t bytes) {
    return pto_error_set(err, PTO_ERR_IO, "%s: %s (%zu bytes of shared memory)", call, strerror(cause),
                         bytes);
}

static pto_status_t map(int descriptor, size_t bytes, void **memory, pto_error_t *err) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED)
        return failed(err, "mmap", errno, bytes);
    *memory = mapped;
    return PTO_OK;
}

void pto_shared_name(char name[PTO_SHARED_NAME_MAX]) {
    static atomic_uint made;
    const char *prefix = getenv("PORTOLAN_SEGMENTS");
    if (!prefix || !*prefix || strchr(prefix, '/'))
        prefix = "portolan";
    snprintf(name, PTO_SHARED_NAME_MAX, "/%.64s-%ld-%u", prefix, (long)getpid(), atomic_fetch_add(&made, 1));
}

pto_status_t pto_shared_create(size_t bytes, void **memory, pto_shared_handle_t *handle, pto_error_t *err) {
    char name[PTO_SHARED_NAME_MAX];
    size_t size = bytes > 0 ? bytes : 1;
    pto_shared_name(name);
    int descriptor = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (descriptor < 0)
        return failed(err, "shm_open", errno, size);
    shm_unlink(name);
    int cause = posix_fallocate(descriptor, 0, (off_t)size);
    pto_status_t status =
        cause ? failed(err, "posix_fallocate in /dev/shm", cause, size) : map(descriptor, size, memory, err);
    if (status != PTO_OK) {
        close(descriptor);
        return status;
    }
    *handle = (pto_shared_handle_t){.pid = getpid(), .descriptor = descriptor, .bytes = size};
    return PTO_OK;
}

pto_status_t pto_shared_open(const pto_shared_handle_t *handle, void **memory, pto_error_t *err) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)handle->pid, (long long)handle->descriptor);
    int descriptor = open(path, O_RDWR);
    if (descriptor < 0)
        return pto_error_set(err, PTO_ERR_IO, "open %s, another process's shared memory: %s", path,
                             strerror(errno));
    pto_status_t status = map(descriptor, handle->bytes, memory, err);
    close(descriptor);
    return status;
}

void pto_shared_close(void *memory, const pto_shared_handle_t *handle) { munmap(memory, handle->bytes); }

/* Poison the memory: a process that reads it after its owner freed it must not find plausible data. */
void pto_shared_destroy(void *memory, const pto_shared_handle_t *handle) {
    memset(memory, POISON, handle->bytes < POISONED_BYTES ? handle->bytes : POISONED_BYTES);
    pto_shared_close(memory, handle);
    close((int)handle->descriptor);
}
