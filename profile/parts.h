/* The parts of a collective call: the messages that this process sends to and receives from each other
 * process. The wrappers in collectives.c call these functions after MPI's function has returned; for a
 * persistent collective, that is its _init function. */
#ifndef PROF_PARTS_H
#define PROF_PARTS_H

#include "profile.h"

/* The input or the output of a collective, whose blocks may have different sizes. */
typedef struct {
    const void *buffer;
    MPI_Count count;    /* of each block, if `counts` is NULL */
    const void *counts; /* of each block: an array of int, or of MPI_Count if is_large */
    bool is_large;
    MPI_Datatype type;
    const MPI_Datatype *types; /* alltoallw; NULL: `type` for all */
} prof_side_t;

/* A collective call, by its arguments. */
typedef struct {
    const prof_call_t *call;
    MPI_Comm comm;
    int root; /* -1: none */
    prof_side_t in;
    prof_side_t out;
} prof_collective_t;

/* Counts the parts of a call, and the call. */
typedef void prof_parts_of_t(const prof_collective_t *collective, const prof_group_t *group);

/* For a persistent collective: records parts until prof_stop_recording instead of counting them. Each start
 * then counts them by prof_count_persistent. NULL: out of memory; the messages are counted as lost. Free it
 * with prof_persistent_free. */
prof_persistent_t *prof_record_parts(void);
void prof_stop_recording(void);

/* Counts a call, and its parts by one of the functions below; NULL: it has none, for example because it
 * failed. */
void prof_note(const prof_collective_t *collective, prof_parts_of_t *parts);

/* gather, scatter, alltoall and neighbor_* also serve the v and w forms, scan also exscan. */
prof_parts_of_t prof_parts_of_bcast;
prof_parts_of_t prof_parts_of_gather;
prof_parts_of_t prof_parts_of_scatter;
prof_parts_of_t prof_parts_of_reduce_scatter_block;
prof_parts_of_t prof_parts_of_allgather;
prof_parts_of_t prof_parts_of_allgatherv;
prof_parts_of_t prof_parts_of_alltoall;
prof_parts_of_t prof_parts_of_reduce;
prof_parts_of_t prof_parts_of_allreduce;
prof_parts_of_t prof_parts_of_reduce_scatter;
prof_parts_of_t prof_parts_of_scan;
prof_parts_of_t prof_parts_of_neighbor_allgather;
prof_parts_of_t prof_parts_of_neighbor_alltoall;

#endif
