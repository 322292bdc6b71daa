#!/usr/bin/env bash
# One would guess that receives from MPI_ANY_SOURCE take messages that wait in the order in which they arrived; ranks 3,
# 2 and 1, which sent two each, one rank after the other, are received as 3 3 2 2 1 1.
# Over shared memory and over TCP, Open MPI takes them as 1 2 3 1 2 3. It keeps a list of early messages for each sender,
# and looks through the lists in turn, from the rank that follows the last one found. A process that hands out work "to
# whoever asked first" so hands it out by rank where requests have piled up, and what a trace shows as the order of
# arrival is that of the search. MPICH takes them as they came. MPI allows both.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); recv_req_match_wild in pml_ob1_recvreq.c.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/order.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

enum { MESSAGES = 2, PROBES = 1000 };

/* Each rank but 0 sends when the messages of the ranks above it have arrived. */
int main(int argc, char **argv) {
    int rank, size, found;
    MPI_Comm turns;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &turns);
    for (int sender = size - 1; sender > 0; sender--) {
        for (int i = 0; rank == sender && i < MESSAGES; i++)
            MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Barrier(turns);
        for (int i = 0; rank == 0 && i < PROBES; i++)
            MPI_Iprobe(0, 0, turns, &found, MPI_STATUS_IGNORE); /* MPI takes in what has come */
        MPI_Barrier(turns);
    }
    for (int i = 0; rank == 0 && i < MESSAGES * (size - 1); i++) {
        int sender;
        MPI_Recv(&sender, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d ", sender);
    }
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/order.c"

expect "Open MPI, shared memory" "1 2 3 1 2 3 " "$(run_openmpi 4 --mca pml ob1 --mca btl self,vader "$work/openmpi")"
expect "Open MPI, TCP" "1 2 3 1 2 3 " "$(run_openmpi 4 --mca pml ob1 --mca btl self,tcp "$work/openmpi")"
expect "MPICH" "3 3 2 2 1 1 " "$(run_mpich 4 "$work/mpich")"
exit "$failed"
