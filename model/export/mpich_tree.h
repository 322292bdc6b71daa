/* The decision tree by which MPICH chooses the algorithm of a collective call, in its JSON form. `portolan
 * export` (export_mpich.c) patches MPICH's own tree with it and checks files of users. */
#ifndef PTO_MPICH_TREE_H
#define PTO_MPICH_TREE_H

#include <jansson.h>
#include <stdint.h>

#include "export.h"

/* A call with a predefined operation, on a communicator with the same number of ranks on each node. */
typedef struct {
    const char *collective; /* MPICH's name */
    int64_t ranks;
    int64_t nodes;
    int64_t bytes; /* of the vector, of a rank's block for allgather, to each rank for alltoall */
    int64_t count; /* elements */
} pto_mpich_call_t;

/* Parses a file for MPICH 4.0. MPICH aborts or crashes on a file that it cannot read, or that leaves out a
 * case; here, this is an error. `names` has the algorithms that MPICH knows, one per line. The caller
 * releases the tree with json_decref.
 * Errors: PTO_ERR_SYNTAX with line and column, or with the path of the node. */
pto_status_t pto_mpich_parse(const pto_export_file_t *file, const char *names, json_t **tree,
                             pto_error_t *err);

/* Checks a tree that was read from `path`, or one that was built here (NULL), in the same way. */
pto_status_t pto_mpich_check(const json_t *tree, const char *path, const char *names, pto_error_t *err);

/* Returns the name of the algorithm that MPICH runs, borrowed from a tree that was checked; "" if the tree
 * has no branch for the call. */
const char *pto_mpich_algorithm(const json_t *tree, const pto_mpich_call_t *call);

#endif
