/* The bytes that a collective call sends and receives, pair by pair. Each function is called after the call
 * has returned, with its arguments. */
#ifndef PROF_PARTS_H
#define PROF_PARTS_H

#include "profile.h"

/* One side of a collective: the bytes for each process or block. */
typedef struct {
    const void *buffer;
    MPI_Count count;    /* of each, without `counts` */
    const void *counts; /* of int, or of MPI_Count */
    bool is_large;
    MPI_Datatype type;
    const MPI_Datatype *types; /* alltoallw; NULL: `type` for all */
} prof_side_t;

typedef struct {
    const prof_call_t *call;
    MPI_Comm comm;
    int root; /* -1: none */
    prof_side_t in;
    prof_side_t out;
} prof_collective_t;

typedef void (*prof_note_t)(const prof_collective_t *what);

/* Until prof_keep_no_parts, parts are kept for prof_count_kept instead of being counted. NULL: out of memory.
 */
prof_kept_t *prof_keep_parts(void);
void prof_keep_no_parts(void);

void prof_note_barrier(const prof_collective_t *what);
void prof_note_bcast(const prof_collective_t *what);
void prof_note_gather(const prof_collective_t *what);
void prof_note_scatter(const prof_collective_t *what);
void prof_note_reduce_scatter_block(const prof_collective_t *what);
void prof_note_allgather(const prof_collective_t *what);
void prof_note_allgatherv(const prof_collective_t *what);
void prof_note_alltoall(const prof_collective_t *what);
void prof_note_reduce(const prof_collective_t *what);
void prof_note_allreduce(const prof_collective_t *what);
void prof_note_reduce_scatter(const prof_collective_t *what);
void prof_note_scan(const prof_collective_t *what);
void prof_note_neighbor_allgather(const prof_collective_t *what);
void prof_note_neighbor_alltoall(const prof_collective_t *what);

#endif
