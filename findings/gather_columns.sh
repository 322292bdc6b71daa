#!/usr/bin/env bash
# One would guess that processes which send their matrices column by column (a vector type resized to one element, the usual
# way to transpose) in MPI_Gather arrive whole, since such a type may be sent and 4 columns of 3 rows are 12 different ints.
# From four processes on, the root gets wrong elements of every process whose matrix travels through another process, without
# an error. Open MPI gathers small blocks along a binomial tree, and keeps what comes for others in a buffer laid out by the
# type that the process *sends*, one block behind the other's extent. Columns span more than their extent, so the blocks
# overwrite each other. The linear algorithms (1 and 3) are right, and so is MPICH. A type that is sent with gaps and no
# overlap does no harm, and MPI_Scatter's tree, which receives into such a type, is right.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); ompi_coll_base_gather_intra_binomial in coll_base_gather.c.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/columns.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

enum { ROWS = 3, COLUMNS = 4, RANKS_MAX = 8 };

int main(int argc, char **argv) {
    int rank, size, own[ROWS * COLUMNS], all[RANKS_MAX][COLUMNS][ROWS];
    MPI_Datatype strided, column;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &strided);
    MPI_Type_create_resized(strided, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        own[i] = 100 * rank + i;
    MPI_Gather(own, COLUMNS, column, all, ROWS * COLUMNS, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < size; r++) {
        int wrong = 0;
        for (int c = 0; c < COLUMNS; c++)
            for (int row = 0; row < ROWS; row++)
                wrong += all[r][c][row] != 100 * r + COLUMNS * row + c;
        printf("%d ", wrong);
    }
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/columns.c"

openmpi() { # PROCESSES [OPTION...]
    local processes=$1
    shift
    run_openmpi "$processes" --mca btl self,vader "$@" "$work/openmpi"
}

echo "wrong ints of the 12 of each rank:"
expect "Open MPI, 3 processes" "0 0 0 " "$(openmpi 3)"
expect "Open MPI, 4 processes" "0 0 8 0 " "$(openmpi 4)"
expect "Open MPI, 8 processes" "0 0 8 0 8 8 8 0 " "$(openmpi 8)"
expect "Open MPI, 8 processes, linear" "0 0 0 0 0 0 0 0 " \
    "$(openmpi 8 --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_gather_algorithm 1)"
expect "MPICH, 8 processes" "0 0 0 0 0 0 0 0 " "$(run_mpich 8 "$work/mpich")"
exit "$failed"
