/* Unnamed shared memory (shm.h): shm_open, then shm_unlink at once. Others open it as /proc/PID/fd/N. */
#include "shm.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POISON = 0xa5, POISONED_BYTES = 65536, NAME_MAX_BYTES = 128, ATTEMPTS_MAX = 100 };

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

/* Makes a random name that no other job can guess, not even from another PID namespace. */
static void make_name(char name[NAME_MAX_BYTES]) {
    const char *prefix = getenv("PORTOLAN_SEGMENTS");
    uint64_t random[2] = {0, 0};
    if (!prefix || !*prefix || strchr(prefix, '/'))
        prefix = "portolan";
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        random[0] = (uint64_t)pto_now_ns();
        random[1] = (uint64_t)getpid();
    }
    snprintf(name, NAME_MAX_BYTES, "/%.64s-%016llx%016llx", prefix, (unsigned long long)random[0],
             (unsigned long long)random[1]);
}

/* Returns the descriptor of a new segment without a name; on error, a negative number and errno. */
static int create_unnamed(void) {
    char name[NAME_MAX_BYTES];
    int descriptor = -1;
    for (int attempt = 0; descriptor < 0 && attempt < ATTEMPTS_MAX; attempt++) {
        make_name(name);
        descriptor = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor >= 0)
        shm_unlink(name);
    return descriptor;
}

/* Returns this process's number in /proc, which is not getpid() if /proc is of another PID namespace. */
static int64_t own_pid(void) {
    char text[32];
    ssize_t length = readlink("/proc/self", text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? strtoll(text, NULL, 10) : (int64_t)getpid();
}

static pto_status_t reserve(int descriptor, size_t offset, size_t bytes, pto_error_t *err) {
    int cause = bytes > 0 ? posix_fallocate(descriptor, (off_t)offset, (off_t)bytes) : 0;
    return cause ? failed(err, "posix_fallocate in /dev/shm", cause, bytes) : PTO_OK;
}

pto_status_t pto_shared_create_sparse(size_t bytes, void **memory, pto_shared_handle_t *handle,
                                      pto_error_t *err) {
    struct stat created;
    int descriptor = create_unnamed();
    if (descriptor < 0)
        return failed(err, "shm_open", errno, bytes);
    pto_status_t status = PTO_OK;
    if (ftruncate(descriptor, (off_t)bytes) || fstat(descriptor, &created))
        status = failed(err, "ftruncate", errno, bytes);
    if (status == PTO_OK)
        status = map(descriptor, bytes, memory, err);
    if (status != PTO_OK) {
        close(descriptor);
        return status;
    }
    *handle = (pto_shared_handle_t){.pid = own_pid(),
                                    .descriptor = descriptor,
                                    .bytes = bytes,
                                    .device = (uint64_t)created.st_dev,
                                    .inode = (uint64_t)created.st_ino};
    return PTO_OK;
}

pto_status_t pto_shared_create(size_t bytes, void **memory, pto_shared_handle_t *handle, pto_error_t *err) {
    void *created = NULL;
    pto_shared_handle_t created_handle = {0};
    pto_status_t status = pto_shared_create_sparse(bytes > 0 ? bytes : 1, &created, &created_handle, err);
    if (status != PTO_OK)
        return status;
    status = reserve((int)created_handle.descriptor, 0, created_handle.bytes, err);
    if (status != PTO_OK) {
        pto_shared_close(created, &created_handle);
        close((int)created_handle.descriptor);
        return status;
    }
    *memory = created;
    *handle = created_handle;
    return PTO_OK;
}

static pto_status_t open_descriptor(const pto_shared_handle_t *handle, int *descriptor, pto_error_t *err) {
    char path[64];
    struct stat found;
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)handle->pid, (long long)handle->descriptor);
    *descriptor = open(path, O_RDWR);
    if (*descriptor < 0)
        return pto_error_set(err, PTO_ERR_IO, "open %s, another process's shared memory: %s", path,
                             strerror(errno));
    if (fstat(*descriptor, &found) == 0 && (uint64_t)found.st_dev == handle->device &&
        (uint64_t)found.st_ino == handle->inode)
        return PTO_OK;
    close(*descriptor);
    return pto_error_set(
        err, PTO_ERR_IO,
        "%s is not the shared memory that another process made: processes of a node need one "
        "/proc, and thus one PID namespace",
        path);
}

pto_status_t pto_shared_reserve(const pto_shared_handle_t *handle, size_t offset, size_t bytes,
                                pto_error_t *err) {
    int descriptor = -1;
    pto_status_t status = open_descriptor(handle, &descriptor, err);
    if (status != PTO_OK)
        return status;
    status = reserve(descriptor, offset, bytes, err);
    close(descriptor);
    return status;
}

pto_status_t pto_shared_open(const pto_shared_handle_t *handle, void **memory, pto_error_t *err) {
    int descriptor = -1;
    pto_status_t status = open_descriptor(handle, &descriptor, err);
    if (status != PTO_OK)
        return status;
    status = map(descriptor, handle->bytes, memory, err);
    close(descriptor);
    return status;
}

void pto_shared_close(void *memory, const pto_shared_handle_t *handle) { munmap(memory, handle->bytes); }

void pto_shared_destroy(void *memory, const pto_shared_handle_t *handle) {
    memset(memory, POISON, handle->bytes < POISONED_BYTES ? handle->bytes : POISONED_BYTES);
    pto_shared_close(memory, handle);
    close((int)handle->descriptor);
}
