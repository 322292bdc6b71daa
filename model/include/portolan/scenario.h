/* A scenario: what a user asks for. The collective, the machine and layout, the sizes, and the strategies to
 * compare. Read from YAML (docs/formats.md) or built from command-line flags. */
#ifndef PORTOLAN_SCENARIO_H
#define PORTOLAN_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"

PTO_API_BEGIN

/* --- layouts ------------------------------------------------------------------------------------------ */

/* A layout: how many processes a job has and where they are. A logical rank is (node, gpu, core). Of each
 * GPU's procs_per_gpu processes, the first owners_per_gpu hold user data (owners); the others are helpers. A
 * layout is pure arithmetic, so it is as small for a million GPUs as for one.
 *
 * If the data are in host memory (`in_host`), GPUs take no part, and each process stands in the place of a
 * GPU: gpus_per_node counts the processes of a node, and owners_per_gpu and procs_per_gpu are 1
 * (docs/decisions/0040). */
typedef struct {
    int64_t nodes;
    int64_t gpus_per_node;
    int64_t owners_per_gpu;  /* 1 unless a scenario says otherwise */
    int64_t procs_per_gpu;   /* processes of one GPU, owners and helpers */
    int64_t gpus_per_socket; /* of the machine, which may have more GPUs than the job uses; at least 1. In
                                host memory: processes of a socket, among which they are spread evenly */
    bool in_host;            /* the owners' data are in host memory */
} pto_layout_t;

typedef struct {
    int64_t node;
    int64_t gpu;
    int64_t core;
} pto_rank_t;

/* Refuse a layout with a count below 1, more owners than processes on a GPU, several processes at a place in
 * host memory, or more ranks than an int64_t can number. */
pto_status_t pto_layout_check(const pto_layout_t *layout, pto_error_t *err);

/* All processes: nodes * gpus_per_node * procs_per_gpu. */
int64_t pto_layout_rank_count(const pto_layout_t *layout);

/* Processes that hold user data: nodes * gpus_per_node * owners_per_gpu. */
int64_t pto_layout_owner_count(const pto_layout_t *layout);

/* Ranks are numbered by node, then by GPU within the node, then by core within the GPU. */
pto_rank_t pto_layout_rank(const pto_layout_t *layout, int64_t number);
int64_t pto_layout_number(const pto_layout_t *layout, pto_rank_t rank);

/* Distance between two ranks; PTO_LEVEL_ON_GPU if they share a GPU. */
pto_level_t pto_layout_level(const pto_layout_t *layout, pto_rank_t a, pto_rank_t b);

/* Properties of a collective. */
enum {
    PTO_REDUCES = 1,   /* combines values */
    PTO_FROM_ROOT = 2, /* only owner 0 has an input */
    PTO_TO_ROOT = 4,   /* only owner 0 has an output */
    PTO_BY_PAIR = 8,   /* sizes can differ between pairs */
    PTO_BY_OWNER = 16  /* sizes can differ between owners */
};

/* All collectives, for readers and writers of any format: the name in files and options; whether MPI has a
 * routine (MPI), one for each phase (NEIGHBORS) or none (NONE), and its name; pto_data_t; pto_nccl_kind_t, or
 * COUNT if NCCL has none; properties.
 *
 * MESSAGES: n messages from each GPU to distinct GPUs of the next node. PAIR: one message between two
 * processes at a stated distance. HALO: halo exchange on a grid of processes. REDUCE_SCATTER: of equal
 * blocks, MPI_Reduce_scatter_block. */
