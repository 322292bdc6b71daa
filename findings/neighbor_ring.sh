#!/usr/bin/env bash
# One would guess that in a ring of two processes (MPI_Cart_create, periodic), what a process sends to the left arrives as
# coming from the right, as in a ring of three, whichever of MPI's calls exchanges the halos.
# In Open MPI it does so with MPI_Neighbor_alltoall, -v and -w; the non-blocking calls swap the two halos, as if the ring had
# been reflected. In MPICH MPI_Neighbor_alltoall and MPI_Ineighbor_alltoall are right, and -v and -w swap. The same holds for a
# ring of one process. Both neighbors are then one process, and messages of equal tag match in the order in which they are
# posted. Nothing fails: the halos are of equal size, and only the physics is wrong, in one direction, at small scale.
# MPI 4.1, section 8.6, names the case: block s of the sender belongs into block s^1 of the receiver.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); Open MPI's pull request 14416 and MPICH's 5777 tell of it. The latter, in MPICH
# 4.1, made -v and -w right by matching all lists in reverse, which in turn swaps the blocks of a neighbor that a distributed
# graph lists twice, until pull request 7945.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/ring.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_Comm ring;
static const int count[2] = {1, 1}, place[2] = {0, 1};
static const MPI_Aint displ[2] = {0, sizeof(int)};

static void exchange(const char *call, const int *out, int *in) {
    const MPI_Datatype type[2] = {MPI_INT, MPI_INT};
    MPI_Request request = MPI_REQUEST_NULL;
    if (strcmp(call, "alltoall") == 0)
        MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    else if (strcmp(call, "alltoallv") == 0)
        MPI_Neighbor_alltoallv(out, count, place, MPI_INT, in, count, place, MPI_INT, ring);
    else if (strcmp(call, "alltoallw") == 0)
        MPI_Neighbor_alltoallw(out, count, displ, type, in, count, displ, type, ring);
    else if (strcmp(call, "ialltoall") == 0)
        MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring, &request);
    else if (strcmp(call, "ialltoallv") == 0)
        MPI_Ineighbor_alltoallv(out, count, place, MPI_INT, in, count, place, MPI_INT, ring, &request);
    else
        MPI_Ineighbor_alltoallw(out, count, displ, type, in, count, displ, type, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* What rank 0 sends to the left is 0, and to the right 1; rank 1 sends 10 and 11, and so on. */
int main(int argc, char **argv) {
    int rank, size, periodic = 1, in[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Comm_rank(ring, &rank);
    const int out[2] = {10 * rank, 10 * rank + 1};
    const int left = 10 * ((rank + size - 1) % size) + 1, right = 10 * ((rank + 1) % size);
    for (int i = 1; i < argc; i++) {
        exchange(argv[i], out, in);
        if (rank == 0)
            printf("%s", in[0] == left && in[1] == right ? "right " : in[1] == left && in[0] == right ? "swapped " : "? ");
    }
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/ring.c"
calls=(alltoall alltoallv alltoallw ialltoall ialltoallv ialltoallw)

openmpi() { run_openmpi "$1" --mca btl self,vader "$work/openmpi" "${calls[@]}"; } # PROCESSES
mpich() { run_mpich "$1" "$work/mpich" "${calls[@]}"; }

echo "${calls[*]}"
expect "Open MPI, 3 processes" "right right right right right right " "$(openmpi 3)"
expect "Open MPI, 2 processes" "right right right swapped swapped swapped " "$(openmpi 2)"
expect "MPICH, 3 processes" "right right right right right right " "$(mpich 3)"
expect "MPICH, 2 processes" "right swapped swapped right swapped swapped " "$(mpich 2)"
exit "$failed"
