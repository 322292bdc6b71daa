/* The ranks of a group's members in MPI_COMM_WORLD. */
#include "ranks.h"

#include <stdlib.h>

bool preload_world_ranks(MPI_Group group, int size, int *world) {
    MPI_Group whole;
    int *own = calloc((size_t)size + 1, sizeof *own);
    bool done = own && PMPI_Comm_group(MPI_COMM_WORLD, &whole) == MPI_SUCCESS;
    for (int i = 0; own && i < size; i++)
        own[i] = i;
    if (done) {
        done = PMPI_Group_translate_ranks(group, size, own, whole, world) == MPI_SUCCESS;
        PMPI_Group_free(&whole);
    }
    free(own);
    return done;
}
