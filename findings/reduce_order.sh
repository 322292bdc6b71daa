#!/usr/bin/env bash
# One would guess that MPI_Reduce and MPI_Allreduce of one small vector give the same sum, as both go along trees of
# pairs: of 1e16, 1, -1e16, 1, 1e16, 1, -1e16, 1 on 8 ranks both lose the four ones, and give 0.
# MPI_Allreduce gives 0, MPI_Reduce 4, the exact sum. Recursive doubling adds neighbours first, and 1e16 + 1 = 1e16. In
# the binomial tree of Open MPI, the children of rank 0 are 1, 2 and 4 and those of rank 1 are 3 and 5: the odd ranks
# have a branch of their own, and come to 4 before they meet a large number. MPI_Ireduce, whose tree joins neighbours
# first, gives 0, and so does MPI_Reduce of MPICH.
# Open MPI 4.1.4-3+b1, MPICH 4.0.2-3+b1 (Debian 12); ompi_coll_base_topo_build_bmtree in coll_base_topo.c.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/sums.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    static const double values[] = {1e16, 1, -1e16, 1, 1e16, 1, -1e16, 1};
    double to_all, to_root, later;
    int rank;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&values[rank], &to_all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(&values[rank], &to_root, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Ireduce(&values[rank], &later, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("MPI_Allreduce %g, MPI_Reduce %g, MPI_Ireduce %g\n", to_all, to_root, later);
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/sums.c"

expect "Open MPI" "MPI_Allreduce 0, MPI_Reduce 4, MPI_Ireduce 0" \
    "$(run_openmpi 8 --mca btl self,vader "$work/openmpi")"
expect "MPICH" "MPI_Allreduce 0, MPI_Reduce 0, MPI_Ireduce 0" \
    "$(run_mpich 8 "$work/mpich")"
exit "$failed"