#define PTO_COLLECTIVE_TABLE(X)                                                                              \
    X(ALLREDUCE, "allreduce", MPI, "Allreduce", VECTOR, ALLREDUCE, PTO_REDUCES)                              \
    X(ALLTOALL, "alltoall", MPI, "Alltoall", BLOCKS, ALLTOALL, 0)                                            \
    X(ALLTOALLV, "alltoallv", MPI, "Alltoallv", BLOCKS, ALLTOALL, PTO_BY_PAIR)                               \
    X(MESSAGES, "messages", NONE, "", MESSAGES, COUNT, 0)                                                    \
    X(REDUCE, "reduce", MPI, "Reduce", VECTOR, REDUCE, PTO_REDUCES | PTO_TO_ROOT)                            \
    X(BROADCAST, "broadcast", MPI, "Bcast", VECTOR, BROADCAST, PTO_FROM_ROOT)                                \
    X(ALLGATHER, "allgather", MPI, "Allgather", GATHERED, ALLGATHER, 0)                                      \
    X(PAIR, "pair", NONE, "", PAIR, COUNT, 0)                                                                \
    X(HALO, "halo", NEIGHBORS, "Neighbor_alltoallw", GRID, COUNT, 0)                                         \
    X(REDUCE_SCATTER, "reduce_scatter", MPI, "Reduce_scatter", SCATTERED, REDUCE_SCATTER, PTO_REDUCES)       \
    X(GATHER, "gather", MPI, "Gather", GATHERED, COUNT, PTO_TO_ROOT)                                         \
    X(SCATTER, "scatter", MPI, "Scatter", SCATTERED, COUNT, PTO_FROM_ROOT)                                   \
    X(ALLGATHERV, "allgatherv", MPI, "Allgatherv", GATHERED, ALLGATHERV, PTO_BY_OWNER)

typedef enum {
#define PTO_COLLECTIVE_ENUM(id, name, in, routine, data, nccl, properties) PTO_COLLECTIVE_##id,
    PTO_COLLECTIVE_TABLE(PTO_COLLECTIVE_ENUM)
#undef PTO_COLLECTIVE_ENUM
        PTO_COLLECTIVE_COUNT
} pto_collective_t;

typedef enum {
    PTO_IMPLEMENTATION_LIBRARY,
    PTO_IMPLEMENTATION_ISEND_IRECV,
    PTO_IMPLEMENTATION_COUNT
} pto_implementation_t;

/* What a split strategy divides among the processes of a GPU: the bytes of each message, or destinations. */
typedef enum { PTO_SPLIT_BYTES, PTO_SPLIT_DESTINATIONS, PTO_SPLIT_COUNT } pto_split_t;

typedef enum {
    PTO_DATATYPE_BYTE,
    PTO_DATATYPE_INT32,
    PTO_DATATYPE_INT64,
    PTO_DATATYPE_FLOAT,
    PTO_DATATYPE_DOUBLE,
    PTO_DATATYPE_HALF,     /* IEEE 754 binary16 */
    PTO_DATATYPE_BFLOAT16, /* the upper half of a float */
    PTO_DATATYPE_INT8,
    PTO_DATATYPE_UINT8,
    PTO_DATATYPE_INT16,
    PTO_DATATYPE_UINT16,
    PTO_DATATYPE_UINT32,
    PTO_DATATYPE_UINT64,
    PTO_DATATYPE_FLOAT_COMPLEX,
    PTO_DATATYPE_DOUBLE_COMPLEX,
    PTO_DATATYPE_COUNT
} pto_datatype_t;

/* The kind of number that a datatype holds; it determines which operations combine it. */
typedef enum {
    PTO_NUMBER_BYTE, /* not a number */
    PTO_NUMBER_SIGNED,
    PTO_NUMBER_UNSIGNED,
    PTO_NUMBER_REAL,
    PTO_NUMBER_COMPLEX,
    PTO_NUMBER_COUNT
} pto_number_t;

/* The quantity that a sweep varies. */
typedef enum { PTO_SWEEP_BYTES, PTO_SWEEP_NODES, PTO_SWEEP_MESSAGES, PTO_SWEEP_COUNT } pto_sweep_kind_t;

