/* A machine: the measured parameters of one cluster, read from a machine file (docs/formats.md).
 *
 * All values are in SI base units: seconds, bytes, seconds per byte. A parameter records its line in the
 * file, so every price can be traced to its source. A parameter that the file does not contain is absent, not
 * zero: an absent protocol leaves its range to the next one, and an absent injection limit imposes no limit.
 *
 * Sources: the postal model T = alpha + beta s (Bar-Noy and Kipnis 1992); the max-rate model (Gropp, Olson,
 * Samfass 2016); the tables of "Modeling Data Movement Performance on Heterogeneous Architectures". */
#ifndef PORTOLAN_MACHINE_H
#define PORTOLAN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/parameters.h"
#include "portolan/status.h"

PTO_API_BEGIN

/* The distance between two processes (or a process and a GPU), nearest first. */
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

/* The kind of a copy, by its source and destination. */
typedef enum { PTO_COPY_H2D, PTO_COPY_D2H, PTO_COPY_D2D, PTO_COPY_H2H, PTO_COPY_COUNT } pto_copy_kind_t;

/* Whether a copy stays on the GPU's own socket. */
typedef enum { PTO_REACH_ON_SOCKET, PTO_REACH_OFF_SOCKET, PTO_REACH_COUNT } pto_reach_t;

/* A kernel's access to memory of another GPU of its node. */
typedef enum { PTO_REMOTE_LOAD, PTO_REMOTE_STORE, PTO_REMOTE_COUNT } pto_remote_t;

const char *pto_level_name(pto_level_t level);
const char *pto_space_name(pto_space_t space);
const char *pto_protocol_name(pto_protocol_t protocol);
const char *pto_copy_kind_name(pto_copy_kind_t kind);
const char *pto_reach_name(pto_reach_t reach);
const char *pto_remote_name(pto_remote_t remote);

/* One number of a machine file. `low` and `high` bound its 95 percent confidence interval; both equal `value`
 * if the file gives none (has_interval is false). line == 0: absent. */
typedef struct {
    double value;
    double low;
    double high;
    bool has_interval;
    int line;
} pto_param_t;

/* The line of a number that is not in a file: a what-if set it. */
enum { PTO_LINE_WHAT_IF = INT32_MAX };

static inline bool pto_param_known(const pto_param_t *param) { return param->line > 0; }

/* T = alpha + beta * bytes. `flagged` is NULL or the file's reason to doubt the values. */
typedef struct {
    pto_param_t alpha_s;
    pto_param_t beta_s_per_byte;
    int64_t sample_count; /* number of samples fitted; 0: not given */
    double residual;      /* median relative residual of the fit; 0: not given */
    char *flagged;
} pto_postal_t;

static inline bool pto_postal_known(const pto_postal_t *postal) { return pto_param_known(&postal->alpha_s); }

/* One row of a cost table: the cost in [from_bytes, below_bytes), and the conditions under which it holds. */
typedef struct {
    pto_protocol_t protocol; /* messages, gap: the protocol */
    bool strided;            /* copies.shared: of bytes that are not contiguous on the GPU */
    int64_t procs;           /* copies.shared: number of processes that copy concurrently; 0 elsewhere */
    int64_t gpus;            /* nccl: GPUs on all nodes; 0 elsewhere. Holds for this number only */
    int64_t nodes;           /* nccl: nodes of these GPUs */
    int64_t from_bytes;
    int64_t below_bytes; /* INT64_MAX for the last row of its kind */
    pto_postal_t postal;
    pto_param_t extra_input_s_per_byte; /* reduce: cost per byte of each input beyond two */
} pto_cost_row_t;

/* A cost as a function of size: rows in increasing order. Rows that differ only in their bytes are contiguous
 * and start at 0 bytes. count 0: unknown. */
typedef struct {
    int count;
    pto_cost_row_t *row; /* from pto_cost_add */
} pto_cost_table_t;

