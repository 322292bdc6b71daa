#!/usr/bin/env bash
# Kernels of several processes on one GPU, under MPS, so that they run at the same time and can wait for each
# other: few thread blocks each, and with five processes or more, more operands than a launch has room for
# (check_gpu.sh has one process on each GPU). Then executors on a GPU without memory. Takes two to three
# minutes; prints "N passed, N failed" last. Exits 77 with a reason where something is missing.
#
# BUILD: where everything has been built (default build). SEED: of the random programs (default: the time).
# RUNS: of each plan in graphs and back to back (default 2000). PROGRAMS: random ones (default 60).
# DEVICE=host: a dry run without MPS.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${BUILD:=build}" "${DEVICE:=cuda}" "${SEED:=$(date +%s)}" "${RUNS:=2000}" "${PROGRAMS:=60}"
tests=$BUILD/tests
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PORTOLAN_SEGMENTS=portolan-one$$
passed=0 failed=0

skip() {
    echo "one_gpu: skipped: $*"
    exit 77
}
for program in test_streams test_stale test_register test_open test_memory; do
    [ -x "$tests/$program" ] || skip "$tests/$program is not built"
done

# check SECONDS PROCESSES PROGRAM ARGUMENTS...
check() {
    local limit=$1 processes=$2 program=$3 began=$SECONDS status=0
    shift 3
    CUDA_VISIBLE_DEVICES=0 timeout -k 5 "$limit" mpirun -n "$processes" --oversubscribe --bind-to none --mca pml ob1 \
        --mca btl self,vader --mca mpi_yield_when_idle 1 "$tests/$program" "$@" >"$log" 2>&1 || status=$?
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok   $processes processes: $program $* ($((SECONDS - began)) s)"
        grep '^test_memory' "$log"
    else
        failed=$((failed + 1))
        echo "FAIL $processes processes: $program $* (exit $status, $((SECONDS - began)) s)"
        tail -n 15 "$log" | sed 's/^/     /'
    fi
}

log=$(mktemp)
mps=$(mktemp -d)
stop() {
    [ ! -e "$mps/on" ] || echo quit | nvidia-cuda-mps-control
    rm -rf "$log" "$mps"
}
trap stop EXIT
if [ "$DEVICE" = cuda ]; then
    command -v nvidia-cuda-mps-control >/dev/null || skip "no nvidia-cuda-mps-control"
    export CUDA_MPS_PIPE_DIRECTORY=$mps CUDA_MPS_LOG_DIRECTORY=$mps
    nvidia-cuda-mps-control -d || skip "MPS does not start"
    touch "$mps/on"
fi
echo "one_gpu: device $DEVICE, seed $SEED"
check 60 2 test_streams absent 0 0 "$DEVICE"
check 60 6 test_streams absent 0 0 "$DEVICE"
for processes in 2 4 6; do check 60 $processes test_streams random "$PROGRAMS" "$SEED" "$DEVICE"; done
for processes in 2 6; do
    check 60 $processes test_streams replays "$RUNS" "$SEED" "$DEVICE"
    check 60 $processes test_stale "$RUNS" "$DEVICE" kernels
done
check 30 2 test_register "$DEVICE"
check 30 3 test_open "$DEVICE"
stop
mps=$(mktemp -d) log=$(mktemp)
unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
for processes in 2 3; do check 120 $processes test_memory "$DEVICE"; done
[ "$(find /dev/shm -name "$PORTOLAN_SEGMENTS-*" | wc -l)" -eq 0 ] || { failed=$((failed + 1)) && echo "FAIL shared memory is left"; }
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