/* How the byte counts of an alltoallv, or of an allgatherv (one for each owner), are generated. */
typedef enum {
    PTO_COUNTS_EQUAL,   /* `bytes` for every pair */
    PTO_COUNTS_SKEW,    /* seeded, uniform in [bytes (1 - skew), bytes (1 + skew)] */
    PTO_COUNTS_MATRIX,  /* a CSV file of bytes, row i to column j */
    PTO_COUNTS_STENCIL, /* `bytes` times a weight to each neighbor on a grid */
    PTO_COUNTS_GROUPS,  /* `bytes` to each process of one's own line of a grid, itself included */
    PTO_COUNTS_LIST,    /* bytes of each owner; allgatherv only */
    PTO_COUNTS_KIND_COUNT
} pto_counts_kind_t;

/* A `pair`: where its message comes from and goes to (default: GPU memory), and whether one goes each way. */
typedef struct {
    bool from_host;
    bool to_host;
    bool both_ways;
} pto_pair_ends_t;

/* Where the owners' data are. */
typedef enum {
    PTO_MEMORY_AUTO, /* in GPU memory, or in host memory if the machine's nodes have no GPUs */
    PTO_MEMORY_GPU,
    PTO_MEMORY_HOST,
    PTO_MEMORY_COUNT
} pto_data_memory_t;

enum { PTO_DIMS_MAX = 3 };

/* Which of a halo's corners hold their owner's values (in three dimensions: and edges). */
typedef enum {
    PTO_CORNERS_TWO_PHASE, /* all: one dimension after another, so that they arrive in several hops */
    PTO_CORNERS_DIAGONAL,  /* all: by messages of their own, with all others at once */
    PTO_CORNERS_NONE,      /* none: all messages at once */
    PTO_CORNERS_COUNT
} pto_corners_t;

/* The grid of a `halo`: `dims` owners along each dimension, numbered in row-major order as in
 * MPI_Cart_create. Each holds a row-major array of `extent` cells along each dimension, with a halo of
 * `width` additional cells on every side. */
typedef struct {
    int dim_count;              /* 2 or 3 */
    int64_t dims[PTO_DIMS_MAX]; /* 0: as even as possible, so that all owners are in the grid */
    bool wrap[PTO_DIMS_MAX];
    int64_t extent[PTO_DIMS_MAX]; /* at least `width` */
    int64_t width;
    pto_corners_t corners;
} pto_halo_t;

enum { PTO_SHIFTS_MAX = 27 }; /* of a grid: 3^3, of which one is none */

/* Replace the dims of 0 by those of MPI_Dims_create. Errors: PTO_ERR_RANGE, with the reason: not 2 or 3
 * dimensions, a width below 1, an extent below the width; PTO_ERR_NOT_APPLICABLE if the grid does not have
 * `owners` members. */
pto_status_t pto_halo_complete(pto_halo_t *grid, int64_t owners, pto_error_t *err);
/* The index of the neighbor at `shift` in a completed grid; -1: none. */
int64_t pto_halo_peer(const pto_halo_t *grid, int64_t index, const int shift[PTO_DIMS_MAX]);
/* The shift of this number, below PTO_SHIFTS_MAX; false if its values are not exchanged. */
bool pto_halo_shift(const pto_halo_t *grid, int64_t number, int shift[PTO_DIMS_MAX]);
/* Cells of an owner's array, with halos. */
int64_t pto_halo_cells(const pto_halo_t *grid);
/* A total order of grids: negative, 0 (the same grid) or positive. */
int pto_halo_compare(const pto_halo_t *a, const pto_halo_t *b);

/* A grid in one field of a table: "dims=2x1 wrap=1x0 extent=4x256 halo=1 corners=two_phase". */
enum { PTO_HALO_TEXT_MAX = 256 };
const char *pto_halo_text(const pto_halo_t *grid, char text[PTO_HALO_TEXT_MAX]);
/* Read such a text; all but `extent` may be absent. Errors: PTO_ERR_TYPE, PTO_ERR_RANGE. */
pto_status_t pto_halo_parse(const char *text, size_t text_size, pto_halo_t *grid, pto_error_t *err);

