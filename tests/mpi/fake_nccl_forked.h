/* What a program tells the NCCL of fake_nccl_forked.c, and what that counts. */
#ifndef PTO_FAKE_NCCL_FORKED_H
#define PTO_FAKE_NCCL_FORKED_H

#include <stdatomic.h>

#include "device/host_stream.h"

typedef struct {
    const pto_device_t *device;
    pto_status_t (*step)(pto_host_step_t step, void *what, void *stream, pto_error_t *err);
    uint64_t (*capture)(const void *stream);
} fake_host_t;

extern fake_host_t fake_host;
extern atomic_int fake_calls;  /* collectives, and groups of messages */
extern atomic_int fake_groups; /* begun */

#endif
