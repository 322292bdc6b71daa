/* Ranks in MPI_COMM_WORLD, by which processes are the same in all communicators. */
#ifndef PRELOAD_RANKS_H
#define PRELOAD_RANKS_H

#include <mpi.h>
#include <stdbool.h>

/* Of the `size` members of a group; MPI_UNDEFINED for a process that is not among them. False: out of memory,
 * or MPI failed. */
bool preload_world_ranks(MPI_Group group, int size, int *world);

#endif