/* The form of an owner's data. */
typedef enum {
    PTO_DATA_VECTOR,   /* one vector of `bytes` */
    PTO_DATA_BLOCKS,   /* one block of `bytes` per destination; block i of owner j's output is from owner i */
    PTO_DATA_MESSAGES, /* several messages of `bytes` each */
    PTO_DATA_GATHERED, /* one block of `bytes`, or of an own count; block i of every output is owner i's */
    PTO_DATA_PAIR,     /* one message of `bytes` from owner 0 to owner 1, or one each way */
    PTO_DATA_GRID,     /* in place: part of a grid, in cells of `bytes`, with a halo around it */
    PTO_DATA_SCATTERED, /* one block of `bytes` per owner; the only block of owner i's output is block i */
    PTO_DATA_COUNT
} pto_data_t;

/* Properties of a collective. */
const char *pto_collective_name(pto_collective_t collective);
pto_data_t pto_collective_data(pto_collective_t collective);
bool pto_collective_is_vector(pto_collective_t collective); /* PTO_DATA_VECTOR */
/* Blocks of `bytes` in the input and in the output of an owner that has one. Not for messages and halos. */
int64_t pto_collective_blocks_in(pto_collective_t collective, int64_t owners);
int64_t pto_collective_blocks_out(pto_collective_t collective, int64_t owners);
bool pto_collective_is_addressed(pto_collective_t collective);    /* each owner has data per destination */
bool pto_collective_reduces(pto_collective_t collective);         /* combines values */
bool pto_collective_is_from_root(pto_collective_t collective);    /* only owner 0 has an input */
bool pto_collective_is_to_root(pto_collective_t collective);      /* only owner 0 has an output */
bool pto_collective_is_by_pair(pto_collective_t collective);      /* sizes can differ between pairs */
bool pto_collective_is_by_owner(pto_collective_t collective);     /* sizes can differ between owners */
bool pto_collective_is_allgather(pto_collective_t collective);    /* all get the blocks of all */
bool pto_collective_is_in_mpi(pto_collective_t collective);       /* an MPI call exists */
pto_nccl_kind_t pto_collective_nccl(pto_collective_t collective); /* PTO_NCCL_COUNT: not in NCCL */

const char *pto_corners_name(pto_corners_t value);
const char *pto_data_memory_name(pto_data_memory_t value); /* auto, gpu, host */
const char *pto_implementation_name(pto_implementation_t value);
const char *pto_split_name(pto_split_t value);
const char *pto_datatype_name(pto_datatype_t datatype);
const char *pto_sweep_kind_name(pto_sweep_kind_t value);
int64_t pto_datatype_bytes(pto_datatype_t datatype); /* of one element */
pto_number_t pto_datatype_number(pto_datatype_t datatype);

/* The values of a scenario field: one integer, a {from, to, factor} range or a [list]. */
typedef struct {
    int64_t *value; /* increasing; owned */
    int64_t count;
} pto_series_t;

enum { PTO_SWEEP_POINTS_MAX = 4096 };

/* The values from, from * factor, ... below `to`, and `to` itself. Errors: PTO_ERR_RANGE (from below 1 or
 * factor below 2, so that the series would not end; `to` below from), PTO_ERR_MEMORY. */
pto_status_t pto_series_range(int64_t from, int64_t to, int64_t factor, pto_series_t *series,
                              pto_error_t *err);
/* A series of one value. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_series_one(int64_t value, pto_series_t *series, pto_error_t *err);
void pto_series_fini(pto_series_t *series);

enum { PTO_GRID_DIMS_MAX = 4, PTO_GRID_WEIGHT_MAX = 1 << 20 };

/* A grid of processes, numbered in row-major order: the last dimension varies fastest. */
typedef struct {
    int dim_count;
    int64_t dim[PTO_GRID_DIMS_MAX];
    int64_t weight[PTO_GRID_DIMS_MAX]; /* stencils: of the messages along this dimension */
    bool wrap[PTO_GRID_DIMS_MAX];      /* stencils: its first and last process are neighbors. With size 2 they
                                          are neighbors twice, and their messages are twice as large */
    int along;                         /* groups: the dimension of the lines */
} pto_grid_t;

