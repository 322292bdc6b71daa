#!/usr/bin/env bash
# One would guess that an exclusive lock, a put and an unlock on memory of the program's own (MPI_Win_create) end once
# the target enters MPI, over any transport; and at once on memory of MPI_Win_allocate, which the processes of a node
# share.
# With the configuration file of Debian's package they end at once within a node (CMA), too. Over TCP alone, and so
# between nodes without other networks, and where vader may not copy between processes, MPI_Win_create fails: the file
# has `osc = ^ucx,pt2pt`, and the components that it leaves have no transport with puts. Without the file, or with
# `--mca osc ^ucx`, they wait for the target.
# Open MPI 4.1.4-3+b1 (Debian 12), pml ob1; /etc/openmpi/openmpi-mca-params.conf, and osc_base_verbose.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
cat >"$work/window.c" <<'END_C'
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signs.h"

/* window create|allocate FOLDER: once rank 1 is outside MPI, rank 0 puts, and says so when it has unlocked the window.
 * Rank 1 waits for that for up to two seconds before it enters MPI. */
int main(int argc, char **argv) {
    int rank, ended = 0;
    char own[64] = "", *memory = own;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = strcmp(argv[1], "create") == 0
                   ? MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window)
                   : MPI_Win_allocate(sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        if (rank == 0)
            puts(text);
        MPI_Finalize();
        return 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        make(argv[2], "outside");
        ended = is_made(argv[2], "ended", 200);
    } else {
        is_made(argv[2], "outside", 1000);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Put("1234567", 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
        MPI_Win_unlock(1, window);
        make(argv[2], "ended");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        puts(ended ? "ends" : "waits for the target");
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
END_C
compile "$work/window.c" "$work/window" -I"$library/openmpi/include" -L"$library/openmpi/lib" "$library/libmpi.so.40"

grep -qx 'osc = ^ucx,pt2pt' "$root/etc/openmpi/openmpi-mca-params.conf" || skip "another configuration file"

# put CALL TRANSPORT [MPIRUN'S OPTION...]
put() {
    local call=$1 transport=$2
    shift 2
    rm -f "$work/outside" "$work/ended"
    "$root/usr/bin/mpirun.openmpi" --allow-run-as-root --oversubscribe --bind-to none -np 2 --mca pml ob1 \
        --mca btl "self,$transport" "$@" "$work/window" "$call" "$work" 2>"$work/run" ||
        skip "mpirun: $(tail -3 "$work/run")"
}

expect "MPI_Win_create over TCP, without Debian's file" "waits for the target" "$(put create tcp)"
export OPAL_SYSCONFDIR=$root/etc/openmpi
expect "MPI_Win_create over TCP" "MPI_ERR_WIN: invalid window" "$(put create tcp)"
expect "MPI_Win_create over TCP, with --mca osc ^ucx" "waits for the target" "$(put create tcp --mca osc ^ucx)"
expect "MPI_Win_allocate over TCP" "ends" "$(put allocate tcp)"
expect "MPI_Win_create over vader" "ends" "$(put create vader)"
expect "MPI_Win_create over vader without CMA" "MPI_ERR_WIN: invalid window" \
    "$(put create vader --mca btl_vader_single_copy_mechanism none)"
exit "$failed"
