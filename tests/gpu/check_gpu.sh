#!/usr/bin/env bash
# The executor on this machine's GPUs: random cases on every number of GPUs and processes, our own algorithms,
# CUDA-aware MPI, failures, compute-sanitizer. Exits 77 with a reason where there is no GPU or no CUDA compiler;
# prints "N passed, N failed" last. Takes about two minutes on four GPUs, the build included.
#
# BUILD: where to build (default build). JOBS: of make (default: the processors, at most 16).
# SEED: of the random cases (default: the time). CASES: how many of each shape (default 6). STALE_RUNS: back to back
# of every plan of kernels (default 20000).
# DEVICE=host GPUS=N: a dry run of this script, on the host device and as if there were N GPUs.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${BUILD:=build}" "${DEVICE:=cuda}" "${SEED:=$(date +%s)}" "${CASES:=6}" "${STALE_RUNS:=20000}"
processors=$(nproc)
: "${JOBS:=$((processors < 16 ? processors : 16))}"
processes_per_gpu=8
BUILD=$(realpath -m --relative-base=. "$BUILD") # as `make` names it: the name is among the compiler's flags

skip() {
    echo "check_gpu: skipped: $*"
    exit 77
}
command -v mpirun >/dev/null || skip "no mpirun"
if [ "$DEVICE" = cuda ]; then
    command -v nvidia-smi >/dev/null || skip "no GPU: there is no nvidia-smi"
    : "${GPUS:=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU')}"
    [ "$GPUS" -gt 0 ] || skip "no GPU: nvidia-smi lists none"
    command -v nvcc >/dev/null || skip "$GPUS GPUs, but no nvcc to build for them"
fi
: "${GPUS:=1}"
[ "$GPUS" -le 4 ] || GPUS=4

test_exec=$BUILD/tests/test_exec
test_stale=$BUILD/tests/test_stale
test_nccl=$BUILD/tests/test_nccl
test_streams=$BUILD/tests/test_streams
test_register=$BUILD/tests/test_register
test_memory=$BUILD/tests/test_memory
validate=$BUILD/portolan-validate
make --no-print-directory -j"$JOBS" BUILD="$BUILD" "$test_exec" "$test_stale" "$test_nccl" "$test_streams" "$test_register" \
    "$test_memory" "$validate" || exit 1
test_exec=$(readlink -f "$test_exec")
test_stale=$(readlink -f "$test_stale")
test_nccl=$(readlink -f "$test_nccl")
test_streams=$(readlink -f "$test_streams")
test_register=$(readlink -f "$test_register")
test_memory=$(readlink -f "$test_memory")
validate=$(readlink -f "$validate")

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Segments of shared memory that are ours: other jobs have some too.
export PORTOLAN_SEGMENTS=portolan-check$$
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# An Open MPI that takes GPU pointers moves them between processes through smcuda.
aware=no
transport=()
if [ "$DEVICE" = host ]; then
    aware=yes
elif ompi_info --parsable --all 2>/dev/null | grep -q 'mpi_built_with_cuda_support:value:true'; then
    aware=yes
    transport=(--mca btl "self,smcuda")
fi

# --- running: what does not need the whole machine runs beside other checks, for results don't depend on time

# run SECONDS PROCESSES PROGRAM ARGUMENTS... Jobs that begin and end at the same time must not share a session
# folder: one removes what another is making (Open MPI 4.1).
run() {
    local limit=$1 processes=$2
    shift 2
    [ "$DEVICE" = cuda ] || limit=$((10 * limit)) # of two cores, which others may use, nothing is known
    timeout -k 5 "$limit" mpirun -n "$processes" --oversubscribe --bind-to none --mca pml ob1 "${transport[@]}" \
        --mca orte_tmpdir_base "$(mktemp -d "$work/mpiXXXX")" --mca mpi_yield_when_idle 1 "$@"
}

names=() # of the checks under way, in order

# spawn NAME COMMAND...
spawn() {
    local at=${#names[@]} name=$1
    shift
    names+=("$name")
    (
        began=$SECONDS status=0
        "$@" >"$work/$at.log" 2>&1 || status=$?
        echo "$status $((SECONDS - began))" >"$work/$at.status"
    ) &
}

collect() {
    local at status seconds
    wait
    for at in "${!names[@]}"; do
        read -r status seconds <"$work/$at.status"
        case $status in
        0) passed=$((passed + 1)) && echo "ok   ${names[at]} ($seconds s)" ;;
        77) echo "skip ${names[at]}: $(tail -n 1 "$work/$at.log")" ;;
        *)
            failed=$((failed + 1))
            echo "FAIL ${names[at]} (exit $status, $seconds s)"
            { grep '^portolan\|^test_exec' "$work/$at.log" | sort -u | head -n 8; tail -n 15 "$work/$at.log"; } |
                sed 's/^/     /'
            ;;
        esac
    done
    names=()
}

