/* Bytes as a file in memory, for readers that take a path. */
#ifndef PORTOLAN_TESTS_FUZZ_FILE_H
#define PORTOLAN_TESTS_FUZZ_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Its path, the same each time. */
static inline const char *fuzz_file(const uint8_t *data, size_t size) {
    static int file = -1;
    static char path[32];
    if (file < 0) {
        char name[32];
        snprintf(name, sizeof name, "/portolan-fuzz-%d", (int)getpid());
        file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        shm_unlink(name);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    return path;
}

#endif
