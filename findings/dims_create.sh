#!/usr/bin/env bash
# One would guess that MPI_Dims_create(72, 2) returns 9 x 8: "set to be as close to each other as possible, using an
# appropriate divisibility algorithm" (MPI 3.1, 7.5.2).
# It returns 12 x 6, and for 864 processes in three dimensions 12 x 12 x 6, not 12 x 9 x 8. Open MPI gives each prime
# factor, the largest first, to the dimension that is the smallest then: 3 and 3, then 2 and 2, and the last 2 doubles
# one of two sixes. Numbers of processes with three factors of 2 beside a square are common on nodes of 4, 6 or 8 GPUs.
# MPICH returns the even ones.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); assignnodes in ompi/mpi/c/dims_create.c.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/dims.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int even[] = {64, 96}, uneven[] = {72, 240, 288}, two[2], three[3] = {0};
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 2; i++) {
        two[0] = two[1] = 0;
        MPI_Dims_create(even[i], 2, two);
        printf("%dx%d, ", two[0], two[1]);
    }
    for (int i = 0; i < 3; i++) {
        two[0] = two[1] = 0;
        MPI_Dims_create(uneven[i], 2, two);
        printf("%dx%d, ", two[0], two[1]);
    }
    MPI_Dims_create(864, 3, three);
    printf("%dx%dx%d\n", three[0], three[1], three[2]);
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/dims.c"

expect "Open MPI" "8x8, 12x8, 12x6, 20x12, 24x12, 12x12x6" \
    "$(run_openmpi 1 --mca btl self "$work/openmpi")"
expect "MPICH" "8x8, 12x8, 9x8, 16x15, 18x16, 12x9x8" \
    "$(run_mpich 1 "$work/mpich")"
exit "$failed"
