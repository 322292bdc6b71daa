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
#include "portolan/scenario.h"

PTO_API_BEGIN

/* A leading line `# key=value`, which says where a file of measurements comes from. */
typedef struct {
    char *key;
    char *value;
    int file;
    int line;
} pto_provenance_t;

/* The MPI library's own collectives that are timed: name, name in files. */
#define PTO_MPI_TABLE(X)                                                                                     \
    X(ALLREDUCE, "allreduce")                                                                                \
    X(REDUCE, "reduce")                                                                                      \
    X(BROADCAST, "broadcast")                                                                                \
    X(REDUCE_SCATTER, "reduce_scatter")                                                                      \
    X(ALLGATHER, "allgather")                                                                                \
    X(ALLGATHERV, "allgatherv")                                                                              \
    X(GATHER, "gather")                                                                                      \
    X(SCATTER, "scatter")                                                                                    \
    X(ALLTOALL, "alltoall")                                                                                  \
    X(ALLTOALLV, "alltoallv")

/* The other benchmarks of portolan-calibrate: name, name in files. See docs/formats.md. */
#define PTO_BENCHMARK_TABLE(X)                                                                               \
    X(PING_PONG, "ping_pong")                                                                                \
    X(PING_PONG_STRIDED, "ping_pong_strided") /* messages: bytes of a row */                                 \
    X(PING_PONG_TO, "ping_pong_to")           /* from the other memory, host or GPU */                       \
    X(EXCHANGE, "exchange")                                                                                  \
    X(STAGED, "staged")                                                                                      \
    X(INJECTION, "injection")                                                                                \
    X(MULTI_MESSAGE, "multi_message")                                                                        \
    X(MULTI_MESSAGE_ONE, "multi_message_one")                                                                \
    X(MEMCPY_H2D, "memcpy_h2d")                                                                              \
    X(MEMCPY_D2H, "memcpy_d2h")                                                                              \
    X(MEMCPY_D2D, "memcpy_d2d")                                                                              \
    X(MEMCPY_SHARED_H2D, "memcpy_shared_h2d")                                                                \
    X(MEMCPY_SHARED_D2H, "memcpy_shared_d2h")                                                                \
    X(MEMCPY_SHARED_D2D, "memcpy_shared_d2d")                                                                \
    X(MEMCPY_SHARED_STRIDED_H2D, "memcpy_shared_strided_h2d")                                                \
    X(MEMCPY_SHARED_STRIDED_D2H, "memcpy_shared_strided_d2h")                                                \
    X(MEMCPY_PAGEABLE_H2D, "memcpy_pageable_h2d")                                                            \
    X(MEMCPY_PAGEABLE_D2H, "memcpy_pageable_d2h")                                                            \
    X(MEMCPY_PEER, "memcpy_peer")                                                                            \
    X(MEMCPY_H2H, "memcpy_h2h")                                                                              \
    X(MEMCPY_QUEUED_H2D, "memcpy_queued_h2d") /* seconds of all copies together; messages: copies */         \
    X(MEMCPY_QUEUED_D2H, "memcpy_queued_d2h")                                                                \
    X(MEMCPY_QUEUED_D2D, "memcpy_queued_d2d")                                                                \
    X(MEMCPY_STRIDED_H2D, "memcpy_strided_h2d") /* messages: bytes of a row */                               \
    X(MEMCPY_STRIDED_D2H, "memcpy_strided_d2h")                                                              \
    X(MEMCPY_STRIDED_D2D, "memcpy_strided_d2d")                                                              \
    X(REDUCE, "reduce")                                                                                      \
    X(SIGNAL_FLAG, "signal_flag")                                                                            \
    X(SIGNAL_EVENT, "signal_event")                                                                          \
    X(KERNEL_LAUNCH, "kernel_launch")                                                                        \
    X(REDUCE_MANY, "reduce_many")                                                                            \
    X(REMOTE_LOAD_4, "remote_load_4") /* 4, 8 or 16 bytes per thread; procs are thread blocks */             \
    X(REMOTE_LOAD_8, "remote_load_8")                                                                        \
    X(REMOTE_LOAD_16, "remote_load_16")                                                                      \
    X(REMOTE_STORE_4, "remote_store_4")                                                                      \
    X(REMOTE_STORE_8, "remote_store_8")                                                                      \
    X(REMOTE_STORE_16, "remote_store_16")                                                                    \
    X(REMOTE_STORE_STRIDED, "remote_store_strided")                                                          \
    X(REMOTE_STORE_ALL, "remote_store_all")                                                                  \
    X(SIGNAL_DEVICE, "signal_device")                                                                        \
    X(GRAPH_LAUNCH, "graph_launch")                                                                          \
    X(KERNEL_QUEUED, "kernel_queued")                                                                        \
    X(RUN_LAUNCH, "run_launch") /* seconds of all kernels together; messages: kernels */                     \
    X(RUN_LINES, "run_lines")   /* procs: GPUs of the node; bytes: to each of the others */                  \
    X(SETUP_OPEN, "setup_open")                                                                              \
    X(SETUP_ALLOCATE, "setup_allocate")                                                                      \
    X(SETUP_SEGMENT, "setup_segment")

/* The kind of a timed operation. PTO_BENCHMARK_OTHER: an unknown name; its rows are kept and counted, but
 * nothing is fitted from them. */
