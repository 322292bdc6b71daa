/* The structure behind pto_machine_t, and the lookups by which prices find their costs: for the library, its
 * fit and its tests. Users of the library only see machine.h. */
#ifndef PTO_MACHINE_INTERNAL_H
#define PTO_MACHINE_INTERNAL_H

#include "machine/error_model.h"
#include "machine/inherit.h"
#include "machine/parameters.h"
#include "portolan/machine.h"
#include "portolan/topology.h"

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
    int64_t gpus;            /* nccl, remote.lines: GPUs on all nodes; 0 elsewhere. For this number only */
    int64_t nodes;           /* nccl, remote.lines (1): nodes of these GPUs */
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

/* A table of choices for one collective (machine/library.h). */
typedef struct {
    char *collective;
    pto_space_t space;
    bool of_library; /* comes from the file of `mpi_library`, so it is not written to the machine file */
    int rule_count;
    pto_library_rule_t *rule;
} pto_library_table_t;

/* The network as a tree: at each level, groups of `nodes` consecutive nodes share one link upwards and one
 * downwards. A group consists of groups of the level below. */
enum { PTO_FABRIC_LEVELS_MAX = 8 };

typedef struct {
    int64_t nodes;
    pto_param_t s_per_byte[2]; /* up, down */
} pto_fabric_level_t;

typedef struct {
    int levels; /* 0: unknown */
    pto_fabric_level_t level[PTO_FABRIC_LEVELS_MAX];
} pto_fabric_t;

#define PTO_TYPE_VALUE pto_param_t
#define PTO_TYPE_POSTAL pto_postal_t
#define PTO_TYPE_COST pto_cost_table_t

/* The members that hold parameters are those of PTO_PARAMETER_TABLE. */
struct pto_machine {
    char *name;
    char *source;
    char *gpu;                 /* NULL: unknown */
    char *mpi_library;         /* a file of scenarios/libraries; NULL: unknown */
    char *inherits;            /* for writing only: reading merges inherited values. NULL: nothing */
    const char *path;          /* the file it was read from: the first of `files` */
    pto_machine_files_t files; /* this file and those that it inherits */
    char *model;               /* the argument of pto_machine_restrict; NULL: full */
    char *what_if;             /* the changes made by pto_what_if, one per line; NULL: none */
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
    pto_basis_t basis;
    pto_mps_t mps;
    pto_runs_t runs;
    int library_count;
    int tuning_count;
    int fitted_to_count;
    pto_library_table_t *library;
    pto_library_table_t *tuning; /* `space` is not used */
    pto_fitted_to_t *fitted_to;  /* the collectives that terms were fitted to */
    pto_topology_t *topology;    /* of a node; NULL: unknown */
    pto_fabric_t fabric;         /* between nodes */
    pto_model_error_t model_error;
};

/* pto_machine_open and pto_machine_create for a machine by value, which pto_machine_fini empties. */
pto_status_t pto_machine_read(const char *path, pto_machine_t *machine, pto_error_t *err);
pto_status_t pto_machine_parse(const char *text, size_t text_size, const char *path, pto_machine_t *machine,
                               pto_error_t *err);

/* Legal on a zeroed machine. */
void pto_machine_fini(pto_machine_t *machine);

/* Make a copy that shares nothing with the machine. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_clone(const pto_machine_t *machine, pto_machine_t *clone, pto_error_t *err);

/* Returns the row for a message of `bytes` from the other memory space to the space `to`; NULL: none. */
const pto_cost_row_t *pto_machine_mixed(const pto_machine_t *machine, pto_space_t to, pto_level_t level,
                                        int64_t bytes);

/* Returns the row for a message of `bytes`, with the on_gpu fallback; NULL if the machine has none. */
const pto_cost_row_t *pto_machine_message(const pto_machine_t *machine, pto_space_t space, pto_level_t level,
                                          int64_t bytes);

/* Returns the cost of each additional message for a process that already has one of that distance in flight:
 * the gap g and the gap per byte G of LogGP (Alexandrov et al. 1995), as alpha_s and beta_s_per_byte; with
 * the on_gpu fallback. NULL if unknown; each message then costs as much as a single one. */
const pto_cost_table_t *pto_machine_gap(const pto_machine_t *machine, pto_space_t space, pto_level_t level);

/* Returns the cost of a copy alone on its engine, with the on_socket fallback; with `pageable`, that of
 * pageable memory if the machine has it. */
const pto_postal_t *pto_machine_copy(const pto_machine_t *machine, pto_copy_kind_t kind, pto_reach_t reach,
                                     bool pageable);

/* Returns the row for `bytes`; NULL if nothing is known. */
const pto_postal_t *pto_cost_at(const pto_cost_table_t *cost, int64_t bytes);

/* Returns the cost of combining two buffers of `bytes` each; NULL if unknown. */
const pto_postal_t *pto_machine_reduce(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* Returns the cost per byte of each additional input in a reduction of more than two inputs of `bytes` each,
 * which is one pass over all of them. NULL if unknown: k inputs then cost k - 1 times as much as two. */
const pto_param_t *pto_machine_extra_input(const pto_machine_t *machine, pto_space_t space, int64_t bytes);

/* Returns the additional time of a kernel that loads from or stores to another GPU's memory, with the
 * on_socket fallback; NULL if unknown. */
const pto_postal_t *pto_machine_remote(const pto_machine_t *machine, pto_remote_t remote, pto_reach_t reach);

/* Returns the row of NCCL's own collective; NULL if these numbers of GPUs and nodes were not measured. */
const pto_cost_row_t *pto_machine_nccl(const pto_machine_t *machine, pto_nccl_kind_t kind, int64_t gpus,
                                       int64_t nodes, int64_t bytes);

/* Returns the row of a run in line format (lines.h); NULL if this number of GPUs was not measured. */
const pto_cost_row_t *pto_machine_lines(const pto_machine_t *machine, int64_t gpus, int64_t bytes);

/* Returns the row of `tuning` for a collective of `bytes` among `procs` processes; NULL: none. */
const pto_library_rule_t *pto_machine_tuning(const pto_machine_t *machine, const char *collective,
                                             int64_t procs, int64_t bytes);

/* Returns the library's row for a call of `bytes` among `procs` processes; NULL if the machine has none. */
const pto_library_rule_t *pto_machine_library(const pto_machine_t *machine, const char *collective,
                                              pto_space_t space, int64_t procs, int64_t bytes);

#endif
