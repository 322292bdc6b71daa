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

#include "portolan/api.h"
#include "portolan/parameters.h"
#include "portolan/status.h"

PTO_API_BEGIN

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

/* What a kernel does with memory of another GPU of its node. */
typedef enum { PTO_REMOTE_LOAD, PTO_REMOTE_STORE, PTO_REMOTE_COUNT } pto_remote_t;

const char *pto_level_name(pto_level_t level);
const char *pto_space_name(pto_space_t space);
const char *pto_protocol_name(pto_protocol_t protocol);
const char *pto_copy_kind_name(pto_copy_kind_t kind);
const char *pto_reach_name(pto_reach_t reach);
const char *pto_remote_name(pto_remote_t remote);

/* One number of a machine file. `low` and `high` bound its 95 percent confidence interval and equal `value`
 * where the file gives none (`has_interval` says which). line == 0: absent. */
typedef struct {
    double value;
    double low;
    double high;
    bool has_interval;
    int line;
} pto_param_t;

/* The line of a number that stands in no file: a what-if put it there. */
enum { PTO_LINE_WHAT_IF = INT32_MAX };

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

/* One row of a cost: what it costs in [from_bytes, below_bytes), and for what else the row holds. */
typedef struct {
    pto_protocol_t protocol; /* messages, per_message: what carries them */
    bool strided;            /* copies.shared: of bytes that do not lie together on the GPU */
    int64_t procs;           /* copies.shared: processes that copy at once; 0 elsewhere */
    int64_t gpus;            /* nccl: GPUs of all nodes; 0 elsewhere. It holds for this number alone */
    int64_t nodes;           /* nccl: nodes that these are spread over */
    int64_t from_bytes;
    int64_t below_bytes; /* INT64_MAX for the last row of its kind */
    pto_postal_t postal;
    pto_param_t further_s_per_byte; /* reduce: of an input beyond two that the same reduction reads */
} pto_cost_row_t;

/* A cost by size: rows in rising order. Rows that differ in their bytes alone follow each other without gaps,
 * the first from 0 bytes. count 0: unknown. */
typedef struct {
    int count;
    pto_cost_row_t *row; /* from pto_cost_add */
} pto_cost_table_t;

enum { PTO_COST_RANGE_MAX = 4 }; /* of rows that differ in their bytes alone */

/* Append a zeroed row without an upper limit; earlier rows may move. NULL when out of memory. */
pto_cost_row_t *pto_cost_add(pto_cost_table_t *cost);

/* Remove the rows from `count` on. */
void pto_cost_truncate(pto_cost_table_t *cost, int count);

/* Legal on a zeroed cost. */
void pto_cost_fini(pto_cost_table_t *cost);

/* What a row is called in keys, protocols apart: 4, or 4.strided, or 8.nodes_2, or 4.from_65536 where there
 * are ranges of bytes; empty for one row of all sizes. `text` has room for PTO_COST_ROW_MAX. */
enum { PTO_COST_ROW_MAX = 64 };
void pto_cost_row_name(const pto_cost_row_t *row, char *text);

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

/* The collectives of NCCL's own that are priced: name, what files call it. alltoallv is the same calls as
 * alltoall. */
#define PTO_NCCL_TABLE(X)                                                                                    \
    X(ALLREDUCE, "allreduce")                                                                                \
    X(REDUCE, "reduce")                                                                                      \
    X(BROADCAST, "broadcast")                                                                                \
    X(ALLTOALL, "alltoall")

typedef enum {
#define PTO_NCCL_ENUM(name, text) PTO_NCCL_##name,
    PTO_NCCL_TABLE(PTO_NCCL_ENUM)
#undef PTO_NCCL_ENUM
        PTO_NCCL_COUNT
} pto_nccl_kind_t;

const char *pto_nccl_name(pto_nccl_kind_t kind);

