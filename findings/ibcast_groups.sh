#!/usr/bin/env bash
# One would guess that MPI_Ibcast over an intercommunicator brings the root's data to all processes of the other group, as
# MPI_Bcast does, whichever process is the root.
# In MPICH it does so if the root is rank 0 of its group. If it is rank 1, all get what rank 1 of their *own* group had in the
# buffer, which rank 0 alone has received from the root and then lost. Nothing fails. MPI_Bcast is right, and so are both in Open
# MPI. In MPICH rank 0 of the other group receives from the root and broadcasts to its group, but the non-blocking broadcast
# within the group is given the root's rank in place of 0; the comment above it says 0. Groups have the same size here, since a
# rank that the other group lacks is not taken without a message.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); MPIR_Ibcast_inter_sched_flat in ibcast_inter_sched_flat.c, and
# MPIR_Bcast_inter_remote_send_local_bcast.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/groups.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 3 };

/* groups CALL ROOT: ranks 0 to 2 are one group and 3 to 5 the other. Prints what the latter have after the root, of the
   former, has sent its rank; each begins with its own. */
int main(int argc, char **argv) {
    int rank, all[2 * GROUP];
    MPI_Comm half, both;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int sends = rank < GROUP, from = atoi(argv[2]);
    const int root = !sends ? from : rank == from ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, sends, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, sends ? GROUP : 0, 0, &both);
    int number = rank;
    if (strcmp(argv[1], "bcast") == 0)
        MPI_Bcast(&number, 1, MPI_INT, root, both);
    else
        MPI_Ibcast(&number, 1, MPI_INT, root, both, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Gather(&number, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = GROUP; rank == 0 && i < 2 * GROUP; i++)
        printf("%d ", all[i]);
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/groups.c"

openmpi() { run_openmpi 6 --mca btl self,vader "$work/openmpi" "$@"; } # CALL ROOT
mpich() { run_mpich 6 "$work/mpich" "$@"; }

echo "what ranks 3 to 5 have after a broadcast from rank 0, 1 or 2:"
for from in 0 1 2; do
    expect "Open MPI, MPI_Ibcast from $from" "$from $from $from " "$(openmpi ibcast $from)"
    expect "MPICH, MPI_Bcast from $from" "$from $from $from " "$(mpich bcast $from)"
done
expect "MPICH, MPI_Ibcast from 0" "0 0 0 " "$(mpich ibcast 0)"
expect "MPICH, MPI_Ibcast from 1" "4 4 4 " "$(mpich ibcast 1)"
expect "MPICH, MPI_Ibcast from 2" "5 5 5 " "$(mpich ibcast 2)"
exit "$failed"
