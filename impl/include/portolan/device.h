/* Devices: where `gpu` buffers lie, and what can be done there. One table per backend; device_host.c stands
 * in for a GPU on host memory, device_cuda.cu is the real one. Nothing else in the executor knows either. */
#ifndef PORTOLAN_DEVICE_H
#define PORTOLAN_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/scenario.h"
#include "portolan/status.h"

PTO_API_BEGIN

/* How a reduction combines two values. Integers wrap round. half and bfloat16 are combined in float and
 * rounded to nearest even when the result of a reduction of one or several sources is stored. */
typedef enum {
    PTO_OP_SUM,
    PTO_OP_PROD,
    PTO_OP_MIN,
    PTO_OP_MAX,
    PTO_OP_AVG,  /* the sum, divided at the end by the number of inputs; integers round toward zero */
    PTO_OP_LAND, /* logical: 0 or 1 */
    PTO_OP_LOR,
    PTO_OP_LXOR,
    PTO_OP_BAND, /* bitwise */
    PTO_OP_BOR,
    PTO_OP_BXOR,
    PTO_OP_COUNT
} pto_op_t;

const char *pto_op_name(pto_op_t op);

/* Whether an operation can combine values of a datatype. Errors: PTO_ERR_NOT_APPLICABLE with the reason. */
pto_status_t pto_op_takes(pto_op_t op, pto_datatype_t datatype, pto_error_t *err);

/* `rows` pieces of `bytes` each, the next one `pitch` bytes after the last. */
typedef struct {
    void *target;
    const void *source;
    size_t bytes;
    size_t rows;
    size_t target_pitch_bytes;
    size_t source_pitch_bytes;
} pto_move_t;

enum { PTO_HANDLE_BYTES = 96 };

/* What another process of the node needs to reach a piece of device memory: an allocation, always as the same
 * bytes, and a place in it. */
typedef struct {
    unsigned char byte[PTO_HANDLE_BYTES];
    uint64_t offset_bytes;
} pto_memory_handle_t;

/* What a device has to run kernels (kernel.h). */
typedef struct pto_kernels pto_kernels_t;
/* NCCL's own collectives (nccl.h). */
typedef struct pto_nccl pto_nccl_t;
/* What only benchmarks need (bench.h). */
typedef struct pto_device_bench pto_device_bench_t;

/* All functions but these two return PTO_ERR_IO with the call and its cause where the device fails. */
typedef struct {
    const char *name;
    const char *summary;
    /* Use the GPU of this number on the node, modulo those there are. */
    pto_status_t (*select)(int64_t gpu, pto_error_t *err);
    bool (*mpi_reaches)(void); /* whether MPI takes pointers to this device's memory */
    pto_status_t (*allocate)(size_t bytes, void **memory, pto_error_t *err);
    pto_status_t (*release)(void *memory, pto_error_t *err);
    /* Host memory that the device copies from and to at full speed. */
    pto_status_t (*allocate_staging)(size_t bytes, void **memory, pto_error_t *err);
    pto_status_t (*release_staging)(void *memory, pto_error_t *err);
    /* Page-lock whole pages of memory that the processes of a node share, so that the device copies from and
     * to it as to its staging memory. Every process does so for its own mapping. NULL: not needed. */
    pto_status_t (*pin)(void *memory, size_t bytes, pto_error_t *err);
    pto_status_t (*unpin)(void *memory, pto_error_t *err);
    /* What is queued in a stream happens in order, and has happened once `finish` returns. */
    pto_status_t (*stream_create)(void **stream, pto_error_t *err);
    pto_status_t (*stream_destroy)(void *stream, pto_error_t *err);
    /* Queued: a move; target[i] = target[i] `op` source[i] for `count` elements. `op` is not an average; it
     * takes the datatype. */
    pto_status_t (*copy)(const pto_move_t *move, void *stream, pto_error_t *err);
    pto_status_t (*reduce)(void *target, const void *source, size_t count, pto_datatype_t datatype,
                           pto_op_t op, void *stream, pto_error_t *err);
    /* All sources into the target, in their order, in one go; `fresh`: the target's own values don't count.
     */
    pto_status_t (*reduce_many)(void *target, bool fresh, const void *const *source, int source_count,
                                size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                pto_error_t *err);
    /* target[i] = source[i] / divisor: the end of an average. The target may be the source. */
    pto_status_t (*divide)(void *target, const void *source, size_t count, pto_datatype_t datatype,
                           int64_t divisor, void *stream, pto_error_t *err);
    pto_status_t (*finish)(void *stream, pto_error_t *err);
    pto_status_t (*poll)(void *stream, bool *finished, pto_error_t *err); /* without waiting */
    /* An event marks a point in a stream: what was queued there when `event_record` was last called.
     * `event_poll` tells whether that has happened; an event that was never recorded has. `event_follow`:
     * what is queued in `stream` from now on happens after it, and the process does not wait. Destroy a
     * stream's events before the stream. */
    pto_status_t (*event_create)(void **event, pto_error_t *err);
    pto_status_t (*event_destroy)(void *event, pto_error_t *err);
    pto_status_t (*event_record)(void *event, void *stream, pto_error_t *err);
    pto_status_t (*event_poll)(void *event, bool *finished, pto_error_t *err);
    pto_status_t (*event_follow)(void *event, void *stream, pto_error_t *err);
    /* `export_memory` takes any place inside an allocation; PTO_ERR_NOT_APPLICABLE where the memory is not
     * the device's own. What `open_memory` gives is the same place, and goes back through `close_memory`. */
    pto_status_t (*export_memory)(const void *memory, pto_memory_handle_t *handle, pto_error_t *err);
    pto_status_t (*open_memory)(const pto_memory_handle_t *handle, void **memory, pto_error_t *err);
    pto_status_t (*close_memory)(void *memory, pto_error_t *err);
    const pto_kernels_t *kernels;    /* NULL: it runs none */
    const pto_nccl_t *nccl;          /* NULL: none */
    const pto_device_bench_t *bench; /* NULL: portolan-calibrate can't measure it */
} pto_device_t;

/* One of the devices that this library was built with. Errors: PTO_ERR_NOT_FOUND with the known names. */
pto_status_t pto_device_find(const char *name, const pto_device_t **device, pto_error_t *err);

/* Copy one run of bytes from or to the device, and wait for it. */
pto_status_t pto_device_copy(const pto_device_t *device, void *target, const void *source, size_t bytes,
                             pto_error_t *err);

PTO_API_END

#endif
