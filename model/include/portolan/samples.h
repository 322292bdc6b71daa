/* Samples: timings written by portolan-calibrate (or another benchmark), one per row, with provenance lines
 * that say where they come from. Format: docs/formats.md.
 *
 * Several files may be read into one pto_samples_t if they name the same machine and MPI library. */
#ifndef PORTOLAN_SAMPLES_H
#define PORTOLAN_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/provenance.h"
#include "portolan/status.h"

PTO_API_BEGIN

/* What was timed. PTO_BENCHMARK_OTHER: an unknown name; its rows are kept and counted, but nothing is fitted
 * from them. */
typedef enum {
    PTO_BENCHMARK_PING_PONG,
    PTO_BENCHMARK_PING_PONG_STRIDED, /* messages: bytes of a row */
    PTO_BENCHMARK_EXCHANGE,
    PTO_BENCHMARK_STAGED,
    PTO_BENCHMARK_INJECTION,
    PTO_BENCHMARK_MULTI_MESSAGE,
    PTO_BENCHMARK_MULTI_MESSAGE_ONE,
    PTO_BENCHMARK_MEMCPY_H2D,
    PTO_BENCHMARK_MEMCPY_D2H,
    PTO_BENCHMARK_MEMCPY_D2D,
    PTO_BENCHMARK_MEMCPY_SHARED_H2D,
    PTO_BENCHMARK_MEMCPY_SHARED_D2H,
    PTO_BENCHMARK_MEMCPY_SHARED_D2D,
    PTO_BENCHMARK_MEMCPY_SHARED_STRIDED_H2D,
    PTO_BENCHMARK_MEMCPY_SHARED_STRIDED_D2H,
    PTO_BENCHMARK_MEMCPY_PAGEABLE_H2D,
    PTO_BENCHMARK_MEMCPY_PAGEABLE_D2H,
    PTO_BENCHMARK_MEMCPY_PEER,
    PTO_BENCHMARK_MEMCPY_H2H,
    PTO_BENCHMARK_MEMCPY_QUEUED_H2D, /* of all copies together; messages: copies */
    PTO_BENCHMARK_MEMCPY_QUEUED_D2H,
    PTO_BENCHMARK_MEMCPY_QUEUED_D2D,
    PTO_BENCHMARK_MEMCPY_STRIDED_H2D, /* messages: bytes of a row */
    PTO_BENCHMARK_MEMCPY_STRIDED_D2H,
    PTO_BENCHMARK_MEMCPY_STRIDED_D2D,
    PTO_BENCHMARK_REDUCE,
    PTO_BENCHMARK_SIGNAL_FLAG,
    PTO_BENCHMARK_SIGNAL_EVENT,
    PTO_BENCHMARK_KERNEL_LAUNCH,
    PTO_BENCHMARK_REDUCE_MANY,
    PTO_BENCHMARK_REMOTE_LOAD_4, /* 4, 8 or 16 bytes per thread; procs are thread blocks */
    PTO_BENCHMARK_REMOTE_LOAD_8,
    PTO_BENCHMARK_REMOTE_LOAD_16,
    PTO_BENCHMARK_REMOTE_STORE_4,
    PTO_BENCHMARK_REMOTE_STORE_8,
    PTO_BENCHMARK_REMOTE_STORE_16,
    PTO_BENCHMARK_REMOTE_STORE_STRIDED,
    PTO_BENCHMARK_REMOTE_STORE_ALL,
    PTO_BENCHMARK_SIGNAL_DEVICE,
    PTO_BENCHMARK_GRAPH_LAUNCH,
    PTO_BENCHMARK_KERNEL_QUEUED,
    PTO_BENCHMARK_RUN_LAUNCH, /* of all kernels together; messages: kernels */
    PTO_BENCHMARK_RUN_LINES,  /* procs: GPUs of the node; bytes: to each of the others */
    PTO_BENCHMARK_SETUP_OPEN,
    PTO_BENCHMARK_SETUP_ALLOCATE,
    PTO_BENCHMARK_SETUP_SEGMENT,
/* NCCL's collectives, in the order of pto_nccl_kind_t; procs: GPUs of all nodes; messages: nodes */
#define PTO_BENCHMARK_NCCL_ENUM(name, text) PTO_BENCHMARK_NCCL_##name,
    PTO_NCCL_TABLE(PTO_BENCHMARK_NCCL_ENUM)
#undef PTO_BENCHMARK_NCCL_ENUM
        PTO_BENCHMARK_OTHER,
    PTO_BENCHMARK_COUNT
} pto_benchmark_t;

/* The column `level`: the distance between processes, or from a copying process to its GPU's socket. */
typedef enum {
    PTO_AT_NONE, /* "-" */
    PTO_AT_ON_GPU,
    PTO_AT_ON_SOCKET,
    PTO_AT_ON_NODE,
    PTO_AT_OFF_NODE,
    PTO_AT_OFF_SOCKET,
    PTO_AT_COUNT
} pto_sample_level_t;

/* The column `space`. */
typedef enum { PTO_IN_NONE, PTO_IN_CPU, PTO_IN_GPU, PTO_IN_COUNT } pto_sample_space_t;

const char *pto_benchmark_name(pto_benchmark_t benchmark);
const char *pto_sample_space_name(pto_sample_space_t where);

/* Identifies a pair of participants; only equality matters. FNV-1a, 64 bits. */
uint64_t pto_sample_pair_hash(const char *pair);

/* One timing. `seconds` is finite and positive; procs and messages are at least 1, bytes at least 0. */
typedef struct {
    double seconds;
    int64_t bytes;      /* of each message or copy, never a total */
    uint64_t pair_hash; /* of the column `pair` */
    int32_t procs;
    int32_t messages;
    int32_t run; /* the job, within a benchmark and a file */
    int32_t file;
    uint8_t benchmark;
    uint8_t where;
    uint8_t place;
} pto_sample_t;

/* Timing grain: about the duration of two clock readings, and of the call and the loop around what is
 * timed. */
static const double pto_timing_grain_s = 5e-8;

/* The scale of a relative error: the time itself, but at least the grain. Below it, a mean over a loop tells
 * more about the loop than about its body. */
static inline double pto_error_scale(double seconds) {
    return seconds > pto_timing_grain_s ? seconds : pto_timing_grain_s;
}

/* Zero it before the first read. Owns everything; free with pto_samples_fini. */
typedef struct {
    size_t count;
    size_t capacity;
    pto_sample_t *sample;
    int provenance_count;
    pto_provenance_t *provenance;
    int file_count;
    char **path;
} pto_samples_t;

/* Add a file's rows. On failure `samples` is unchanged.
 * Errors: PTO_ERR_IO; _SYNTAX (a line with too few or too many columns, no header); _KEY (an unknown, missing
 * or duplicate column); _TYPE (text instead of a number, an unknown space or level); _RANGE (a time that is
 * not finite and positive, a count below its minimum); _NOT_APPLICABLE (another machine or MPI library than
 * before); _MEMORY. All but the first and last with file, line and column. */
pto_status_t pto_samples_read(const char *path, pto_samples_t *samples, pto_error_t *err);

/* The same from memory; `path` only names the text. */
pto_status_t pto_samples_parse(const char *text, size_t text_size, const char *path, pto_samples_t *samples,
                               pto_error_t *err);

void pto_samples_fini(pto_samples_t *samples);

/* The first file's value of a provenance key; NULL if no file has it. */
const char *pto_samples_provenance(const pto_samples_t *samples, const char *key);

PTO_API_END

#endif
