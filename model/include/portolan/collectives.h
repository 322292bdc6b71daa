/* Measured collectives: the rows of collectives.csv (docs/formats.md), written by portolan-validate or
 * another benchmark. Several files may be read into one table if they name the same machine and MPI
 * library. */
#ifndef PORTOLAN_COLLECTIVES_H
#define PORTOLAN_COLLECTIVES_H

#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/samples.h"
#include "portolan/scenario.h"

PTO_API_BEGIN

/* One timing of one strategy. Counts are at least 1, `run` and `bytes` at least 0, `seconds` finite and
 * positive, `joules` finite. */
typedef struct {
    double seconds;
    double joules; /* total of all devices that were read; 0: not measured */
    int64_t bytes; /* per destination, of an owner's block (allgather, reduce_scatter, gather, scatter), or of
                      the vector */
    pto_collective_t collective;
    pto_implementation_t implementation;
    pto_datatype_t datatype; /* from the file's `datatype` line, else float */
    int32_t nodes;
    int32_t gpus_per_node;  /* processes, if the strategy is for data in host memory */
    int32_t procs_per_gpu;  /* all processes of a GPU that take part */
    int32_t owners_per_gpu; /* 1 if the file has no such column */
    int32_t run;            /* within its file */
    int32_t file;
    int32_t chunks;    /* of the message; 0: not in chunks, or not said */
    int32_t staged_in; /* PTO_STAGED_TUNED: not given */
    int32_t staged_out;
    pto_level_t distance; /* pair: of its processes; on_socket if not said */
    pto_pair_ends_t ends; /* pair; from GPU to GPU memory, one way, if not said */
    pto_halo_t halo;      /* halo; without dimensions if not said */
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

/* The node counts of a file's rows that are in `chosen` (NULL: all), increasing; at most
 * PTO_NODE_COUNTS_MAX. */
pto_node_counts_t pto_collectives_nodes(const pto_collectives_t *collectives, int file,
                                        const pto_node_counts_t *chosen);

/* The first file's value of a provenance key; NULL if no file has it. */
const char *pto_collectives_provenance(const pto_collectives_t *collectives, const char *key);

PTO_API_END

#endif