enum { PTO_COST_RANGE_MAX = 4 }; /* of rows that differ only in their bytes */

/* Append a zeroed row without an upper limit; earlier rows may move. NULL when out of memory. */
pto_cost_row_t *pto_cost_add(pto_cost_table_t *cost);

/* Remove the rows from `count` on. */
void pto_cost_truncate(pto_cost_table_t *cost, int count);

/* Legal on a zeroed cost. */
void pto_cost_fini(pto_cost_table_t *cost);

/* The name of a row in keys, without the protocol: 4, 4.strided, 8.nodes_2, or 4.from_65536 if there are
 * several ranges of bytes; empty for a single row of all sizes. `text` has room for PTO_COST_ROW_MAX. */
enum { PTO_COST_ROW_MAX = 64 };
void pto_cost_row_name(const pto_cost_row_t *row, char *text);

/* The MPI library's choice below a size: one row of `library: {collective: {space: [...]}}`. */
typedef struct {
    int64_t below_bytes; /* bytes as the library's call sees them; INT64_MAX for the last row */
    int64_t procs;       /* smallest number of processes for which the row holds; 0: any */
    char *algorithm;
    bool staged; /* the library stages device buffers through the host */
    int line;
} pto_library_rule_t;

typedef struct {
    char *collective;
    pto_space_t space;
    int rule_count;
    pto_library_rule_t *rule;
} pto_library_table_t;

/* NCCL's own collectives that are priced: name, name in files. alltoallv uses the same calls as alltoall. */
#define PTO_NCCL_TABLE(X)                                                                                    \
    X(ALLREDUCE, "allreduce")                                                                                \
    X(REDUCE, "reduce")                                                                                      \
    X(BROADCAST, "broadcast")                                                                                \
    X(ALLTOALL, "alltoall")                                                                                  \
    X(ALLGATHER, "allgather")

typedef enum {
#define PTO_NCCL_ENUM(name, text) PTO_NCCL_##name,
    PTO_NCCL_TABLE(PTO_NCCL_ENUM)
#undef PTO_NCCL_ENUM
        PTO_NCCL_COUNT
} pto_nccl_kind_t;

const char *pto_nccl_name(pto_nccl_kind_t kind);

/* Powers in watts. Each GPU power is the total draw of one GPU in that state. */
typedef enum {
    PTO_POWER_GPU_IDLE,   /* idle, held by a process */
    PTO_POWER_GPU_COPY,   /* bytes move into or out of its memory */
    PTO_POWER_GPU_KERNEL, /* a kernel runs */
    PTO_POWER_CPU_IDLE,   /* all CPUs of a node, while no process runs */
    PTO_POWER_CPU_CORE,   /* additional power of each core that works or polls */
    PTO_POWER_COUNT
} pto_power_t;

#define PTO_TYPE_VALUE pto_param_t
#define PTO_TYPE_POSTAL pto_postal_t
#define PTO_TYPE_COST pto_cost_table_t

