/* Programs of NCCL before its drop-in, of processes that fork() starts, on the host device and the small NCCL
 * of fake_nccl_forked.c. Define _DEFAULT_SOURCE. */
#ifndef PTO_NCCL_PROCESSES_H
#define PTO_NCCL_PROCESSES_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl_calls.h"

static int rank, size;
static const pto_device_t *device;
static atomic_int failures;
static const char *name; /* of what is tried */

static inline void expect(bool right, const char *what) {
    if (!right && failures++ < 5)
        fprintf(stderr, "rank %d of %d, %s: %s\n", rank, size, name, what);
}

static inline void finish(void *stream) { device->finish(stream, NULL); }

/* Streams of the host device, in which NCCL's calls are queued. False: there are none. */
static inline bool open_streams(void **stream, int count) {
    if (pto_device_find("host", &device, NULL) != PTO_OK)
        return false;
    fake_host = (fake_host_t){device, pto_host_stream_step, pto_host_stream_capture};
    for (int i = 0; i < count; i++)
        if (device->stream_create(&stream[i], NULL) != PTO_OK)
            return false;
    return true;
}

/* Each of `size` processes ends with what `run` returns. Returns whether any of them failed. */
static inline int run_processes(int (*run)(void)) {
    int ended = 0, failed = 0;
    for (rank = 0; rank < size; rank++)
        if (fork() == 0) {
            const int code = run();
            fflush(stdout);
            _exit(code);
        }
    while (wait(&ended) > 0)
        failed |= ended != 0;
    return failed;
}

#endif
