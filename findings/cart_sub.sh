#!/usr/bin/env bash
# One would guess that MPI_Cart_sub with no dimension kept returns to each process a communicator of its own, of size 1, as it
# returns to each process its row of the grid where one dimension is kept.
# In MPICH rank 0 gets one, and all others get MPI_COMM_NULL, on which the next call fails. In Open MPI all get one. Code that
# takes any set of a grid's dimensions, for sums along them, meets the case where the set is empty. MPICH splits the communicator
# by the coordinates of the dimensions that go, but treats this case before that, by MPI_Cart_create with no dimension, which
# makes one grid with one place. MPI 3.1, section 7.5, promises the subgrid that contains the calling process.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); MPIR_Cart_sub_impl in topo_impl.c. MPICH's issue 7832 and its pull request
# 7837 (June 2026) are about it.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/sub.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

/* Prints for no, each and all dimensions of a grid of 2 x 2 the size of the subgrid that each rank gets, 0 for none. */
int main(int argc, char **argv) {
    const int dims[2] = {2, 2}, periodic[2] = {0, 0};
    int rank, all[4];
    MPI_Comm grid, subgrid;
    MPI_Init(&argc, &argv);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    for (int kept = 0; kept < 4; kept++) {
        const int remain[2] = {kept & 1, kept >> 1};
        int size = 0;
        MPI_Cart_sub(grid, remain, &subgrid);
        if (subgrid != MPI_COMM_NULL)
            MPI_Comm_size(subgrid, &size);
        MPI_Gather(&size, 1, MPI_INT, all, 1, MPI_INT, 0, grid);
        if (rank == 0)
            printf("%d %d %d %d%s", all[0], all[1], all[2], all[3], kept < 3 ? ", " : "");
    }
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/sub.c"

echo "sizes of the subgrids of ranks 0 to 3 with no dimension, the first, the second, both:"
expect "Open MPI" "1 1 1 1, 2 2 2 2, 2 2 2 2, 4 4 4 4" "$(run_openmpi 4 --mca btl self,vader "$work/openmpi")"
expect "MPICH" "1 0 0 0, 2 2 2 2, 2 2 2 2, 4 4 4 4" "$(run_mpich 4 "$work/mpich")"
exit "$failed"