/* Byte counts between owners. */
typedef struct pto_counts {
    pto_counts_kind_t kind;
    double skew; /* in [0, 1] */
    uint64_t seed;
    int64_t order;           /* rows and columns of the matrix, or numbers of the list */
    int64_t *matrix;         /* order * order, row-major: bytes from i to j; of a list: order; owned */
    char *matrix_path;       /* NULL: not from a file */
    pto_grid_t grid;         /* stencils and groups */
    struct pto_counts *host; /* what the owners send each other at the same time among buffers in host memory;
                                has no `host` itself; owned. NULL: nothing */
} pto_counts_t;

/* Bytes that owner `source` sends to owner `destination` if the scenario's size is `bytes`.
 *
 * Skewed counts are the same on every platform. With d = floor(bytes * skew), the product taken in double
 * precision, the count is bytes - d + (h modulo 2 d + 1): uniform over the integers of [bytes (1 - skew),
 * bytes (1 + skew)]. With mix the output function of splitmix64 (Steele, Lea, Flood 2014) and g =
 * 0x9e3779b97f4a7c15, all modulo 2^64, h = mix(mix(mix(seed + g) + source + g) + destination + g). While h <
 * 2^64 modulo 2 d + 1, h is replaced by mix(h + g), so that all counts are equally likely. */
int64_t pto_counts_bytes(const pto_counts_t *counts, int64_t bytes, int64_t source, int64_t destination);

/* Whether pairs of owners differ, or there are two patterns. */
bool pto_counts_differ(const pto_counts_t *counts);
/* Whether the counts depend on the scenario's size: all but matrices and lists do. */
bool pto_counts_scale(const pto_counts_t *counts);

/* Read a square CSV matrix of byte counts: non-negative integers; lines that begin with '#' are comments. Or
 * rows with the columns `source`, `destination` and `bytes` (traffic.csv, docs/formats.md), of which those of
 * one pair are added; a line `# ranks=N` gives the order. On success `*counts` owns the matrix. Errors:
 * PTO_ERR_IO, _SYNTAX, _TYPE, _RANGE, _TOO_LARGE, _MEMORY, with file, line and column. */
pto_status_t pto_counts_read_matrix(const char *path, pto_counts_t *counts, pto_error_t *err);
pto_status_t pto_counts_parse_matrix(const char *text, size_t text_size, const char *path,
                                     pto_counts_t *counts, pto_error_t *err);
/* Read a list of non-negative byte counts, in any number of lines, else as pto_counts_read_matrix. */
pto_status_t pto_counts_read_list(const char *path, pto_counts_t *counts, pto_error_t *err);
void pto_counts_fini(pto_counts_t *counts);

/* How many numbers a matrix or list has; else 0. */
int64_t pto_counts_values(const pto_counts_t *counts);

/* Read a mapping as under a scenario's key `counts`, such as "{pattern: stencil, dims: [4, 4]}". Errors:
 * those of pto_scenario_parse. */
pto_status_t pto_counts_parse(const char *text, const char *path, pto_counts_t *counts, pto_error_t *err);

/* How many owners the counts, or those of either pattern, are for; 0: any number. */
int64_t pto_counts_order(const pto_counts_t *counts);

/* An upper bound of a pair's bytes if the scenario's size is `bytes`; INT64_MAX if it does not fit. */
int64_t pto_counts_largest(const pto_counts_t *counts, int64_t bytes);

/* Check the skew, the grids, and that two patterns have equally many processes. Errors: PTO_ERR_RANGE. */
pto_status_t pto_counts_check(const pto_counts_t *counts, pto_error_t *err);

