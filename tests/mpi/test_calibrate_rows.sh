#!/usr/bin/env bash
# Which cases portolan-calibrate measures on one node, whatever their times are: every pair, number of processes, of
# messages and size of every benchmark, as tests/fixtures/rows-*.txt list them. REWRITE=1 rewrites these; read the diff.
# BUILD: where portolan-calibrate was built (default build). Exits 77 where there is no mpirun or one core.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/calibrate_rows.sh
needs mpirun
[ "$(nproc)" -ge 2 ] || exit 77
calibrate=$build/portolan-calibrate
built "$calibrate" "$build/tests/fake_nvml/libnvidia-ml.so.1"
export PORTOLAN_SEGMENTS=portolan-test$$

# Two sockets of one core, as hwloc is told. NCCL has a test of its own.
only=ping_pong,ping_pong_strided,exchange,staged,injection,multi_message,copies,remote,reduce,signals,setup
began=$SECONDS
run() { # PROCESSES GPUS FROM:TO:FACTOR
    began=$SECONDS
    patiently 120 mpirun -n "$1" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        env ${nvml:+LD_LIBRARY_PATH="$nvml"} PORTOLAN_EMULATED_GPUS="$2" HWLOC_SYNTHETIC="package:2 core:1 pu:1" HWLOC_THISSYSTEM=1 "$calibrate" \
        --only $only --bytes "$3" --budget 100 --repeats 2 --force --out "$work/rows.csv" 2>"$work/stderr"
}
no_longer() {
    awk -F, -v all="$((SECONDS - began + 1))" '!/^#/ && $9 + 0 > all { bad = 1 } END { exit bad }' "$work/rows.csv"
}

check "a GPU for each of four processes" run 4 4 8:512:8
check "has these cases" lists 4-gpus
check "no time is longer than the run" no_longer
check "five processes of two GPUs" run 5 2 8:64:8
check "have these" lists 2-gpus
check "no time is longer than the run" no_longer
check "one process" run 1 1 1:8
check "is bound to a socket" has "^# binding=to sockets" "$work/rows.csv"
check "has these, and says why not the others" lists 1-process
bound() {
    env PORTOLAN_EMULATED_GPUS=1 HWLOC_SYNTHETIC="package:2 core:1 pu:1" HWLOC_THISSYSTEM=1 taskset -c 1 \
        patiently 60 mpirun -n 1 --bind-to none \
        "$calibrate" --only copies --bytes 1:8 --repeats 2 --out "$work/bound.csv" 2>"$work/stderr"
}
check "one that is bound already" bound
check "is left where it is" has "^# binding=the launcher's$" "$work/bound.csv"
check "one process, 15 powers of two" run 1 1 1:16KiB
check "measures every second, up to the largest" lists 1-process-more
check "two processes of one GPU" run 2 1 4:64:16
check "have these" lists 1-gpu
check "three processes of three GPUs, sizes from 6 bytes on" run 3 3 6:100:4
check "begin at the next power of two" lists 3-gpus
# NVML tells that the last two GPUs are near the second socket.
nvml=$(realpath -m "$build/tests/fake_nvml")
check "four processes of GPUs near either socket" run 4 4 8:64:8
check "have cases between the sockets" lists 2-sockets
check "the driver is told" has "^# driver=made up$" "$work/rows.csv"

finish