# --- checks

own_algorithms() { # COLLECTIVE
    run 90 $((GPUS * processes_per_gpu)) "$validate" --device "$DEVICE" --machine h200-x4 --collective "$1" --nodes 1 \
        --gpus-per-node "$GPUS" --procs-per-gpu $processes_per_gpu --bytes 4:64KiB:128 --check-only --own-algorithms
}

# A strategy that does not apply is left out by validate, so the answer must be looked for.
cuda_aware() {
    [ $aware = yes ] || { echo "this MPI library takes no GPU pointers" && return 77; }
    local gpus collective
    for gpus in 1 2 4; do
        [ "$gpus" -le "$GPUS" ] || continue
        for collective in allreduce allgather alltoall alltoallv; do
            echo "cuda_aware, $collective on $gpus GPUs"
            run 20 "$gpus" "$validate" --device "$DEVICE" --machine h200-x4 --collective "$collective" --nodes 1 \
                --gpus-per-node "$gpus" --procs-per-gpu 1 --bytes 4:4MiB:32 --check-only --strategy cuda_aware \
                >"$work/aware" 2>&1 || { cat "$work/aware" && return 1; }
            [ "$(grep -c ' right$' "$work/aware")" -eq 5 ] || { cat "$work/aware" && return 1; }
        done
    done
}

# NCCL itself on the GPUs, where it is installed; on the host device, MPI collectives.
nccl() {
    local gpus=$((GPUS / 2 * 2))
    [ "$gpus" -ge 2 ] || { echo "NCCL takes two GPUs or more" && return 77; }
    if ! run 60 "$gpus" "$test_nccl" create "$DEVICE" >"$work/nccl" 2>&1; then
        cat "$work/nccl"
        grep -q "NCCL is not installed" "$work/nccl" && echo "NCCL is not installed" && return 77
        return 1
    fi
    run 150 "$gpus" "$test_nccl" cases "$DEVICE"
}

# Not every NCCL has symmetric windows, and not on every machine.
nccl_windows() {
    local gpus=$((GPUS / 2 * 2))
    [ "$gpus" -ge 2 ] || { echo "NCCL takes two GPUs or more" && return 77; }
    if ! run 60 "$gpus" "$test_nccl" window "$DEVICE" >"$work/windows" 2>&1; then
        cat "$work/windows"
        grep -o -m1 "NCCL is not installed\|libnccl.*symmetric windows need.*\|NCCL .* makes no symmetric window.*" "$work/windows" && return 77
        return 1
    fi
    run 120 "$gpus" "$test_nccl" windows "$DEVICE"
}

# A process is killed while plans run: the job must end within 30 s, and by no success.
killed() { # PROCESSES WHAT SHAPE
    local status=0 log=$work/killed.$2
    run 35 "$1" "$test_exec" "$2" 1 1 "$DEVICE" "$3" >"$log" 2>&1 || status=$?
    cat "$log"
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q "exited on signal 9" "$log"
}

absent() { # PROCESSES WHAT SHAPE SAYS
    local status=0 log=$work/absent.$2
    run 40 "$1" "$test_exec" "$2" 1 1 "$DEVICE" "$3" >"$log" 2>&1 || status=$?
    cat "$log"
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q "portolan: rank .*$4.* ending the job" "$log"
}

# Kernels that wait for each other need a GPU each; on one they take turns, milliseconds each.
two_gpus() { # COMMAND...
    [ "$GPUS" -ge 2 ] || { echo "one GPU" && return 77; }
    "$@"
}