/* Describe a stencil or groups, such as "stencil on 4 x 4, wrap 1 1", or two patterns, such as "gpu: stencil
 * on 16; cpu: matrix FILE"; "" for one of another kind. Returns `text`. */
const char *pto_counts_describe(const pto_counts_t *counts, char *text, size_t text_size);

/* A placement: the process of the application at each place of the layout. The library numbers owners by
 * place, so a placement changes only what they send each other (docs/decisions/0012). */
typedef struct {
    pto_rank_t place;
    int line; /* of the file; 0: none */
} pto_placed_t;

typedef struct {
    int64_t count;    /* processes; 0: process i is owner i */
    pto_placed_t *at; /* by process; owned */
    int64_t *process; /* by owner, once bound to a layout; owned */
    char *path;       /* the file it was read from, or NULL; owned */
} pto_mapping_t;

/* Read a CSV table with the columns process, node, gpu and, optionally, core; processes count from 0. Errors:
 * PTO_ERR_IO, _SYNTAX, _KEY, _TYPE, _RANGE (a process given twice or missing), _MEMORY, with file, line. */
pto_status_t pto_mapping_read(const char *path, pto_mapping_t *mapping, pto_error_t *err);
pto_status_t pto_mapping_parse(const char *text, size_t text_size, const char *path, pto_mapping_t *mapping,
                               pto_error_t *err);

/* Make the placement that puts process p at the place of owner owner[p], bound to the layout; `owner` must be
 * a permutation. Errors: PTO_ERR_RANGE, PTO_ERR_MEMORY. */
pto_status_t pto_mapping_make(const pto_layout_t *layout, const int64_t *owner, pto_mapping_t *mapping,
                              pto_error_t *err);

/* Check that every process has a place of its own that exists and holds data, and fill `process`. An empty
 * placement fits any layout. Errors: PTO_ERR_RANGE, at the process's line; PTO_ERR_MEMORY. */
pto_status_t pto_mapping_bind(pto_mapping_t *mapping, const pto_layout_t *layout, pto_error_t *err);

/* For an executor's table: rank[p] is the rank of process p of the application. Processes without data follow
 * in the order of their ranks. `rank` has room for all ranks of the layout. */
void pto_mapping_ranks(const pto_mapping_t *mapping, const pto_layout_t *layout, int64_t *rank);

/* The table as pto_mapping_read takes it; the caller frees `*text`. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_mapping_write(const pto_mapping_t *mapping, char **text, pto_error_t *err);
void pto_mapping_fini(pto_mapping_t *mapping);

/* Which algorithm models the MPI library's own collective. */
typedef struct {
    char *name;     /* an algorithm's name; NULL: from the table, the machine file, or the cheapest */
    bool best;      /* "best": the cheapest, whatever the machine file says */
    int rule_count; /* a table of byte ranges, as in a machine file */
    pto_library_rule_t *rule;
    const char *own; /* borrowed; our algorithm where the library is not called; NULL: the cheapest */
} pto_library_choice_t;

/* Values of pto_staged_t that stand for a choice. _TUNED: the machine file's `tuning` if it has a row, else
 * the cheapest. _ALL and _CROSS: the cheapest, whatever `tuning` says; portolan-validate runs every pair of
 * numbers (_ALL), or those that differ from the cheapest pair in only one of the two (_CROSS). */
enum { PTO_STAGED_TUNED = -1, PTO_STAGED_ALL = -2, PTO_STAGED_CROSS = -3 };

/* A field's position in the scenario file; line 0: it is not from the file, or overridden. */
typedef struct {
    int line;
    int column;
} pto_place_t;

