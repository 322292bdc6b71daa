#!/usr/bin/env bash
# One would guess that MPI_Send of a message below the eager limit (4 KiB in shared memory) returns as soon as the data
# are copied, whatever the receiver does; until some hundred messages wait for it.
# From 257 bytes on, MPI_Send returns only when the receiver enters MPI: the fragment is sent `in place`, and MPI_Send
# waits until the receiver has handed it back. Up to 256 bytes the message is sent inline and MPI_Send returns, as it
# does at 1 KiB over TCP, and over vader without the flag `inplace`. So the root of a small MPI_Bcast waits for its
# children, too.
# Open MPI 4.1.4-3+b1 (Debian 12), pml ob1; btl_vader_flags of `ompi_info --param btl vader --level 9`, and what happens
# without one of them.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
cat >"$work/eager.c" <<'END_C'
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signs.h"

/* eager send|bcast BYTES FOLDER: once rank 1 is outside MPI, rank 0 calls, and says so when it returns. Rank 1 waits
 * for that for up to two seconds before it enters MPI. */
int main(int argc, char **argv) {
    int rank, bytes = atoi(argv[2]), returned = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *data = calloc((size_t)bytes, 1);
    for (int i = 0; i < 100; i++) /* connected, and beyond the 16 messages after which vader sets up fast boxes */
        MPI_Sendrecv_replace(data, bytes, MPI_BYTE, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        make(argv[3], "outside");
        returned = is_made(argv[3], "returned", 200);
    } else {
        is_made(argv[3], "outside", 1000);
    }
    if (strcmp(argv[1], "bcast") == 0)
        MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        make(argv[3], "returned");
    else
        puts(returned ? "returns" : "waits for the receiver");
    MPI_Finalize();
    return 0;
}
END_C
compile "$work/eager.c" "$work/eager" -I"$library/openmpi/include" -L"$library/openmpi/lib" "$library/libmpi.so.40"

# sent CALL BYTES TRANSPORT [MPIRUN'S OPTION...]
sent() {
    local call=$1 bytes=$2 transport=$3
    shift 3
    rm -f "$work/outside" "$work/returned"
    "$root/usr/bin/mpirun.openmpi" --allow-run-as-root --oversubscribe --bind-to none -np 2 --mca pml ob1 \
        --mca btl "self,$transport" "$@" "$work/eager" "$call" "$bytes" "$work" 2>"$work/run" ||
        skip "mpirun: $(tail -3 "$work/run")"
}

expect "MPI_Send of 256 bytes" "returns" "$(sent send 256 vader)"
expect "MPI_Send of 257 bytes" "waits for the receiver" "$(sent send 257 vader)"
expect "MPI_Send of 4000 bytes" "waits for the receiver" "$(sent send 4000 vader)"
expect "MPI_Bcast of 1 KiB" "waits for the receiver" "$(sent bcast 1024 vader)"
expect "MPI_Send of 1 KiB without inplace" "returns" "$(sent send 1024 vader --mca btl_vader_flags send,put,get)"
expect "MPI_Send of 1 KiB over TCP" "returns" "$(sent send 1024 tcp)"
exit "$failed"
