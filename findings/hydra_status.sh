#!/usr/bin/env bash
# One would guess that the exit status of mpiexec is that of some process that failed: the first, the lowest or the
# largest.
# Hydra returns the bitwise or of all: 3 where one process ends with 1 and the other with 2, and 12 for 4 and 8, which
# no process returned. Where one fails with 1 and another skips a test with 77, the job has skipped it. mpirun of Open
# MPI returns that of a process.
# MPICH 4.0.2-3+b1 (Debian 12); main in src/pm/hydra/ui/mpich/mpiexec.c.
. "$(dirname "$0")/packages.sh"
unpack mpich=4.0.2-3+b1 libmpich12=4.0.2-3+b1 libmpich-dev=4.0.2-3+b1 libslurm38=22.05.8-4+deb12u3 \
    libhwloc15=2.9.0-1 libucx0=1.13.1-1 libfabric1=1.17.0-3 libnuma1=2.0.16-1
export LD_LIBRARY_PATH=$library
cat >"$work/status.c" <<'END_C'
#include <mpi.h>
#include <stdlib.h>

/* status STATUS...: of each rank, after MPI_Finalize */
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    return atoi(argv[1 + rank]);
}
END_C
compile "$work/status.c" "$work/status" -I"$root/usr/include/x86_64-linux-gnu/mpich" -lmpich

# ended STATUS STATUS
ended() {
    "$root/usr/bin/mpiexec.hydra" -launcher fork -n 2 "$work/status" "$1" "$2" >"$work/run" 2>&1
    echo $?
}

expect "both 0" 0 "$(ended 0 0)"
expect "0 and 5" 5 "$(ended 0 5)"
expect "1 and 2" 3 "$(ended 1 2)"
expect "4 and 8" 12 "$(ended 4 8)"
expect "1 and 77" 77 "$(ended 1 77)"
expect "77 and 1" 77 "$(ended 77 1)"
exit "$failed"