/* The fields that have a place, and their keys in files. A field with several keys is named by this one. */
#define PTO_SCENARIO_FIELD_TABLE(X)                                                                          \
    X(MACHINE, "machine")                                                                                    \
    X(COLLECTIVE, "collective")                                                                              \
    X(IMPLEMENTATION, "implementation")                                                                      \
    X(SPLIT, "split")                                                                                        \
    X(DATATYPE, "datatype")                                                                                  \
    X(LAYOUT, "layout")                                                                                      \
    X(MEMORY, "memory")                                                                                      \
    X(BYTES, "bytes")                                                                                        \
    X(NODES, "nodes")                                                                                        \
    X(MESSAGES, "messages")                                                                                  \
    X(UNIQUE_BYTES, "unique_bytes")                                                                          \
    X(COUNTS, "counts")                                                                                      \
    X(PLACEMENT, "placement")                                                                                \
    X(DISTANCE, "distance")                                                                                  \
    X(SPACES, "spaces")                                                                                      \
    X(BOTH_WAYS, "both_ways")                                                                                \
    X(IN_PLACE, "in_place")                                                                                  \
    X(CHUNKS, "chunks")                                                                                      \
    X(STAGED_MEMBERS, "staged_in")                                                                           \
    X(HALO, "extent")                                                                                        \
    X(STRATEGIES, "strategies")                                                                              \
    X(LIBRARY, "library")

typedef enum {
#define PTO_SCENARIO_FIELD_ENUM(id, key) PTO_FIELD_##id,
    PTO_SCENARIO_FIELD_TABLE(PTO_SCENARIO_FIELD_ENUM)
#undef PTO_SCENARIO_FIELD_ENUM
        PTO_FIELD_COUNT
} pto_scenario_field_t;

typedef struct {
    char *name;
    char *path;         /* the file it was read from; NULL when made from flags */
    char *machine_path; /* resolved against the scenario file's folder */
    pto_place_t place[PTO_FIELD_COUNT];
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT: not set yet */
    pto_implementation_t implementation;
    bool has_split; /* false: the default, destinations for alltoallv and bytes otherwise */
    pto_split_t split;
    pto_datatype_t datatype; /* default float; alltoall(v) and messages move raw bytes */
    pto_layout_t layout;     /* 0 where left open until bound; first of `nodes` */
    pto_data_memory_t memory;
    bool procs_open;        /* once bound: the layout's procs_per_gpu was left open, and is owners_per_gpu */
    int64_t procs_per_node; /* host memory only; 0: left open until bound, then all cores */
    pto_series_t bytes;
    pto_series_t nodes;    /* one value unless swept */
    pto_series_t messages; /* `messages` only; empty: 1 */
    int64_t unique_bytes;  /* `messages` only; 0: all of them */
    pto_counts_t counts;   /* alltoallv and allgatherv only */
    pto_mapping_t mapping; /* alltoallv only: `placement` */
    pto_level_t distance;  /* `pair` only: between the two processes, which it places; default on_socket */
    pto_pair_ends_t ends;  /* `pair` only */
    pto_halo_t halo;       /* `halo` only; `bytes` are a cell's, by default those of `datatype` */
    bool in_place;         /* allreduce, reduce, broadcast only: input and output are one buffer */
    int64_t chunks;        /* of chunked strategies; 0: as many as are cheapest */
    pto_staged_t staged_members; /* of strategies that stage; each may be one of PTO_STAGED_* */
    int strategy_count;          /* 0: all that support the collective */
    char **strategy;
    pto_library_choice_t library;
    int64_t work_limit; /* of a command on the scenario; 0: PTO_WORK_LIMIT, about a minute */
} pto_scenario_t;

/* A scenario with all defaults and no request yet. */
void pto_scenario_init(pto_scenario_t *scenario);
void pto_scenario_fini(pto_scenario_t *scenario);

/* Read a scenario file. Relative paths in it are relative to its folder. Everything is checked here except
 * the names of strategies and algorithms, which the registries check later. Errors: PTO_ERR_IO, _SYNTAX,
 * _KEY, _TYPE, _RANGE, _NOT_FOUND, _TOO_LARGE, _MEMORY, with file, line and column. */