/* The members that hold parameters are those of PTO_PARAMETER_TABLE. */
typedef struct {
    char *name;
    char *source;
    char *path;    /* the file it was read from */
    char *model;   /* the argument of pto_machine_restrict; NULL: full */
    char *what_if; /* the changes made by pto_what_if, one per line; NULL: none */
    struct {
        int64_t sockets;
        int64_t gpus;
        int64_t cores;
    } node;
#define PTO_DECLARE(form, member, dimensions, ...) PTO_TYPE_##form member dimensions;
#define PTO_SKIP(...)
    PTO_PARAMETER_TABLE(PTO_DECLARE, PTO_SKIP)
#undef PTO_DECLARE
#undef PTO_SKIP
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

/* Make a copy that shares nothing with the machine; free it with pto_machine_fini. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_clone(const pto_machine_t *machine, pto_machine_t *clone, pto_error_t *err);

enum { PTO_PARAM_KEY_MAX = 80 };

/* One number of a machine, by the key with which prices are explained. If a table has several rows, the key
 * contains the row (copies.shared.h2d.6.alpha_s: 6 processes; reduce.cpu.from_4096.alpha_s: from 4096 bytes)
 * and `group` does not, so it names all rows at once. Otherwise both are the same. */
typedef struct {
    char key[PTO_PARAM_KEY_MAX];
    char group[PTO_PARAM_KEY_MAX];
    pto_param_t *param;   /* NULL: an integer */
    pto_param_t *partner; /* the parameter that is known or absent together with it; or NULL */
    int64_t *number;      /* node.*, and the below_bytes of a row that is not the last; else NULL */
    const char *flagged;  /* the file's reason to doubt it; or NULL */
    bool measured_only;   /* part of no price (docs/model.md, "Measured, not priced") */
} pto_machine_param_t;

/* All numbers that a machine has or could have, except rows that it lacks; missing numbers have line 0. The
 * caller frees `*param` with free(). It points into the machine, so a caller that may change the machine may
 * do so through it. A clone has the same numbers in the same order. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_params(const pto_machine_t *machine, pto_machine_param_t **param, int *param_count,
                                pto_error_t *err);

/* A part of a machine file that a model may omit. */
typedef struct {
    const char *name; /* its key in the file */
    const char *summary;
} pto_model_term_t;

int pto_model_term_count(void);
const pto_model_term_t *pto_model_term_at(int index);

/* Remove the terms that a model does not have. "full" removes nothing; "published" removes all terms of the
 * table (messages, injection and copies remain: the postal and the max-rate model of the papers);
 * "published+TERM+TERM" removes all but those. Errors: PTO_ERR_NOT_FOUND, with the nearest known name,
 * PTO_ERR_MEMORY. */
pto_status_t pto_machine_restrict(pto_machine_t *machine, const char *model, pto_error_t *err);

/* The row for a message of `bytes`, with the on_gpu fallback; NULL if the machine has no cost for such
 * messages. */
const pto_cost_row_t *pto_machine_message(const pto_machine_t *machine, pto_space_t space, pto_level_t level,
                                          int64_t bytes);

/* The cost of each additional message of `bytes` for a process that already has one in flight to another
 * node: the gap g and the gap per byte G of LogGP (Alexandrov et al. 1995), as alpha_s and beta_s_per_byte.
 * NULL if unknown; each message then costs as much as a single one. */
const pto_cost_row_t *pto_machine_gap(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* The cost of a copy alone on its engine; with `pageable`, that of pageable memory if the machine has it. */
const pto_postal_t *pto_machine_copy(const pto_machine_t *machine, pto_copy_kind_t kind, bool pageable);

/* The row for `bytes`; NULL if nothing is known. */
const pto_postal_t *pto_cost_at(const pto_cost_table_t *cost, int64_t bytes);

/* The cost of combining two buffers of `bytes` each; NULL if unknown. */
const pto_postal_t *pto_machine_reduce(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* The cost per byte of each additional input in a reduction of more than two inputs of `bytes` each, which is
 * one pass over all of them. NULL if unknown: k inputs then cost k - 1 times as much as two. */
const pto_param_t *pto_machine_extra_input(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* The additional time of a kernel that loads from or stores to another GPU's memory, with the on_socket
 * fallback; NULL if unknown. */
const pto_postal_t *pto_machine_remote(const pto_machine_t *machine, pto_remote_t remote, pto_reach_t reach);

/* The row of NCCL's own collective; NULL if these numbers of GPUs and nodes were not measured. */
const pto_cost_row_t *pto_machine_nccl(const pto_machine_t *machine, pto_nccl_kind_t kind, int64_t gpus,
                                       int64_t nodes, int64_t bytes);

/* The library's row for a call of `bytes` among `procs` processes; NULL if the machine has none. */
const pto_library_rule_t *pto_machine_library(const pto_machine_t *machine, const char *collective,
                                              pto_space_t space, int64_t procs, int64_t bytes);

PTO_API_END

#endif
