/* A machine: the measured parameters of one cluster, read from a machine file (docs/formats.md).
 *
 * SI base units throughout: seconds, bytes, seconds per byte. A parameter remembers the line of the file
 * that holds it, so that every price can be traced to its source. What a file does not give is absent, not
 * zero: an absent protocol leaves its range to the next one, an absent injection limit does not limit.
 *
 * Sources: the postal model T = alpha + beta s (Bar-Noy and Kipnis 1992); the max-rate model (Gropp, Olson,
 * Samfass 2016); the tables of "Modeling Data Movement Performance on Heterogeneous Architectures". */
#ifndef PORTOLAN_MACHINE_H
#define PORTOLAN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where two processes (or a process and a GPU) are to each other, nearest first. */
typedef enum {
    PTO_LEVEL_ON_GPU,    /* the processes share a GPU; falls back to on_socket where a file lacks it */
    PTO_LEVEL_ON_SOCKET, /* the same socket */
    PTO_LEVEL_ON_NODE,   /* the same node, another socket */
    PTO_LEVEL_OFF_NODE,
    PTO_LEVEL_COUNT
} pto_level_t;

typedef enum { PTO_SPACE_CPU, PTO_SPACE_GPU, PTO_SPACE_COUNT } pto_space_t;

typedef enum {
    PTO_PROTOCOL_SHORT,
    PTO_PROTOCOL_EAGER,
    PTO_PROTOCOL_RENDEZVOUS,
    PTO_PROTOCOL_COUNT
} pto_protocol_t;

/* What a copy crosses, by its source and destination. */
typedef enum { PTO_COPY_H2D, PTO_COPY_D2H, PTO_COPY_D2D, PTO_COPY_H2H, PTO_COPY_COUNT } pto_copy_kind_t;

/* Whether a copy stays on the GPU's own socket. */
typedef enum { PTO_REACH_ON_SOCKET, PTO_REACH_OFF_SOCKET, PTO_REACH_COUNT } pto_reach_t;

const char *pto_level_name(pto_level_t level);
const char *pto_space_name(pto_space_t space);
const char *pto_protocol_name(pto_protocol_t protocol);
const char *pto_copy_kind_name(pto_copy_kind_t kind);
const char *pto_reach_name(pto_reach_t reach);

/* One number of a machine file. `low` and `high` bound its 95 percent confidence interval and equal `value`
 * where the file gives none (`has_interval` says which). line == 0: absent. */
typedef struct {
    double value;
    double low;
    double high;
    bool has_interval;
    int line;
} pto_param_t;

static inline bool pto_param_known(const pto_param_t *param) { return param->line > 0; }

/* T = alpha + beta * bytes. `flagged` is NULL or the file's remark on why to doubt the values. */
typedef struct {
    pto_param_t alpha_s;
    pto_param_t beta_s_per_byte;
    int64_t sample_count; /* samples behind the fit; 0: not said */
    double residual;      /* median relative residual of the fit; 0: not said */
    char *flagged;
} pto_postal_t;

static inline bool pto_postal_known(const pto_postal_t *postal) { return pto_param_known(&postal->alpha_s); }

/* The protocol that carries messages of [from_bytes, below_bytes). */
typedef struct {
    pto_protocol_t protocol;
    int64_t from_bytes;
    int64_t below_bytes; /* INT64_MAX for the last piece */
    pto_postal_t postal;
} pto_piece_t;

enum { PTO_PIECE_MAX = PTO_PROTOCOL_COUNT };

/* Message cost by size: pieces in rising order, without gaps, the first from 0 bytes. count 0: unknown. */
typedef struct {
    int count;
    pto_piece_t piece[PTO_PIECE_MAX];
} pto_message_cost_t;

/* The cost of combining two buffers of [from_bytes, below_bytes) each. */
typedef struct {
    int64_t from_bytes;
    int64_t below_bytes; /* INT64_MAX for the last piece */
    pto_postal_t postal;
} pto_reduce_piece_t;

enum { PTO_REDUCE_PIECE_MAX = 4 };