pto_status_t pto_scenario_read(const char *path, pto_scenario_t *scenario, pto_error_t *err);
pto_status_t pto_scenario_parse(const char *text, size_t text_size, const char *path,
                                pto_scenario_t *scenario, pto_error_t *err);

/* Check what both files and flags must satisfy: sizes, layout, no field that the collective does not use.
 * More than one of bytes, nodes and messages may be swept here; pto_scenario_bind accepts only one. Errors:
 * PTO_ERR_RANGE, PTO_ERR_KEY, at the field's place if it has one. */
pto_status_t pto_scenario_check(const pto_scenario_t *scenario, pto_error_t *err);

/* Bind the scenario to a machine: fill in defaults for what it leaves open (with a matrix, the default size
 * is the largest entry; the layout of a pair follows from its distance) and the sockets of its GPUs. Errors:
 * PTO_ERR_RANGE if several of bytes, nodes and messages have more than one value, if it asks for more than a
 * node of the machine has, for a distance that it does not have, or for GPUs and for data in host memory. The
 * number of nodes is not limited. */
pto_status_t pto_scenario_bind(pto_scenario_t *scenario, const pto_machine_t *machine, pto_error_t *err);

/* Read the scenario's machine file. The caller frees `*machine`. Errors: those of pto_machine_open; a file
 * that cannot be read is reported at the place where the scenario names it. */
pto_status_t pto_scenario_read_machine(const pto_scenario_t *scenario, pto_machine_t **machine,
                                       pto_error_t *err);

/* The split that applies: the one requested, or the collective's default. */
pto_split_t pto_scenario_split(const pto_scenario_t *scenario);

/* The quantity that varies: nodes or messages if they have several values, else bytes. */
pto_sweep_kind_t pto_scenario_sweep(const pto_scenario_t *scenario);

/* --- what if ------------------------------------------------------------------------------------------ */

/* Change one parameter of a machine, or of a scenario's layout, for one run ("what if"). `text` is
 * PARAMETER=VALUE, or PARAMETER=*FACTOR or PARAMETER=/FACTOR for a relative change. A parameter is a key or a
 * group of pto_machine_params, or nodes, gpus_per_node, procs_per_gpu or owners_per_gpu of the layout. In a
 * key, * matches any text (copies.*.beta_s_per_byte=/2): all parameters that match and have a value, except
 * limits of byte ranges and node.*. If none matches, names are compared without their units
 * (copies.*.beta=/2; beta is injection.*.s_per_byte, too), and then `network.` stands for the parameters
 * between nodes (network.*.beta=/2): messages.*.off_node, gap.cpu, gap.gpu, injection, network.
 * Values may have units (pto_quantity_parse). A changed parameter loses its interval, gets the line
 * PTO_LINE_WHAT_IF and is recorded in pto_machine_what_if. A VALUE adds a parameter that the machine lacks.
 *
 * The scenario need not be bound, and must be checked and bound afterwards. On an error both are unchanged.
 * Errors: PTO_ERR_TYPE (not PARAMETER=VALUE, not a number), PTO_ERR_NOT_FOUND (no such parameter, with the
 * nearest known one), PTO_ERR_RANGE (negative, not finite, not an integer where one is needed, ranges that
 * would overlap), PTO_ERR_MEMORY, and those of pto_scenario_bind. */
pto_status_t pto_what_if(const char *text, pto_scenario_t *scenario, pto_machine_t *machine,
                         pto_error_t *err);

/* Give a machine's parameter a value in SI units, as pto_what_if does with "KEY=VALUE", but never change a
 * layout: a group's value becomes that of all its rows. On an error the machine is unchanged. Errors:
 * PTO_ERR_NOT_FOUND, _RANGE, _MEMORY. */
pto_status_t pto_machine_set(pto_machine_t *machine, const char *key, double value, pto_error_t *err);

PTO_API_END

#endif
