#!/usr/bin/env bash
# One would guess that an MPI_Allreduce with MPI_MAX treats a NaN in one way throughout: equal elements have equal
# results, and all ranks the same ones.
# Rank 0 has NaN in 17 doubles and rank 1 has 1. In Open MPI, 16 become 1 and the last NaN; with the NaN on rank 1 it is
# the other way round. Its component for x86 combines vectors of 8, 4 or 2 doubles by MAXPD, which returns its second
# operand where one is NaN, and what is left over by out > in ? out : in, whose operands are in the other order; without
# the component all 17 are alike. In MPICH, the ranks differ: of one double, rank 0 gets 1 and rank 1 NaN, and of 4 ranks
# the last alone NaN. Each rank combines what it received with its own, in this order, as the operation is commutative. A
# program that ends when the maximum is NaN then ends on some ranks.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); OP_AVX_DOUBLE_FUNC in op_avx_functions.c,
# allreduce_intra_recursive_doubling.c and MPL_MAX.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/maximum.c" <<'END_C'
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT_MAX = 17, RANKS_MAX = 4 };

/* maximum COUNT RANK: that rank has NaN in so many doubles, the others 1. Prints the results of each rank. */
int main(int argc, char **argv) {
    double in[COUNT_MAX], out[COUNT_MAX];
    char mine[COUNT_MAX], all[RANKS_MAX * COUNT_MAX];
    int rank, size, count = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count; i++)
        in[i] = rank == atoi(argv[2]) ? NAN : 1;
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        mine[i] = isnan(out[i]) ? 'n' : '1';
    MPI_Gather(mine, count, MPI_CHAR, all, count, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("%.*s ", count, all + i * count);
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/maximum.c"

# openmpi RANK [OPTION...]: 17 doubles
openmpi() {
    local rank=$1
    shift
    run_openmpi 2 --mca btl self,vader "$@" "$work/openmpi" 17 "$rank"
}

# mpich RANKS RANK: one double
mpich() { run_mpich "$1" "$work/mpich" 1 "$2"; }

expect "Open MPI, NaN on rank 0" "1111111111111111n 1111111111111111n " "$(openmpi 0)"
expect "Open MPI, NaN on rank 1" "nnnnnnnnnnnnnnnn1 nnnnnnnnnnnnnnnn1 " "$(openmpi 1)"
expect "Open MPI without op/avx, NaN on rank 0" "nnnnnnnnnnnnnnnnn nnnnnnnnnnnnnnnnn " "$(openmpi 0 --mca op ^avx)"
expect "MPICH, 2 ranks, NaN on rank 0" "1 n " "$(mpich 2 0)"
expect "MPICH, 2 ranks, NaN on rank 1" "n 1 " "$(mpich 2 1)"
expect "MPICH, 4 ranks, NaN on rank 0" "1 1 1 n " "$(mpich 4 0)"
exit "$failed"