/* Reduction cost by the bytes of one input, since caches make pieces: in rising order, without gaps, the
 * first from 0 bytes. count 0: unknown. */
typedef struct {
    int count;
    pto_reduce_piece_t piece[PTO_REDUCE_PIECE_MAX];
} pto_reduce_cost_t;

/* Cost of one process's further messages in flight (Bienz, Gropp, Olson, EuroMPI 2018, for the queue):
 * T = T(1 message) + alpha_s (n - 1) + queue_s n (n - 1) / 2 + (bytes, as the postal model has them).
 * No price uses it. */
typedef struct {
    pto_param_t alpha_s;
    pto_param_t queue_s;
    int64_t sample_count; /* 0: not said */
    double residual;      /* 0: not said */
    char *flagged;        /* or NULL */
} pto_per_message_t;

/* Copies that `procs` processes make from or to one GPU at once: each process's time for bytes of its own. */
typedef struct {
    int procs;
    pto_postal_t postal;
} pto_shared_copy_t;

/* What an MPI library does below a size: one row of `library: {collective: {space: [...]}}`. */
typedef struct {
    int64_t below_bytes; /* bytes as the library's call sees them; INT64_MAX for the last row */
    int64_t procs;       /* processes of the collective from which the row holds; 0: any */
    char *algorithm;
    bool staged; /* the library itself moves device buffers through the host */
    int line;
} pto_library_rule_t;

typedef struct {
    char *collective;
    pto_space_t space;
    int rule_count;
    pto_library_rule_t *rule;
} pto_library_table_t;

typedef struct {
    char *name;
    char *source;
    char *path; /* the file it was read from */
    struct {
        int64_t sockets;
        int64_t gpus;
        int64_t cores;
    } node;
    pto_message_cost_t messages[PTO_SPACE_COUNT][PTO_LEVEL_COUNT];
    pto_param_t injection_s_per_byte[PTO_SPACE_COUNT]; /* 1/R_N */
    pto_postal_t copies[PTO_COPY_COUNT][PTO_REACH_COUNT];
    int shared_copy_count[PTO_COPY_COUNT];
    pto_shared_copy_t *shared_copies[PTO_COPY_COUNT]; /* rising in procs */
    pto_reduce_cost_t reduce[PTO_SPACE_COUNT];
    pto_per_message_t per_message[PTO_SPACE_COUNT]; /* alpha_s.line == 0: absent */
    pto_postal_t peer[PTO_REACH_COUNT];             /* GPU to GPU copies of one node */
    pto_param_t signal_s;                           /* a flag set by one process seen by another */
    pto_param_t kernel_launch_s;
    pto_param_t event_s;
    pto_param_t gpu_memory_bytes;  /* of one GPU */
    pto_param_t host_memory_bytes; /* of one node */
    int library_count;
    pto_library_table_t *library;
} pto_machine_t;

/* Read a machine file. On success `*machine` owns its strings; free them with pto_machine_fini.
 * Errors: PTO_ERR_IO, _SYNTAX, _KEY, _TYPE, _RANGE, _NOT_FOUND, _TOO_LARGE, _MEMORY, each with file,
 * line and column. */
pto_status_t pto_machine_read(const char *path, pto_machine_t *machine, pto_error_t *err);

/* The same from memory; `path` only names the text in messages. */
pto_status_t pto_machine_parse(const char *text, size_t text_size, const char *path, pto_machine_t *machine,
                               pto_error_t *err);

/* Legal on a zeroed machine. */
void pto_machine_fini(pto_machine_t *machine);

/* The piece that carries a message of `bytes`, with the on_gpu fallback; NULL where the machine knows no
 * such messages. */
const pto_piece_t *pto_machine_message(const pto_machine_t *machine, pto_space_t space, pto_level_t level,
                                       int64_t bytes);

/* What combining two buffers of `bytes` each costs; NULL where the machine does not know. */
const pto_postal_t *pto_machine_reduce(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* The library's row for a call of `bytes` among `procs` processes; NULL where the machine does not say. */
const pto_library_rule_t *pto_machine_library(const pto_machine_t *machine, const char *collective,
                                              pto_space_t space, int64_t procs, int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
