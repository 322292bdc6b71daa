#!/usr/bin/env bash
# One would guess that MPICH knows the nodes of a job by their names: with the host file a, b, b, a (a line for each
# process), ranks 0 and 3 are on one node, and share its memory.
# Hydra joins a line with the one before it only, so the file has three nodes, with a daemon each, and MPI takes these
# for nodes: MPI_COMM_TYPE_SHARED gives ranks 0 and 3 a communicator of one process each. With each host's lines
# together (a, a, b, b) it is two of two.
# MPICH 4.0.2-3+b1 (Debian 12), launcher fork; HYDU_add_to_node_list of Hydra.
. "$(dirname "$0")/packages.sh"
unpack mpich=4.0.2-3+b1 libmpich12=4.0.2-3+b1 libmpich-dev=4.0.2-3+b1 libhwloc15=2.9.0-1 libslurm38=22.05.8-4+deb12u3 \
    libucx0=1.13.1-1 libfabric1=1.17.0-3 libnuma1=2.0.16-1
export LD_LIBRARY_PATH=$library HYDRA_LAUNCHER=fork
cat >"$work/shared.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    printf("%d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}
END_C
compile "$work/shared.c" "$work/shared" -I"$root/usr/include/x86_64-linux-gnu/mpich" -lmpich

# shared HOST...: for each rank, "host: processes that share its memory"
shared() {
    printf '%s\n' "$@" >"$work/hosts"
    "$root/usr/bin/mpiexec.hydra" -f "$work/hosts" -n 4 -prepend-pattern '%h ' "$work/shared" >"$work/seen" 2>"$work/run" ||
        skip "mpiexec: $(tail -1 "$work/run")"
    sort -k2n "$work/seen" | awk '{ printf "%s%s: %s", (NR > 1 ? ", " : ""), $1, $4 }'
}

expect "a, b, b, a" "localhost: 1, 127.0.0.1: 2, 127.0.0.1: 2, localhost: 1" \
    "$(shared localhost 127.0.0.1 127.0.0.1 localhost)"
expect "a, b, a, b" "localhost: 1, 127.0.0.1: 1, localhost: 1, 127.0.0.1: 1" \
    "$(shared localhost 127.0.0.1 localhost 127.0.0.1)"
expect "a, a, b, b" "localhost: 2, localhost: 2, 127.0.0.1: 2, 127.0.0.1: 2" \
    "$(shared localhost localhost 127.0.0.1 127.0.0.1)"
exit "$failed"
