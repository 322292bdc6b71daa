/* A device's optional interface for benchmarks, which portolan-calibrate needs: which GPUs there are, kernels
 * that each isolate one cost, and graphs.
 *
 * GPUs are numbered from 0 as the process sees them; `select` of exec.h chooses one. Functions with a stream
 * enqueue work there and return at once. Errors are those of exec.h. */
#ifndef PORTOLAN_BENCH_H
#define PORTOLAN_BENCH_H

#include "portolan/api.h"
#include "portolan/exec.h"
#include "portolan/machine.h"

PTO_C_BEGIN

enum { PTO_GPU_TEXT_MAX = 256, PTO_GPU_BUS_MAX = 32 };

typedef struct {
    char name[PTO_GPU_TEXT_MAX];
    char bus[PTO_GPU_BUS_MAX]; /* PCI address */
    int blocks;                /* thread blocks of `move` that fill the GPU */
    pto_mps_t mps;             /* _UNKNOWN: the driver cannot tell */
} pto_gpu_info_t;

/* How a copy learns where its memory is: from the addresses (cudaMemcpyDefault), from the caller, or from
 * a query of the address in GPU memory before the copy (cudaPointerGetAttributes). */
typedef enum {
    PTO_BENCH_COPY_DEFAULT,
    PTO_BENCH_COPY_EXPLICIT,
    PTO_BENCH_COPY_QUERY,
    PTO_BENCH_COPY_COUNT
} pto_bench_copy_t;

/* GPUs that `store_all` can store to. */
enum { PTO_BENCH_TARGETS_MAX = 15 };

/* Memory of each side of `ping_pong`; zero before the first one. */
enum { PTO_BENCH_PING_PONG_BYTES = 256 + 16 * 512 };

/* The times measured on one side of a ping-pong. */
typedef struct {
    uint64_t elapsed_ns;   /* of all rounds but the first, in which the two find each other */
    uint32_t failed_round; /* the round in which the other side's flag did not arrive in time; 0: none */
    bool stale;            /* a flag arrived before its data */
} pto_bench_rounds_t;

/* One side of a ping-pong: `1 + rounds` rounds, which raise the flags' values from `from`. */
typedef struct {
    void *own;
    void *others; /* the other side's memory, opened here */
    bool first;   /* this side begins */
    uint32_t from;
    int rounds;
    double limit_s;             /* of each wait */
    pto_bench_rounds_t *result; /* in staging memory (exec.h); valid once the stream is finished */
} pto_bench_ping_pong_t;

struct pto_device_bench {
    const char *build; /* what the device was built with: "with CUDA 13.0" */
    /* At least 1. Errors: PTO_ERR_NOT_FOUND where there is no GPU. */
    pto_status_t (*count)(int *count, pto_error_t *err);
    pto_status_t (*describe)(int gpu, pto_gpu_info_t *info, pto_error_t *err);
    /* Versions of driver and run-time library, for provenance. */
    pto_status_t (*versions)(char text[PTO_GPU_TEXT_MAX], pto_error_t *err);
    /* `can_reach`: whether a GPU can access a peer's memory. `reach`: enable that for the selected GPU; no
     * error if it is already enabled or impossible. */
    pto_status_t (*can_reach)(int gpu, int peer, bool *can, pto_error_t *err);
    pto_status_t (*reach)(int peer, pto_error_t *err);
    /* Returns when all bytes are set. */
    pto_status_t (*fill)(void *memory, int byte, size_t bytes, pto_error_t *err);
    /* One copy of `kind`, any but within a GPU; returns when it is complete. */
    pto_status_t (*copy_by)(pto_bench_copy_t how, pto_copy_kind_t kind, void *target, const void *source,
                            size_t bytes, pto_error_t *err);
    /* A kernel that does nothing. */
    pto_status_t (*launch_empty)(void *stream, pto_error_t *err);
    /* target[i * stride] = source[i] for `count` elements of `width` bytes (4, 8 or 16), by `blocks` thread
     * blocks; either may be another GPU's memory. When it ends, all see its stores. */
    pto_status_t (*move)(void *target, const void *source, size_t count, int width, int stride, int blocks,
                         void *stream, pto_error_t *err);
    /* Stores bytes [j * bytes, (j + 1) * bytes) of `source` in `target[j]`, for all j. 16 divides `bytes`. */
    pto_status_t (*store_all)(void *const *target, int target_count, const void *source, size_t bytes,
                              int blocks, void *stream, pto_error_t *err);
    /* A kernel of one block that stores a word of each thread in the other side's memory, raises a flag
     * there, waits for its own flag and loads the words that it announces. */
    pto_status_t (*ping_pong)(const pto_bench_ping_pong_t *side, void *stream, pto_error_t *err);
    /* Operations enqueued in the stream between these two become a graph instead. `graph_end` must be called
     * even if something in between has failed; the graph is then NULL. */
    pto_status_t (*graph_begin)(void *stream, pto_error_t *err);
    pto_status_t (*graph_end)(void *stream, void **graph, pto_error_t *err);
    pto_status_t (*graph_destroy)(void *graph, pto_error_t *err);
    pto_status_t (*graph_launch)(void *graph, void *stream, pto_error_t *err);
    /* *target = the sum of `count` values, both in the selected GPU's memory. One sum at a time. */
    pto_status_t (*sum)(double *target, const double *source, size_t count, void *stream, pto_error_t *err);
    /* One step of a nine-point stencil in place: `field` has rows x columns cells within a halo of one cell,
     * which stays; `scratch` is as large. Weights: 0.25 for the cell, 0.15 for sides, 0.05 for corners. */
    pto_status_t (*stencil)(double *field, double *scratch, size_t rows, size_t columns, void *stream,
                            pto_error_t *err);
};

PTO_C_END

#endif
