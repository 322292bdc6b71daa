/* The interface for benchmarks (portolan/bench.h) on the host device, so that all of portolan-calibrate runs
 * without a GPU. Timings are not GPU timings. Functions with a stream drain it, then work at once. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host_stream.h"
#include "portolan/bench.h"

enum { GPUS_MAX = 64, BLOCKS = 4 };

/* Sets the number of GPUs: PORTOLAN_EMULATED_GPUS. */
static pto_status_t host_count(int *count, pto_error_t *err) {
    const char *said = getenv("PORTOLAN_EMULATED_GPUS");
    char *end = NULL;
    long gpus = said ? strtol(said, &end, 10) : 0;
    if (!end || *end || gpus < 1 || gpus > GPUS_MAX)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "PORTOLAN_EMULATED_GPUS is not a number from 1 to %d",
                             GPUS_MAX);
    *count = (int)gpus;
    return PTO_OK;
}

/* PORTOLAN_EMULATED_MPS: yes or no; empty: unknown. */
static pto_status_t emulated_mps(pto_mps_t *mps, pto_error_t *err) {
    const char *said = getenv("PORTOLAN_EMULATED_MPS");
    *mps = said ? pto_mps_find(said) : PTO_MPS_UNKNOWN;
    if (said && *said && *mps == PTO_MPS_UNKNOWN)
        return pto_error_set(err, PTO_ERR_RANGE, "PORTOLAN_EMULATED_MPS is neither yes nor no");
    return PTO_OK;
}

static pto_status_t host_describe(int gpu, pto_gpu_info_t *info, pto_error_t *err) {
    snprintf(info->name, sizeof info->name, "host memory emulating GPU memory");
    snprintf(info->bus, sizeof info->bus, "0000:%02x:00.0", (unsigned)gpu & 0xff);
    info->blocks = BLOCKS;
    return emulated_mps(&info->mps, err);
}

static pto_status_t host_versions(char text[PTO_GPU_TEXT_MAX], pto_error_t *err) {
    (void)err;
    snprintf(text, PTO_GPU_TEXT_MAX, "none");
    return PTO_OK;
}

static pto_status_t host_can_reach(int gpu, int peer, bool *can, pto_error_t *err) {
    (void)gpu, (void)peer, (void)err;
    *can = true;
    return PTO_OK;
}

static pto_status_t host_reach(int peer, pto_error_t *err) {
    (void)peer, (void)err;
    return PTO_OK;
}

static pto_status_t host_fill(void *memory, int byte, size_t bytes, pto_error_t *err) {
    (void)err;
    memset(memory, byte, bytes);
    return PTO_OK;
}

static pto_status_t host_copy_by(pto_bench_copy_t how, pto_copy_kind_t kind, void *target, const void *source,
                                 size_t bytes, pto_error_t *err) {
    (void)how, (void)kind, (void)err;
    memcpy(target, source, bytes);
    return PTO_OK;
}

static pto_status_t host_move(void *target, const void *source, size_t count, int width, int stride,
                              int blocks, void *stream, pto_error_t *err) {
    size_t bytes = (size_t)width;
    (void)blocks;
    pto_status_t status = pto_host_stream_finish(stream, err);
    for (size_t i = 0; i < count && status == PTO_OK; i++)
        memcpy((char *)target + i * (size_t)stride * bytes, (const char *)source + i * bytes, bytes);
    return status;
}

static pto_status_t host_store_all(void *const *target, int target_count, const void *source, size_t bytes,
                                   int blocks, void *stream, pto_error_t *err) {
    (void)blocks;
    pto_status_t status = pto_host_stream_finish(stream, err);
    for (int j = 0; j < target_count && status == PTO_OK; j++)
        memcpy(target[j], (const char *)source + (size_t)j * bytes, bytes);
    return status;
}

/* Memory of one side. */
typedef struct {
    _Alignas(64) atomic_uint flag;
    _Alignas(64) uint32_t word;
} inbox_t;

_Static_assert(sizeof(inbox_t) <= PTO_BENCH_PING_PONG_BYTES, "a side must fit into its memory");

static void send(inbox_t *others, uint32_t value) {
    others->word = value;
    atomic_store_explicit(&others->flag, value, memory_order_release);
}

/* Returns whether the flag reached `value` (values wrap around) in time. */
static bool await(const inbox_t *own, uint32_t value, double limit_s) {
    int64_t begin_ns = pto_now_ns();
    while ((int32_t)(atomic_load_explicit(&own->flag, memory_order_acquire) - value) < 0) {
        if ((double)(pto_now_ns() - begin_ns) > 1e9 * limit_s)
            return false;
        sched_yield();
    }
    return true;
}

static pto_status_t host_ping_pong(const pto_bench_ping_pong_t *side, void *stream, pto_error_t *err) {
    inbox_t *own = side->own, *others = side->others;
    pto_bench_rounds_t *result = side->result;
    int64_t begin_ns = 0;
    *result = (pto_bench_rounds_t){0};
    pto_status_t status = pto_host_stream_finish(stream, err);
    for (int round = 1; round <= 1 + side->rounds && status == PTO_OK; round++) {
        uint32_t value = side->from + (uint32_t)round;
        if (side->first)
            send(others, value);
        if (!await(own, value, side->limit_s)) {
            result->failed_round = (uint32_t)round;
            return PTO_OK;
        }
        result->stale = result->stale || own->word != value;
        if (!side->first)
            send(others, value);
        if (round == 1)
            begin_ns = pto_now_ns();
    }
    result->elapsed_ns = (uint64_t)(pto_now_ns() - begin_ns);
    return status;
}

static pto_status_t host_sum(double *target, const double *source, size_t count, void *stream,
                             pto_error_t *err) {
    pto_status_t status = pto_host_stream_finish(stream, err);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += source[i];
    *target = sum;
    return status;
}

static pto_status_t host_stencil(double *field, double *scratch, size_t rows, size_t columns, void *stream,
                                 pto_error_t *err) {
    pto_status_t status = pto_host_stream_finish(stream, err);
    const size_t pitch = columns + 2;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++) {
            const double *up = field + (i - 1) * pitch + j, *at = up + pitch, *down = at + pitch;
            scratch[i * pitch + j] = 0.25 * at[0] + 0.15 * (up[0] + down[0] + at[-1] + at[1]) +
                                     0.05 * (up[-1] + up[1] + down[-1] + down[1]);
        }
    for (size_t i = 1; i <= rows; i++)
        memcpy(field + i * pitch + 1, scratch + i * pitch + 1, columns * sizeof *field);
    return status;
}

extern const pto_device_bench_t pto_device_bench_host;
const pto_device_bench_t pto_device_bench_host = {
    .build = "with host memory emulating GPU memory",
    .count = host_count,
    .describe = host_describe,
    .versions = host_versions,
    .can_reach = host_can_reach,
    .reach = host_reach,
    .fill = host_fill,
    .copy_by = host_copy_by,
    .launch_empty = pto_host_stream_finish,
    .move = host_move,
    .store_all = host_store_all,
    .ping_pong = host_ping_pong,
    .graph_begin = pto_host_graph_begin,
    .graph_end = pto_host_graph_end,
    .graph_destroy = pto_host_stream_destroy,
    .graph_launch = pto_host_graph_launch,
    .sum = host_sum,
    .stencil = host_stencil,
};
