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

PTO_API_BEGIN

/* The quantity that a number measures. */
typedef enum {
    PTO_UNIT_NONE,
    PTO_UNIT_S,
    PTO_UNIT_S_PER_BYTE,
    PTO_UNIT_BYTES,
    PTO_UNIT_W,
    PTO_UNIT_RATIO,
    PTO_UNIT_COUNT
} pto_unit_t;

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

/* The origin of a machine's parameters. */
typedef enum { PTO_BASIS_UNKNOWN, PTO_BASIS_MEASURED, PTO_BASIS_DATASHEET, PTO_BASIS_COUNT } pto_basis_t;

/* Whether the processes of a GPU use it through MPS, and not in time slices. */
typedef enum { PTO_MPS_UNKNOWN, PTO_MPS_NO, PTO_MPS_YES, PTO_MPS_COUNT } pto_mps_t;

/* How a program starts runs: it waits for each to end, or enqueues one after another in a stream, or launches
 * many of them as one CUDA graph. Costs that contain the launch differ. */
typedef enum { PTO_RUNS_WAITED, PTO_RUNS_ENQUEUED, PTO_RUNS_GRAPH, PTO_RUNS_COUNT } pto_runs_t;

const char *pto_level_name(pto_level_t value);
const char *pto_space_name(pto_space_t value);
const char *pto_protocol_name(pto_protocol_t value);
const char *pto_copy_kind_name(pto_copy_kind_t value);
const char *pto_reach_name(pto_reach_t value);
const char *pto_remote_name(pto_remote_t value);
const char *pto_basis_name(pto_basis_t value); /* unknown, measured, datasheet */
const char *pto_mps_name(pto_mps_t value);     /* unknown, no, yes */
pto_mps_t pto_mps_find(const char *name);      /* _UNKNOWN for any other name */
const char *pto_runs_name(pto_runs_t value);   /* waited, enqueued, graph */
const char *pto_runs_text(pto_runs_t value);   /* in a sentence: "waited for", ... */

/* One number of a machine file. `low` and `high` bound its 95 percent confidence interval; both equal `value`
 * if the file gives none (has_interval is false). line == 0: absent. */
typedef struct {
    double value;
    double low;
    double high;
    bool has_interval;
    uint8_t file; /* 0: the machine's own; else see pto_machine_file */
    int line;
} pto_param_t;

/* The `line` of a number that a what-if has set. */
enum { PTO_LINE_WHAT_IF = INT32_MAX };

static inline bool pto_param_known(const pto_param_t *param) { return param->line > 0; }

/* How many members of a collective stage their input through host memory, and how many their result. */
typedef struct {
    int64_t in;
    int64_t out;
} pto_staged_t;

/* A choice that holds below a size: one row of `library: {collective: {space: [...]}}` (what the MPI library
 * does) or of `tuning: {collective: [...]}` (what our strategies do). */
typedef struct {
    int64_t below_bytes;         /* bytes as the call sees them; INT64_MAX for the last row */
    int64_t procs;               /* smallest number of processes for which the row holds; 0: any */
    char *algorithm;             /* `library` only */
    bool staged;                 /* `library` only: the library stages device buffers through the host */
    int64_t segment_bytes;       /* `library` only: of a segmented algorithm; 0: not segmented */
    char *flagged;               /* `library` only: why the algorithm is doubtful; NULL: it is not */
    pto_staged_t staged_members; /* `tuning` only */
    int line;
} pto_library_rule_t;

/* NCCL's own collectives that are priced: name, name in files. alltoallv uses the same calls as alltoall.
 * allgatherv is a group of broadcasts, one from each member. */
#define PTO_NCCL_TABLE(X)                                                                                    \
    X(ALLREDUCE, "allreduce")                                                                                \
    X(REDUCE, "reduce")                                                                                      \
    X(BROADCAST, "broadcast")                                                                                \
    X(ALLTOALL, "alltoall")                                                                                  \
    X(ALLGATHER, "allgather")                                                                                \
    X(REDUCE_SCATTER, "reduce_scatter")                                                                      \
    X(ALLGATHERV, "allgatherv")

typedef enum {
#define PTO_NCCL_ENUM(name, text) PTO_NCCL_##name,
    PTO_NCCL_TABLE(PTO_NCCL_ENUM)
#undef PTO_NCCL_ENUM
        PTO_NCCL_COUNT
} pto_nccl_kind_t;

const char *pto_nccl_name(pto_nccl_kind_t value);

