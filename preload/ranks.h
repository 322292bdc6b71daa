/* Ranks in MPI_COMM_WORLD, which identify a process in all communicators. */
#ifndef PRELOAD_RANKS_H
#define PRELOAD_RANKS_H

#include <mpi.h>
#include <stdbool.h>

/* Sets `world` to the ranks of the `size` members of a group; MPI_UNDEFINED for a process outside of
 * MPI_COMM_WORLD. False: out of memory, or MPI failed. */
bool preload_world_ranks(MPI_Group group, int size, int *world);

#endif