typedef enum {
#define PTO_BENCHMARK_ENUM(name, text) PTO_BENCHMARK_##name,
    PTO_BENCHMARK_TABLE(PTO_BENCHMARK_ENUM)
#undef PTO_BENCHMARK_ENUM
/* In the order of PTO_MPI_TABLE; procs: members on all nodes; messages: nodes */
#define PTO_BENCHMARK_MPI_ENUM(name, text) PTO_BENCHMARK_MPI_##name,
        PTO_MPI_TABLE(PTO_BENCHMARK_MPI_ENUM)
#undef PTO_BENCHMARK_MPI_ENUM
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
    int32_t run;       /* the job, within a benchmark and a file */
    int32_t file;      /* index of pto_samples_t's `path` */
    uint8_t benchmark; /* a pto_benchmark_t */
    uint8_t where;     /* a pto_sample_space_t */
    uint8_t place;     /* a pto_sample_level_t */
} pto_sample_t;

/* Resolution of a timing: about the duration of two clock readings, a call and an iteration. */
static const double pto_timing_grain_s = 5e-8;

/* The denominator of a relative error: the time itself, but at least the resolution. */
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

/* Measured collectives: the rows of collectives.csv (docs/formats.md), written by portolan-validate or
 * another benchmark. Several files may be read into one table if machine and MPI library are the same. */

/* One timing of one strategy. Counts are at least 1, `run` and `bytes` at least 0, `seconds` finite and
 * positive, `joules` finite. */
typedef struct {
    double seconds;
    double joules; /* total of all devices that were read; 0: not measured */
    int64_t bytes; /* per destination, of an owner's block (as in an allgather), or of the vector */
    pto_collective_t collective;
    pto_implementation_t implementation;
    pto_datatype_t datatype; /* from the file's `datatype` line, else float */
    int32_t nodes;
    int32_t gpus_per_node;  /* processes, if the strategy is for data in host memory */
    int32_t procs_per_gpu;  /* all processes of a GPU that take part */
    int32_t owners_per_gpu; /* 1 if the file has no such column */
    int32_t run;            /* within its file */
    int32_t file;
    int32_t chunks;    /* of the message; 0: not in chunks, or not given */
    int32_t staged_in; /* PTO_STAGED_TUNED: not given */
    int32_t staged_out;
    pto_level_t distance; /* pair: of its processes; on_socket if not given */
    pto_pair_ends_t ends; /* pair; from GPU to GPU memory, one way, if not given */
    pto_halo_t halo;      /* halo; without dimensions if not given */
    int16_t strategy;     /* a name */
    int16_t algorithm;    /* a name: one of our algorithms; -1: the library's */
} pto_collective_row_t;

enum { PTO_COLLECTIVES_NAME_MAX = 256 };

/* Zero it before the first read. Owns everything; free with pto_collectives_fini. */
typedef struct {
    size_t count;
    size_t capacity;
    pto_collective_row_t *row;
    int name_count;
    char **name; /* of strategies and algorithms, whether or not in the registries */
    int provenance_count;
    pto_provenance_t *provenance;
    int file_count;
    char **path;
} pto_collectives_t;

/* Add a file's rows. On failure `collectives` is unchanged.
 * Errors: PTO_ERR_IO; _SYNTAX (a line with too few or too many columns, no header); _KEY (an unknown, missing
 * or duplicate column); _TYPE (text instead of a number, an unknown collective, implementation or datatype, a
 * strategy without a name); _RANGE (a time that is not finite and positive, a count below its minimum);
 * _TOO_LARGE (more than 256 names); _NOT_APPLICABLE (another machine or MPI library than before); _MEMORY.
 * All but the first and last with file, line and column. */
pto_status_t pto_collectives_read(const char *path, pto_collectives_t *collectives, pto_error_t *err);

/* The same from memory; `path` only names the text. */
pto_status_t pto_collectives_parse(const char *text, size_t text_size, const char *path,
                                   pto_collectives_t *collectives, pto_error_t *err);

void pto_collectives_fini(pto_collectives_t *collectives);

enum { PTO_NODE_COUNTS_MAX = 16 };

/* A set of node counts. Zeroed: all. */
typedef struct {
    int count;
    int64_t value[PTO_NODE_COUNTS_MAX];
    bool except; /* all but these */
} pto_node_counts_t;

bool pto_node_counts_has(const pto_node_counts_t *counts, int64_t nodes);

/* Parse `nodes=2,8`. Errors: PTO_ERR_TYPE, PTO_ERR_RANGE. */
pto_status_t pto_node_counts_parse(const char *text, pto_node_counts_t *counts, pto_error_t *err);

/* A digest of the rows of one of the files, whatever its name and its comments: 16 hexadecimal digits. */
enum { PTO_COLLECTIVES_DIGEST_MAX = 17 };
void pto_collectives_digest(const pto_collectives_t *collectives, int file,
                            char digest[PTO_COLLECTIVES_DIGEST_MAX]);

/* The node counts of a file's rows that are in `chosen` (NULL: all), at most PTO_NODE_COUNTS_MAX. */
pto_node_counts_t pto_collectives_nodes(const pto_collectives_t *collectives, int file,
                                        const pto_node_counts_t *chosen);

/* The first file's value of a provenance key; NULL if no file has it. */
const char *pto_collectives_provenance(const pto_collectives_t *collectives, const char *key);

PTO_API_END

#endif
