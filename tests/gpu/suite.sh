#!/usr/bin/env bash
# `make gpu-suite`: what a machine with GPUs is visited for, in one call that can be resumed: build, check,
# calibrate, fit, validate, score, and the results in a folder and a tarball that unpack into the repository.
# Each step that has ended well leaves a stamp in OUT/done; a later call with the same OUT goes on with what is
# missing. What a step measures gets its name when the step has ended, so that one that was cut off leaves
# nothing and runs again.
#
# Usage: suite.sh, all by the environment (`make gpu-suite NAME=h200-x4 LIMIT=600`):
#   OUT          where stamps, log and results lie (default BUILD/gpu-suite)
#   NAME         of the machine, in file names (default: the GPUs' own and their number; on the host device: host)
#   LIMIT        seconds for this call (default 540)
#   BUILD        where to build (default build)
#   DEVICE       cuda (default) or host: a dry run, host memory in the GPUs' place
#   GPUS         how many (default: those that nvidia-smi lists, 4 at most; on the host device 2)
#   BUDGET       seconds for each benchmark of calibrate (default 10)
#   COLLECTIVES  to validate (default "allreduce reduce broadcast allgather alltoall alltoallv")
#   BYTES        their sizes, FROM:TO:FACTOR (default 64:64MiB:4)
#   CORES        processes a GPU, of strategies that split (default "2 4 8"; one process always)
#   REPEATS      of each plan (default 15)
#   CASES        random cases of each shape in the check (default 6)
#   RACE         sizes at which kernels and NCCL race, as BYTES (default 64:1GiB:4; on the host device BYTES)
#   QUEUED       runs behind one another in the race's second way (default 100)
#   MACHINE      predictions by this machine (default: the fitted one; on the host device h200-x4)
#   AT, DEPS, OPENMPI   on a bare machine: where to unpack (default /opt) which folder of Debian packages and
#                which Open MPI tarball, as in visit.sh
#
# Exit status: 0 all is done, 1 a step failed (a later call tries it again), 2 wrong usage, 3 LIMIT was reached
# (call again), 143 or 130 interrupted. OUT/NAME.tar.gz holds what there is, complete or not, and says which.
set -uo pipefail
self=$(readlink -f "${BASH_SOURCE[0]}")
cd "$(dirname "$self")/../.." || exit 1
: "${BUILD:=build}" "${AT:=/opt}" "${LIMIT:=540}" "${BUDGET:=10}" "${BYTES:=64:64MiB:4}" "${CORES:=2 4 8}"
: "${COLLECTIVES:=allreduce reduce broadcast allgather alltoall alltoallv}" "${REPEATS:=15}" "${CASES:=6}" "${MACHINE:=}"
: "${QUEUED:=100}"
. tests/gpu/environment.sh
shared_processes_per_gpu=8

refuse() {
    echo "gpu-suite: $*" >&2
    exit 2
}

# --- steps: each runs as `suite.sh --do STEP ARGUMENTS`, under a time limit; what they write is in `results`

build() { compile "$BUILD/tests/test_exec" "$BUILD/tests/test_stale"; }

check() { tests/gpu/check_gpu.sh && grep ' passed, ' "$OUT/log.txt" | tail -n 1 >"$results/check.txt"; }

# Delete the files of a step that was cut off. Unfinished files are named after the step's process, because
# processes of an interrupted call may still write theirs for a moment.
clear_parts() { rm -f "$results"/part.*; }

# mpirun does not notice that its standard output can't be written, so the table must have its last line.
is_whole() { # TABLE
    tail -n 1 "$1" | grep -q '^# complete' || { echo "$1 was cut off: is the disk full?" >&2 && false; }
}

# Two processes at the least: one has nobody to send to.
calibrate() { # BENCHMARK
    clear_parts
    local processes=$((GPUS > 2 ? GPUS : 2))
    case $1 in *shared | *mixed | *h2h) processes=$((GPUS * shared_processes_per_gpu)) ;; esac
    host_run "$processes" "$BUILD/portolan-calibrate" --only "$1" --budget "$BUDGET" --repeats 20 --timeout 60 \
        --machine "$NAME" --out "$results/part.$$.csv" || return
    mv "$results/part.$$.csv" "$results/samples-$1.csv"
}

