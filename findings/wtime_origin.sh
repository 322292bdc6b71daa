#!/usr/bin/env bash
# One would guess that MPI_Wtime counts from one moment for the processes of a node, as the clock beneath it does; at the
# least from MPI_Init, which they leave about together.
# It counts from each process's own first call of it: behind one barrier, a process that first asked 300 ms before the
# other is 300 ms ahead. A start agreed on as a time is then off by as much between neighbours on a node, although
# differences within a process are right. MPI_WTIME_IS_GLOBAL is false there, as the standard allows.
# Open MPI 4.1.4-3 (Debian 12).
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
cat >"$work/clock.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

/* Rank 1 asks for the time 300 ms after rank 0, before a barrier; both ask behind it. */
int main(int argc, char **argv) {
    int rank, found, *global;
    double behind_s[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        usleep(300000);
    double first_s = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    double mine_s = MPI_Wtime();
    MPI_Gather(&mine_s, 1, MPI_DOUBLE, behind_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &found);
    if (rank == 0)
        printf("first %g s, apart %.1f s, global %d\n", first_s, behind_s[0] - behind_s[1], found && *global);
    MPI_Finalize();
    return 0;
}
END_C
compile "$work/clock.c" "$work/clock" -I"$library/openmpi/include" -L"$library/openmpi/lib" "$library/libmpi.so.40"
"$root/usr/bin/mpirun.openmpi" --allow-run-as-root --oversubscribe --bind-to none -np 2 --mca btl self,vader \
    "$work/clock" >"$work/seen" 2>"$work/run" || skip "mpirun: $(tail -3 "$work/run")"
expect "MPI_Wtime of two neighbours behind a barrier" "first 0 s, apart 0.3 s, global 0" "$(cat "$work/seen")"
exit "$failed"