/* The algorithms and protocols of NCCL that extrapolated prices tell apart. */
typedef enum {
    PTO_NCCL_ALGORITHM_RING,
    PTO_NCCL_ALGORITHM_TREE,
    PTO_NCCL_ALGORITHM_COUNT
} pto_nccl_algorithm_t;
typedef enum {
    PTO_NCCL_PROTOCOL_LL,
    PTO_NCCL_PROTOCOL_LL128,
    PTO_NCCL_PROTOCOL_SIMPLE,
    PTO_NCCL_PROTOCOL_COUNT
} pto_nccl_protocol_t;

const char *pto_nccl_algorithm_name(pto_nccl_algorithm_t value);
const char *pto_nccl_protocol_name(pto_nccl_protocol_t value);

/* Powers in watts. Each GPU power is the total draw of one GPU in that state. */
typedef enum {
    PTO_POWER_GPU_IDLE,   /* idle, held by a process */
    PTO_POWER_GPU_COPY,   /* bytes move into or out of its memory */
    PTO_POWER_GPU_KERNEL, /* a kernel runs */
    PTO_POWER_CPU_IDLE,   /* all CPUs of a node, while no process runs */
    PTO_POWER_CPU_CORE,   /* additional power of each core that works or polls */
    PTO_POWER_COUNT
} pto_power_t;

/* Values are read and changed by key (pto_machine_get, pto_machine_set, pto_machine_params). Several threads
 * may use a machine while none changes it. */
typedef struct pto_machine pto_machine_t;

/* Read a machine file. The caller frees `*machine` with pto_machine_destroy. Errors: PTO_ERR_IO, _SYNTAX,
 * _KEY, _TYPE, _RANGE, _NOT_FOUND, _TOO_LARGE, _MEMORY, each with file, line and column. */
pto_status_t pto_machine_open(const char *path, pto_machine_t **machine, pto_error_t *err);

/* Finds the file of a machine that the machine file `beside` (a path) names. The caller frees `*path`. */
typedef pto_status_t (*pto_machine_find_t)(const char *name, const char *beside, char **path,
                                           pto_error_t *err);

/* Set how machine files find those that they inherit. NULL, the default: by paths relative to their folder.
 * Call it before any machine is read. */
void pto_machine_find_by(pto_machine_find_t find);

/* The same for the files of MPI libraries; NULL: ../libraries/NAME.yaml, from the folder of the machine. */
void pto_library_find_by(pto_machine_find_t find);

/* The same for topologies; NULL: ../topologies/NAME.yaml. */
void pto_topology_find_by(pto_machine_find_t find);

/* The MPI library that the machine file names; NULL: none. */
const char *pto_machine_mpi_library(const pto_machine_t *machine);

/* Set the machine's MPI library and add the tables of the library's file that the machine lacks. On failure
 * some of them may have been added. Errors: those of finding and reading the file. */
pto_status_t pto_machine_use_library(pto_machine_t *machine, const char *name, pto_error_t *err);

/* Derive the name of a library's file from the result of MPI_Get_library_version or from the line `mpi=` of
 * samples. Returns false, with `name` unchanged, for an unknown library; the file need not exist. */
enum { PTO_LIBRARY_NAME_MAX = 40 };
bool pto_library_of_version(const char *version, char name[PTO_LIBRARY_NAME_MAX]);

/* A digest of 16 hexadecimal digits over all numbers of the machine with their intervals, inherited ones and
 * what-ifs included, and over `model_error`. Comments and names do not affect it. Returns `text`. */
enum { PTO_MACHINE_DIGEST_MAX = 17 };
const char *pto_machine_digest(const pto_machine_t *machine, char text[PTO_MACHINE_DIGEST_MAX]);

/* pto_machine_open from the text of a machine file; `path` only names the text in messages. */
pto_status_t pto_machine_create(const char *text, size_t text_size, const char *path, pto_machine_t **machine,
                                pto_error_t *err);

/* Make a copy that shares nothing with the machine. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_duplicate(const pto_machine_t *machine, pto_machine_t **duplicate, pto_error_t *err);

void pto_machine_destroy(pto_machine_t *machine);

/* Descriptive texts, valid until the machine is changed or destroyed. */
const char *pto_machine_name(const pto_machine_t *machine);
const char *pto_machine_source(const pto_machine_t *machine); /* NULL: not given */
const char *pto_machine_path(const pto_machine_t *machine);   /* the file it was read from */
/* The path for pto_param_t.file: the machine's own, or one that it inherits. */
const char *pto_machine_file(const pto_machine_t *machine, int file);
const char *pto_machine_model(const pto_machine_t *machine);   /* of pto_machine_restrict; NULL: full */
const char *pto_machine_what_if(const pto_machine_t *machine); /* changes, one per line; NULL: none */

