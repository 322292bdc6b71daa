#!/usr/bin/env bash
# One would guess that MPI_Alltoallv sends no message for a pair whose counts are 0: both sides know them, and
# MPI_Alltoallw, MPI_Ialltoallv and MPI_Gatherv of the same library send none.
# It sends one to every other process, whatever the counts. With 8 bytes from rank 0 to rank 1 and nothing else, 8 ranks
# exchange 56 messages, 55 of which are empty; the other two functions send the one. Both algorithms of MPI_Alltoallv do
# so, linear and pairwise, and there is no third.
# Open MPI 4.1.4-3 (Debian 12); ompi_coll_base_alltoallv_intra_basic_linear and _pairwise in coll_base_alltoallv.c, which
# compare no count with 0; ompi_coll_libnbc_ialltoallv and mca_coll_basic_alltoallw_intra do.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
cat >"$work/sparse.c" <<'END_C'
#include <mpi.h>
#include <string.h>

enum { RANKS = 8, BYTES = 8, CALLS = 4 }; /* CALLS: as openmpi.sh counts */

int main(int argc, char **argv) {
    static const int nowhere[RANKS];
    int rank, sent[RANKS] = {0}, received[RANKS] = {0};
    char in[BYTES] = {0}, out[BYTES];
    MPI_Datatype types[RANKS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < RANKS; i++)
        types[i] = MPI_BYTE;
    if (rank == 0)
        sent[1] = BYTES;
    if (rank == 1)
        received[0] = BYTES;
    for (int i = 0; i < CALLS; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (strcmp(argv[1], "alltoallv") == 0)
            MPI_Alltoallv(in, sent, nowhere, MPI_BYTE, out, received, nowhere, MPI_BYTE, MPI_COMM_WORLD);
        if (strcmp(argv[1], "alltoallw") == 0)
            MPI_Alltoallw(in, sent, nowhere, types, out, received, nowhere, types, MPI_COMM_WORLD);
        if (strcmp(argv[1], "ialltoallv") == 0)
            MPI_Ialltoallv(in, sent, nowhere, MPI_BYTE, out, received, nowhere, MPI_BYTE, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
END_C
compile "$work/sparse.c" "$work/collective" -I"$library/openmpi/include" -L"$library/openmpi/lib" \
    "$library/libmpi.so.40"

# As Debian configures it: a provider of libfabric, which would hide persistent sends from the counts, is not used.
count() { messages "$@" --mca mtl ^ofi; }

all="7 sent by the root, 7 received by it, 56 in all"
one="1 sent by the root, 0 received by it, 1 in all"
expect "MPI_Alltoallv" "$all" "$(count alltoallv)"
expect "MPI_Alltoallv, pairwise" "$all" "$(count alltoallv --mca coll_tuned_use_dynamic_rules 1 \
    --mca coll_tuned_alltoallv_algorithm 2)"
expect "MPI_Alltoallw" "$one" "$(count alltoallw)"
expect "MPI_Ialltoallv" "$one" "$(count ialltoallv)"
exit "$failed"