/* Powers in watts. A GPU's are each the whole of what one GPU draws in that state. */
typedef enum {
    PTO_POWER_GPU_IDLE,   /* it waits, a process holding it */
    PTO_POWER_GPU_COPY,   /* bytes move into or out of its memory */
    PTO_POWER_GPU_KERNEL, /* a kernel works */
    PTO_POWER_CPU_IDLE,   /* all CPUs of a node, while no process runs */
    PTO_POWER_CPU_CORE,   /* what each core that works or polls adds to that */
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
    char *model;   /* as pto_machine_restrict was asked; NULL: full */
    char *what_if; /* the changes that pto_what_if made, one a line; NULL: none */
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

/* One number of a machine by its key, which is the one that prices are explained with. Where a table has
 * rows, the row stands in the key (copies.shared.h2d.6.alpha_s: 6 processes; reduce.cpu.from_4096.alpha_s:
 * from 4096 bytes) and `group` lacks it, naming all rows at once; else both are the same. */
typedef struct {
    char key[PTO_PARAM_KEY_MAX];
    char group[PTO_PARAM_KEY_MAX];
    pto_param_t *param;   /* NULL: a whole number */
    pto_param_t *partner; /* what is known or absent together with it; or NULL */
    int64_t *number;      /* node.*, and the below_bytes of a row that is not the last; else NULL */
    const char *flagged;  /* the file's remark on why to doubt it; or NULL */
    bool
        measured_only; /* measured and fitted, but part of no price (docs/model.md, "Measured, not priced") */
} pto_machine_param_t;

/* All numbers that a machine has or could have, but for rows that it lacks; those it lacks have line 0.
 * `*param` is the caller's to free() and points into the machine, so that who may change the machine may do
 * so through it. A clone has the same numbers in the same order. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_params(const pto_machine_t *machine, pto_machine_param_t **param, int *param_count,
                                pto_error_t *err);

/* A part of a machine file that a model may leave out. */
typedef struct {
    const char *name; /* its key in the file */
    const char *summary;
} pto_model_term_t;

int pto_model_term_count(void);
const pto_model_term_t *pto_model_term_at(int index);

/* Drop what a model has no terms for: "full" drops nothing, "published" all terms of the table (what remains
 * are messages, injection and copies: the postal and the max-rate model of the papers), "published+TERM+TERM"
 * all but those. Errors: PTO_ERR_NOT_FOUND, with the nearest known name, PTO_ERR_MEMORY. */
pto_status_t pto_machine_restrict(pto_machine_t *machine, const char *model, pto_error_t *err);

/* The row that carries a message of `bytes`, with the on_gpu fallback; NULL where the machine knows no
 * such messages. */
const pto_cost_row_t *pto_machine_message(const pto_machine_t *machine, pto_space_t space, pto_level_t level,
                                          int64_t bytes);

/* What each further message of `bytes` costs a process that already has one in flight to another node: the
 * gap g and the gap per byte G of LogGP (Alexandrov et al. 1995), as alpha_s and beta_s_per_byte. NULL where
 * the machine does not know; such messages cost what one alone does. */
const pto_cost_row_t *pto_machine_gap(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* A copy's own cost, alone on its engine: that of pageable memory where the machine knows it. */
const pto_postal_t *pto_machine_copy(const pto_machine_t *machine, pto_copy_kind_t kind, bool pageable);

/* The row that holds for `bytes`; NULL where nothing is known. */
const pto_postal_t *pto_cost_at(const pto_cost_table_t *cost, int64_t bytes);

/* What combining two buffers of `bytes` each costs; NULL where the machine does not know. */
const pto_postal_t *pto_machine_reduce(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* What each byte of a further input costs a reduction of more than two inputs of `bytes` each, which is one
 * pass over all of them; NULL where the machine does not know: k inputs then cost k - 1 times two. */
const pto_param_t *pto_machine_further(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* What a kernel takes to load from or store to another GPU's memory, beyond what it takes for nothing, with
 * the on_socket fallback; NULL where the machine does not know. */
const pto_postal_t *pto_machine_remote(const pto_machine_t *machine, pto_remote_t remote, pto_reach_t reach);

/* The row of NCCL's own collective; NULL where these numbers of GPUs and nodes were not measured. */
const pto_cost_row_t *pto_machine_nccl(const pto_machine_t *machine, pto_nccl_kind_t kind, int64_t gpus,
                                       int64_t nodes, int64_t bytes);

/* The library's row for a call of `bytes` among `procs` processes; NULL where the machine does not say. */
const pto_library_rule_t *pto_machine_library(const pto_machine_t *machine, const char *collective,
                                              pto_space_t space, int64_t procs, int64_t bytes);

PTO_API_END

#endif
