#!/usr/bin/env bash
# The strategy nccl on NCCL's symmetric windows, with a library of NCCL's interface that works through MPI in NCCL's place
# (tests/mpi/fake_nccl.c), on the host device. Exits 77 where there is no mpirun.
# BUILD: where the programs were built (default build).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
program=$build/tests/test_nccl
built "$program" "$build/tests/fake/libnccl.so.2"

# A call that hangs is ended by the executor's watchdog; the limit is for what it does not watch.
run() { # FOLDER OF THE LIBRARY, HOW IT MISBEHAVES, WHAT [DEVICE]
    local -x LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_NCCL=$2
    launch 600 -n 4 "$program" "${@:3}"
}
fake=$build/tests/fake

# Buffers that are NCCL's symmetric windows.
check "all collectives are right on symmetric windows" run "$fake" windows windows
check "of this library" grep -q "right on windows of NCCL 2.20.3" "$work/stdout"
check "and with MPI in NCCL's place" run "$fake" "" windows host
check "an allreduce outside of windows is told from one inside" fails run "$fake" windows run
check "as an error" has "ncclAllReduce: invalid argument"
check "where NCCL makes no window, there is none" fails run "$fake" nowindow window
check "and it says so" has "does not apply here: NCCL 2.20.3 makes no symmetric window of this memory on this machine"
for what in group:CommInitRank window:CommWindowRegister; do
    check "a ${what%:*} that one process cannot make is an error of all" fails_itself run "$fake" "one${what%:*}" window
    check "with its reason" test "$(grep -c "MPI rank 1: nccl${what#*:}: unhandled system error" "$work/stderr")" = 4
done
check "memory of another kind is no window" fails run "$fake" "" foreign
check "and NCCL says so" has "ncclCommWindowRegister: invalid argument"
mkdir "$work/before"
mpicc -DWITHOUT_WINDOWS -shared -fPIC tests/mpi/fake_nccl.c -lm -o "$work/before/libnccl.so.2"
check "an earlier library does all else" run "$work/before" "" run
check "but has no windows" fails run "$work/before" "" window
check "and it says which version is needed" \
    has "libnccl.so.2 (2.20.3) has no ncclMemAlloc: symmetric windows need NCCL 2.27 or later"
check "what can be no window is refused" run "$fake" "" refused
check "an input that is copied aside" has "each run copies a buffer aside, which can be no symmetric window"
check "blocks that differ" has "no buffer is on all members and of one size"
check "buffers that change" has "the buffers are NCCL's symmetric windows, which stay"
check "plans without NCCL" has "symmetric windows are for plans of NCCL's alone, and three_step is none"

finish
