/* What the copy benchmarks share: a host and a device buffer of one process and the copy between them. */
#ifndef PORTOLAN_CALIBRATE_COPYING_H
#define PORTOLAN_CALIBRATE_COPYING_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/machine.h"

typedef struct {
    int device; /* the one that copies, and holds `source` of a PTO_COPY_D2D */
    int peer;   /* PTO_COPY_D2D: holds `target`; `device` for a copy within a GPU */
    int home;   /* the process's own, selected again when done */
    bool pageable;
    bool strided; /* the device's buffer is a share of several blocks */
    pto_copy_kind_t kind;
    void *source;
    void *target;
} copying_t;

void copying_open(copying_t *copying, int64_t bytes);

/* A benchmark's `close`: frees the buffers and the copying_t itself, which malloc made. */
void copying_close(void *state);

/* A benchmark's `trial`: seconds for `iterations` copies, each waited for. */
double copying_trial(void *state, int64_t bytes, int iterations);

#endif
