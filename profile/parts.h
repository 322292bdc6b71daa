/* The traffic of a collective call, broken down into what this process sends to and receives from each other
 * process: its parts. The wrappers call these functions after MPI's function has returned; for a persistent
 * collective, that is its _init function. */
#ifndef PROF_PARTS_H
#define PROF_PARTS_H

#include "profile.h"

/* The input or the output of a collective, whose blocks may have different sizes. */
typedef struct {
    const void *buffer;
    MPI_Count count;    /* of each block, if `counts` is NULL */
    const void *counts; /* of each block: int, or MPI_Count (is_large) */
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

typedef void (*prof_note_t)(const prof_collective_t *collective);

/* For a persistent collective: until prof_stop_recording, parts are recorded for prof_count_persistent
 * instead of being counted. NULL: out of memory; the messages are then counted as lost. Free it with
 * prof_persistent_free. */
prof_persistent_t *prof_record_parts(void);
void prof_stop_recording(void);

/* Count a call and its parts. gather, scatter, alltoall and neighbor_* also serve the v and w forms, scan
 * also exscan. barrier also serves calls that failed, which are counted without parts. */
void prof_note_barrier(const prof_collective_t *collective);
void prof_note_bcast(const prof_collective_t *collective);
void prof_note_gather(const prof_collective_t *collective);
void prof_note_scatter(const prof_collective_t *collective);
void prof_note_reduce_scatter_block(const prof_collective_t *collective);
void prof_note_allgather(const prof_collective_t *collective);
void prof_note_allgatherv(const prof_collective_t *collective);
void prof_note_alltoall(const prof_collective_t *collective);
void prof_note_reduce(const prof_collective_t *collective);
void prof_note_allreduce(const prof_collective_t *collective);
void prof_note_reduce_scatter(const prof_collective_t *collective);
void prof_note_scan(const prof_collective_t *collective);
void prof_note_neighbor_allgather(const prof_collective_t *collective);
void prof_note_neighbor_alltoall(const prof_collective_t *collective);

#endif