const char *pto_machine_gpu(const pto_machine_t *machine); /* its GPUs' name; NULL: not given */
pto_basis_t pto_machine_basis(const pto_machine_t *machine);
/* Whether the file's copies.shared were measured under MPS; _UNKNOWN: the file does not say. */
pto_mps_t pto_machine_mps(const pto_machine_t *machine);

/* The runs for which its launches, nccl and remote.lines hold. */
pto_runs_t pto_machine_runs(const pto_machine_t *machine);

/* Where the file's model error comes from; NULL: it has none, and intervals are those of parameters alone. */
const char *pto_machine_error_source(const pto_machine_t *machine);

/* Whether the machine file has a table of the algorithms that the MPI library uses for a collective
 * (`allreduce`, ...) on buffers in this memory. */
bool pto_machine_has_library(const pto_machine_t *machine, const char *collective, pto_space_t space);

/* The node counts that terms were fitted to, in the file with this digest (samples.h). Returns how many. */
int pto_machine_fitted_to(const pto_machine_t *machine, const char *digest, const int64_t **nodes);

enum { PTO_COST_RANGE_MAX = 4 }; /* maximum number of byte ranges of a cost */

enum { PTO_PARAM_KEY_MAX = 80 };

/* One number of a machine, by the key that explanations of prices show. For a table of several rows, the key
 * contains the row (copies.shared.h2d.6.alpha_s: 6 processes; reduce.cpu.from_4096.alpha_s: from 4096 bytes),
 * and `group` names all rows at once. Otherwise both are the same. */
typedef struct {
    char key[PTO_PARAM_KEY_MAX];
    char group[PTO_PARAM_KEY_MAX];
    pto_param_t *param;   /* NULL: an integer */
    pto_param_t *partner; /* the parameter that is known or absent together with it; or NULL */
    pto_unit_t unit;      /* of `param` */
    int64_t *number;      /* node.*, and the below_bytes of a row that is not the last; else NULL */
    const char *flagged;  /* the file's reason to doubt it; or NULL */
    bool measured_only;   /* no price contains it (docs/model.md, "Measured, not priced") */
} pto_machine_param_t;

/* All numbers that a machine has or could have, except rows that it lacks; missing numbers have line 0. The
 * caller frees `*param` with free(). It points into the machine, so a caller that may change the machine may
 * do so through it. A duplicate has the same numbers in the same order. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_params(const pto_machine_t *machine, pto_machine_param_t **param, int *param_count,
                                pto_error_t *err);

/* The value of one number by its key, in SI units: energy.cpu.idle_w, node.gpus. Errors: PTO_ERR_NOT_FOUND if
 * there is no such key, or no value for it; PTO_ERR_RANGE if the key names several rows; PTO_ERR_MEMORY. */
pto_status_t pto_machine_get(const pto_machine_t *machine, const char *key, double *value, pto_error_t *err);

enum { PTO_PATTERN_MAX = 96 };

/* A family of parameters, as `portolan list parameters` shows it. */
typedef struct {
    char key[PTO_PATTERN_MAX]; /* in a machine file: remote.{load,store}.{on_socket,off_socket} */
    const char *unit;          /* or the form of what is below the key */
    const char *term;          /* the term of `--model` that it belongs to; "": in every model */
    const char *what;
    bool priced; /* false: measured, and no price uses it */
} pto_parameter_t;

int pto_parameter_count(void);
pto_parameter_t pto_parameter_at(int index);

/* A part of a machine file that a model may omit. */
typedef struct {
    const char *name; /* its key in the file */
    const char *summary;
} pto_model_term_t;

int pto_model_term_count(void);
const pto_model_term_t *pto_model_term_at(int index);

/* Remove the terms that a model does not have. "full" removes nothing; "published" removes all terms of the
 * table (the postal and max-rate models of messages, injection and copies remain); "published+TERM+TERM"
 * removes all but those. Errors: PTO_ERR_NOT_FOUND, with the nearest known name, PTO_ERR_MEMORY. */
pto_status_t pto_machine_restrict(pto_machine_t *machine, const char *model, pto_error_t *err);

/* Format the text of a machine file, which pto_machine_open reads back unchanged. The caller frees it.
 * `comment` (may be NULL) precedes the machine, with each of its lines after a '#'. Numbers are printed with
 * the fewest digits that read back as the same number. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_format(const pto_machine_t *machine, const char *comment, char **text,
                                pto_error_t *err);

/* Write the file. Errors: those of pto_machine_format, pto_output_open and pto_output_close. */
pto_status_t pto_machine_write(const pto_machine_t *machine, const char *comment, const char *path,
                               bool force, pto_error_t *err);

/* Format the key `model_error` alone; "" if there is none. The caller frees it. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_error_format(const pto_machine_t *machine, char **text, pto_error_t *err);

PTO_API_END

#endif