# Files that hold rows. The host device has no GPU that samples could tell of.
fit() {
    local files=() file node=()
    for file in "$results"/samples-*.csv; do
        [ "$(grep -vc '^#' "$file")" -le 1 ] || files+=("${file##*/}")
    done
    [ "$DEVICE" = cuda ] || node=(--node "gpus=$GPUS")
    (cd "$results" && "$BUILD/portolan" fit "${files[@]}" "${node[@]}" --name "$NAME" --out "$NAME.yaml" \
        --force --report) >"$results/part.$$.txt" || return
    mv "$results/part.$$.txt" "$results/fit.txt"
}

machine() { echo "${MACHINE:-$results/$NAME.yaml}"; }

# Where there are helpers, what needs none was measured without them.
validate() { # COLLECTIVE CORES
    local arguments=(--machine "$(machine)" --device "$DEVICE" --nodes 1 --gpus-per-node "$GPUS" --procs-per-gpu "$2"
        --collective "$1" --bytes "$BYTES" --repeats "$REPEATS" --timeout 60 --out "$results/part.$$.csv")
    [ "$2" -eq 1 ] || arguments+=(--strategy "extra_message,dup_devptr")
    clear_parts
    host_run $((GPUS * $2)) "$BUILD/portolan-validate" "${arguments[@]}" >"$results/part.$$.txt" || return
    is_whole "$results/part.$$.txt" || return
    mv "$results/part.$$.txt" "$results/table-$1-$2.txt"
    mv "$results/part.$$.csv" "$results/rows-$1-$2.csv"
}

# The machine of the host device knows no kernels.
race_machine() { if [ "$DEVICE" = host ]; then echo tests/fixtures/machine.yaml; else machine; fi; }

# Kernels against NCCL, one process a GPU: each run waited for, or QUEUED of them with one wait.
race() { # WAY COLLECTIVE
    local racers=gas_read,gas_gather,gas_allgather,gas_split,nccl
    [ "$2" = allreduce ] || racers=gas_read,gas_allgather,gas_split,nccl
    local arguments=(--machine "$(race_machine)" --device "$DEVICE" --nodes 1 --gpus-per-node "$GPUS" --procs-per-gpu 1
        --collective "$2" --strategy "$racers" --bytes "$RACE" --repeats "$REPEATS" --timeout 60
        --out "$results/part.$$.csv")
    [ "$1" = waited ] || arguments+=(--queued "$QUEUED")
    clear_parts
    host_run "$GPUS" "$BUILD/portolan-validate" "${arguments[@]}" >"$results/part.$$.txt" || return
    is_whole "$results/part.$$.txt" || return
    mv "$results/part.$$.txt" "$results/table-race-$1-$2.txt"
    mv "$results/part.$$.csv" "$results/race-$1-$2.csv"
}

# The fastest kernel's median beside NCCL's.
ratios() {
    local file
    for file in "$results"/race-*.csv; do
        grep -v '^#' "$file" | tail -n +2 | sort -t, -k3,3 -k7,7n -k9,9g |
            awk -F, -v race="$(basename "$file" .csv)" '
                { place = $7 "," $3; time[place, ++count[place]] = $9; bytes[$7] }
                END {
                    for (place in count) {
                        split(place, part, ",")
                        median = time[place, int((count[place] + 1) / 2)]
                        if (part[2] == "nccl") nccl[part[1]] = median
                        else if (!(part[1] in best) || median < best[part[1]]) {
                            best[part[1]] = median
                            who[part[1]] = part[2]
                        }
                    }
                    for (b in bytes)
                        if (b in nccl && b in best)
                            printf "%s %d %s %.3g nccl %.3g ratio %.3f\n", race, b, who[b], best[b], nccl[b], best[b] / nccl[b]
                }' | sort -k1,1 -k2,2n
    done >"$results/part.$$.txt" || return
    mv "$results/part.$$.txt" "$results/race.txt"
}

score() {
    merge_rows "$results"/rows-*.csv >"$results/part.$$.csv" || return
    mv "$results/part.$$.csv" "$results/collectives.csv"
    "$BUILD/portolan" score "$results/collectives.csv" --machine "$(machine)" >"$results/part.$$.txt" || return
    mv "$results/part.$$.txt" "$results/score.txt"
}

results=${OUT:-}/results
if [ "${1:-}" = --do ]; then
    shift
    "$@"
    exit
fi

# --- what this call is about