# What MPI itself asks of CUDA in vain at start is no fault of ours: only memory accesses and races count. NCCL's
# kernels are not ours either: its library is hidden.
sanitizer() { # TOOL
    mkdir -p "$work/no_nccl" && echo "hidden" >"$work/no_nccl/libnccl.so.2"
    local LD_LIBRARY_PATH="$work/no_nccl${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export LD_LIBRARY_PATH
    command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer" && return 77; }
    local gpus=$((GPUS < 2 ? GPUS : 2))
    sanitized "$1" $((2 * gpus)) "$test_exec" shapes 2 "$SEED" "$DEVICE" "1x${gpus}x2"
}
sanitized() { # TOOL PROCESSES PROGRAM ARGUMENTS...
    local tool=$1 processes=$2 log=$work/$1.${3##*/}
    shift 2
    command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer" && return 77; }
    run 60 "$processes" compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 99 "$@" \
        >"$log" 2>&1 || { cat "$log" && return 1; }
    cat "$log"
    [ "$(grep -c 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$log")" -eq "$processes" ]
}

nothing_left() {
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        ps -eo pid,args | grep -F "$test_exec" | grep -v grep >"$work/processes" || break
        sleep 0.1
    done
    cat "$work/processes"
    [ ! -s "$work/processes" ] || return 1
    [ "$(find /dev/shm -name "$PORTOLAN_SEGMENTS-*" | wc -l)" -eq 0 ]
}

echo "check_gpu: $GPUS GPUs, device $DEVICE, MPI takes GPU pointers: $aware, seed $SEED"
spawn "random cases on 1 to $GPUS GPUs x 1 to $processes_per_gpu processes: owners, helpers, all algorithms" \
    run 90 $((GPUS * processes_per_gpu)) "$test_exec" shapes "$CASES" "$SEED" "$DEVICE" "1x${GPUS}x$processes_per_gpu"
spawn "one plan runs 300 times under random delays" run 60 4 "$test_exec" repeats 300 "$SEED" "$DEVICE" 1x1x4
spawn "cuda_aware" cuda_aware
spawn "NCCL's collectives, every type, operation and placing" nccl
spawn "NCCL's collectives on its symmetric windows" nccl_windows
# Few on the host device, where eight processes may share two cores: tests/mpi/test_stale.sh has more.
runs=300
[ "$DEVICE" = cuda ] || runs=30
spawn "runs back to back on changing data never read stale results" run 90 8 "$test_stale" $runs "$DEVICE"
collect
spawn "rings of page-locked host memory deliver every chunk" run 90 2 "$test_exec" rings 3 "$SEED" "$DEVICE" \
    "1x$((GPUS < 2 ? 1 : 2))x$((GPUS < 2 ? 2 : 1))"
spawn "pipelines and branches are right in lanes" run 90 2 "$test_exec" lanes 2 "$SEED" "$DEVICE" \
    "1x$((GPUS < 2 ? 1 : 2))x$((GPUS < 2 ? 2 : 1))"
collect
# Alone on the GPUs: a kernel that waits keeps its GPU from other jobs for as long as its turn lasts.
spawn "plans of kernels never read stale results, $STALE_RUNS runs each" two_gpus run 300 "$GPUS" "$test_stale" \
    "$STALE_RUNS" "$DEVICE" kernels
collect
spawn "a plan of one kernel runs 300 times under random delays" two_gpus run 60 "$GPUS" "$test_exec" \
    repeats:gas_split 300 "$SEED" "$DEVICE" "1x${GPUS}x1"
collect
spawn "random programs in streams and graphs are right" two_gpus run 60 "$GPUS" "$test_streams" random 40 "$SEED" "$DEVICE"
collect
spawn "$STALE_RUNS runs of each plan in graphs are right" two_gpus run 300 "$GPUS" "$test_streams" replays "$STALE_RUNS" \
    "$SEED" "$DEVICE"
collect
spawn "memory is registered by all or by none" two_gpus run 60 "$GPUS" "$test_register" "$DEVICE"
spawn "an enqueued run that waits in vain ends with an error" two_gpus run 60 "$GPUS" "$test_streams" absent 0 0 "$DEVICE"
collect
spawn "compute-sanitizer memcheck" sanitizer memcheck
spawn "compute-sanitizer racecheck" sanitizer racecheck
collect
for tool in memcheck racecheck; do
    spawn "compute-sanitizer $tool, kernels that signal each other" two_gpus sanitized $tool "$GPUS" "$test_stale" 20 \
        "$DEVICE" kernels
    collect
done
spawn "compute-sanitizer memcheck, streams and graphs" two_gpus sanitized memcheck "$GPUS" "$test_streams" random 3 "$SEED" \
    "$DEVICE"
collect
# Alone: it takes all memory of a GPU.
spawn "executors on a GPU without memory fail on all processes and leave nothing" run 120 $((GPUS < 2 ? 2 : GPUS)) \
    "$test_memory" "$DEVICE"
collect
spawn "a killed process ends the job" killed 4 killed 1x1x4
spawn "a process that never runs ends the job" absent 3 absent 1x1x3 ""
spawn "a killed receiver ends the job while its ring is full" killed 2 killed:host_ring 1x1x2
collect
spawn "a killed process ends the job while kernels wait for it" two_gpus killed "$GPUS" killed:gas_split "1x${GPUS}x1"
collect
spawn "a process that never runs ends the job while kernels wait for it" two_gpus absent "$GPUS" absent:gas_split \
    "1x${GPUS}x1" "in a kernel"
collect
# The longest last, and one after another: every process has a context on its GPU, and those of five jobs take
# turns for minutes.
for collective in allreduce reduce broadcast allgather alltoall alltoallv; do
    spawn "own algorithms on $GPUS GPUs x $processes_per_gpu processes: $collective" own_algorithms $collective
    collect
done
spawn "nothing is left over" nothing_left
collect

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