[ $# -eq 0 ] || refuse "no arguments are taken; all is said by variables, which the file's head lists"
for number in LIMIT BUDGET REPEATS CASES QUEUED ${GPUS:+GPUS}; do
    [[ ${!number} =~ ^[1-9][0-9]*$ ]] || refuse "$number='${!number}' is no whole number of 1 or more"
done
for number in $CORES; do
    [[ $number =~ ^[1-9][0-9]*$ ]] || refuse "CORES='$CORES' holds '$number', which is no number of processes"
done
case $DEVICE in
host) : "${GPUS:=2}" "${NAME:=host}" "${MACHINE:=h200-x4}" "${RACE:=$BYTES}" ;;
cuda)
    command -v nvidia-smi >/dev/null || refuse "no GPU: there is no nvidia-smi (DEVICE=host makes a dry run)"
    : "${GPUS:=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU')}"
    [ "$GPUS" -gt 0 ] || refuse "no GPU: nvidia-smi lists none (DEVICE=host makes a dry run)"
    [ "$GPUS" -le 4 ] || GPUS=4
    : "${RACE:=64:1GiB:4}" "${NAME:=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr 'A-Z ' 'a-z-')-x$GPUS}"
    ;;
*) refuse "DEVICE='$DEVICE' is neither cuda nor host" ;;
esac
[[ $NAME =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || refuse "NAME='$NAME' can't be part of a file's name"
[ -z "${DEPS:-}" ] || DEPS=$(readlink -f "$DEPS")
mkdir -p "${OUT:=$BUILD/gpu-suite}" "$BUILD" || exit 1
BUILD=$(readlink -f "$BUILD")
OUT=$(readlink -f "$OUT")
results=$OUT/results
log=$OUT/log.txt
mkdir -p "$OUT/done" "$results"
exec 9>"$OUT/lock"
flock -n 9 || refuse "another call is at work in $OUT"

# Results of other settings must not be mixed into these.
settings() { # WITH
    local name
    for name in NAME DEVICE GPUS BUDGET COLLECTIVES BYTES CORES REPEATS CASES RACE QUEUED MACHINE; do
        echo "$name=${!name}"
    done
}
if [ -e "$OUT/settings" ] && ! settings | cmp -s - "$OUT/settings"; then
    settings | diff "$OUT/settings" - | grep '^[<>]' >&2
    refuse "$OUT is of other settings (<) than this call's (>): give these, another OUT, or remove it"
fi
settings >"$OUT/settings"
unpack "$DEPS" "${OPENMPI:+$(readlink -f "$OPENMPI")}" || exit 1
export OUT BUILD NAME GPUS BUDGET BYTES REPEATS CASES RACE QUEUED MACHINE

# --- running them

ends=$((SECONDS + LIMIT))
failed=0 missing=0 child=

interrupted() { # STATUS
    [ -z "$child" ] || { kill -TERM "$child" 2>/dev/null && wait "$child"; }
    echo "=== interrupted; call again to go on" | tee -a "$log"
    exit "$1"
}
trap 'interrupted 143' TERM
trap 'interrupted 130' INT

# The lock is this call's alone: what a step may leave behind must not hold it.
start() { # SECONDS STEP ARGUMENTS...
    local limit=$1
    shift
    timeout -k 5 "$limit" "$self" --do "$@" </dev/null >>"$log" 2>&1 9>&- &
    child=$!
    wait "$child"
    local status=$?
    child=
    return $status
}

# step SECONDS STEP ARGUMENTS...: at most that long, never past this call's end, and never twice. Returns 3 where
# this call has no time for it.
step() {
    local own=$1 limit=$1 left=$((ends - SECONDS)) began=$SECONDS status=0
    shift
    local name="$*"
    local stamp=$OUT/done/${name// /-}
    if [ -e "$stamp" ]; then
        echo "=== $name: done before" | tee -a "$log"
        return 0
    fi
    [ "$limit" -le "$left" ] || limit=$left
    if [ "$limit" -lt 3 ]; then
        missing=$((missing + 1))
        return 3
    fi
    echo "=== $name" >>"$log"
    start "$limit" "$@" || status=$?
    echo "=== $name: exit $status after $((SECONDS - began)) s" | tee -a "$log"
    if [ "$status" -eq 0 ]; then
        touch "$stamp"
    elif [ "$limit" -lt "$own" ] && { [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; }; then
        missing=$((missing + 1))
        status=3
    else
        failed=$((failed + 1))
    fi
    return $status
}

benchmarks() { "$BUILD/portolan-calibrate" --list | awk '/^[a-z]/ { print $1 }'; }

# The fit is of all samples there are: made anew where one has come, and not while some are still to come.
calibrate_all() {
    local benchmark open=0
    for benchmark in $(benchmarks); do
        [ -e "$OUT/done/calibrate-$benchmark" ] || rm -f "$OUT"/done/{fit,score}
        step $((BUDGET * 2 + 60)) calibrate "$benchmark"
        [ $? -ne 3 ] || open=1
    done
    if [ $open -eq 0 ]; then step 60 fit; else missing=$((missing + 1)); fi
}

# Splitting is for these alone. Without a machine there is nothing to predict by.
validate_all() {
    local collective cores
    if [ ! -e "$OUT/done/fit" ] && [ -z "$MACHINE" ]; then
        missing=$((missing + 1))
        return
    fi
    for collective in $COLLECTIVES; do
        for cores in 1 $CORES; do
            case $cores-$collective in
            1-* | *-allreduce | *-allgather | *-alltoall | *-alltoallv) ;;
            *) continue ;;
            esac
            [ -e "$OUT/done/validate-$collective-$cores" ] || rm -f "$OUT/done/score"
            step 240 validate "$collective" "$cores"
        done
    done
    if compgen -G "$results/rows-*.csv" >/dev/null; then step 30 score; fi
}

race_all() {
    local way collective
    [ "$GPUS" -gt 1 ] || return
    if [ ! -e "$OUT/done/fit" ] && [ -z "$MACHINE" ]; then
        missing=$((missing + 1))
        return
    fi
    for way in waited queued; do
        for collective in allreduce alltoall; do
            [ -e "$OUT/done/race-$way-$collective" ] || rm -f "$OUT/done/ratios"
            step 240 race $way $collective
        done
    done
    if compgen -G "$results/race-*.csv" >/dev/null; then step 30 ratios; fi
}

# What can be committed, without this machine's paths: samples and collectives, the fitted machine, what was run.
export_results() {
    local tree=$OUT/export file folder
    rm -rf "$tree"
    mkdir -p "$tree/validate/results/$NAME" "$tree/scenarios/machines" || return
    folder=$tree/validate/results/$NAME
    for file in "$results"/samples-*.csv "$results/collectives.csv" "$results"/race-*.csv \
        "$results"/{fit,score,race,check}.txt; do
        [ -e "$file" ] || continue
        [ "${file##*.}" != csv ] || [ "$(grep -vc '^#' "$file")" -gt 1 ] || continue
        sed "s|$results/||g; s|$BUILD/||g" "$file" >"$folder/${file##*/}" || return
    done
    if compgen -G "$results/table-*.txt" >/dev/null; then
        cat "$results"/table-*.txt >"$folder/tables.txt" || return
    fi
    [ ! -e "$OUT/done/fit" ] || cp "$results/$NAME.yaml" "$tree/scenarios/machines/" || return
    {
        date -u +'date=%Y-%m-%dT%H:%M:%SZ'
        echo "complete=$([ $((failed + missing)) -eq 0 ] && echo yes || echo no)"
        sed "s|$PWD/||" "$OUT/settings"
        find "$OUT/done" -type f -printf 'done=%f\n' | sort
    } >"$folder/suite.txt" || return
    tar -czf "$OUT/part.tar.gz" -C "$tree" validate scenarios && mv "$OUT/part.tar.gz" "$OUT/$NAME.tar.gz"
}

# OUT may have come from another machine, or BUILD been cleaned.
for program in portolan-calibrate portolan-validate portolan tests/test_exec tests/test_stale; do
    [ -x "$BUILD/$program" ] || rm -f "$OUT/done/build"
done

echo "gpu-suite: $NAME, $GPUS GPUs, device $DEVICE, $LIMIT s; $OUT"
if step 300 build; then
    step 400 check
    calibrate_all
    validate_all
    race_all
fi
export_results >>"$log" 2>&1 || {
    echo "=== export failed: see $log"
    failed=$((failed + 1))
}
echo "=== $failed steps failed, $missing missing; results so far: $OUT/$NAME.tar.gz"
if [ $failed -gt 0 ]; then exit 1; fi
[ $missing -eq 0 ] || { echo "=== $LIMIT s were not enough: call again with the same settings" && exit 3; }
