#!/usr/bin/env bash
# What portolan-validate and portolan-calibrate do when a process is stopped, when the processes were given
# different arguments, and when their output can't be written: each must end with an error that says why.
# BUILD: where the programs were built (default build). STOPS: how often a process is stopped in any step (default 3),
# by SEED (default: the time). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
validate=$build/portolan-validate
calibrate=$build/portolan-calibrate
built "$validate" "$calibrate"
# Ours alone: other jobs on this machine have segments too.
export PORTOLAN_SEGMENTS=portolan-test$$
full=$work/full # a tiny file system, where it can be had
cleanup() { umount "$full" 2>/dev/null || true; }

says_once() { [ "$(grep -c -- "$1" "$work/stderr")" -eq 1 ]; }

job=(--machine h200-x4 --collective allreduce --nodes 1 --gpus-per-node 4 --procs-per-gpu 1)
quick=("${job[@]}" --repeats 3 --bytes 64 --strategy gsb)

# --- a stopped process

# doing STEP PROCESSES: whether that many processes have told their guards that they are in this step. The guards
# share a segment of rank 0, which has no name any more but is among its open files. What of these has been
# closed meanwhile is of no interest, nor is a process that has ended.
doing() {
    local pid found
    pid=$(cat "$work/pid.0" 2>/dev/null) || return 1
    mapfile -t found < <(find "/proc/$pid/fd" -lname "/dev/shm/$PORTOLAN_SEGMENTS-*" \
        -exec grep -aoshF -- "$1" {} + 2>/dev/null)
    ((${#found[@]} >= $2))
}
# stop RANK PROCESSES READY COMMAND...: stop the rank as soon as READY holds. Ends with the job's status.
stop() {
    local rank=$1 processes=$2 ready=$3 status=0 launcher
    shift 3
    rm -f "$work"/pid.* "$work/stdout"
    # shellcheck disable=SC2016
    launch 600 -n "$processes" bash -c 'echo $$ >"$0.$OMPI_COMM_WORLD_RANK"; exec "$@"' "$work/pid" "$@" &
    launcher=$!
    until $ready; do
        kill -0 "$launcher" 2>/dev/null || break
        sleep 0.05
    done
    kill -STOP "$(cat "$work/pid.$rank")"
    wait "$launcher" || status=$?
    return "$status"
}
timing() { doing "allreduce of 1048576 bytes by gsb: timing 1000000 repeats" 4; }
checking() { doing ": checking results" 4; }
measuring() { doing "ping_pong: " 2; }
reducing() { doing "reduce: " 4; }

# Long enough that a busy machine lets each process run meanwhile.
limit=(--timeout 10)
named="MPI rank 3 (process [0-9]* on .*) shows no sign of life"
# Jobs that go on for minutes on any machine, and so for longer than it takes to see what they do.
timed=("$validate" "${job[@]}" --bytes 1MiB --repeats 1000000 --strategy gsb "${limit[@]}")
check "validate: a process that is stopped while runs are timed ends the job" exits 1 stop 3 4 timing "${timed[@]}"
check "and is named" has "^portolan-validate: $named"
check "with its last step" has "allreduce of 1048576 bytes by gsb: timing 1000000 repeats$"
check "validate: rank 0 too" exits 1 stop 0 4 timing "${timed[@]}"
check "and is named" has "^portolan-validate: MPI rank 0 (process .*) shows no sign of life"
check "validate: a process that is stopped while results are checked ends the job" \
    exits 1 stop 3 4 checking "$validate" "${job[@]}" --bytes 64MiB:1GiB:2 --check-only "${limit[@]}"
check "and is named" has "$named"
check "calibrate: a process that is stopped while it measures ends the job" \
    exits 1 stop 1 2 measuring "$calibrate" --only ping_pong --exhaustive "${limit[@]}"
check "and is named" has "^portolan-calibrate: MPI rank 1 (process [0-9]* on .*) shows no sign of life.*: ping_pong: "
check "calibrate: a process that takes no part ends the job" \
    exits 1 stop 3 4 reducing "$calibrate" --only reduce --exhaustive "${limit[@]}"
check "and is named" has "^portolan-calibrate: $named.*: reduce: "
check "calibrate: processes that take no part wait longer than the time-out" \
    exits 0 launch 120 -n 3 "$calibrate" --only ping_pong --exhaustive --repeats 1000 --budget 12 --timeout 5

# Creating, running, checking or freeing: whatever it does when the signal comes, from one moment to another.
segments() { find /dev/shm -name "$PORTOLAN_SEGMENTS-*" | wc -l; }
seed=${SEED:-$(date +%s)}
RANDOM=$seed
echo "     seed $seed"
any_step() { doing "allreduce of " 4 && sleep "0.$((RANDOM % 10))"; }
for ((i = 0; i < ${STOPS:-3}; i++)); do
    rank=$((RANDOM % 4))
    check "validate: rank $rank is stopped in any step" exits 1 stop $rank 4 any_step "$validate" "${job[@]}" \
        --bytes 4:1GiB:2 --strategy gsb,btb,mix,three_step,gas_split --check-only --timeout 5
    check "and is named, with its step" has "^portolan-validate: MPI rank $rank (process .*) shows no sign of life.*: allreduce of "
    check "no shared memory is left" test "$(segments)" -eq 0
done

# --- a process or the launcher that is killed

# begin PROCESSES READY COMMAND...: start a job, and return once READY holds. Its processes are in $work/pid.*.
begin() {
    local processes=$1 ready=$2
    shift 2
    rm -f "$work"/pid.* "$work/stdout"
    # shellcheck disable=SC2016
    launch 600 -n "$processes" bash -c 'echo $$ >"$0.$OMPI_COMM_WORLD_RANK"; exec "$@"' "$work/pid" "$@" &
    job_pid=$!
    until $ready; do
        kill -0 "$job_pid" 2>/dev/null || return 1
        sleep 0.05
    done
}
# ended: whether all processes of the job end.
ended() {
    local pid
    for pid in $(cat "$work"/pid.*); do patiently 60 tail --pid="$pid" -f /dev/null || return 1; done
}

check "validate: timed runs begin" begin 4 timing "${timed[@]}"
kill -KILL "$(cat "$work/pid.2")"
check "a process that is killed ends the job" fails wait "$job_pid"
check "and the launcher names it" has "rank 2 .*exited on signal 9"
check "no process is left" ended
check "validate: timed runs begin again" begin 4 timing "${timed[@]}"
kill -KILL "$(ps -o ppid= -p "$(cat "$work/pid.0")" | tr -d ' ')"
check "a launcher that is killed ends the job" fails wait "$job_pid"
check "no process is left" ended
check "no shared memory is left either" test "$(segments)" -eq 0

# --- a machine file that changes under a run: it is read once, at the start

# A pipe, of which a second reading would find the end.
# shellcheck disable=SC2016
check "validate: each process reads the machine file once" exits 0 launch 120 -n 4 \
    bash -c 'exec "$@" < <(cat "$0")' scenarios/machines/h200-x4.yaml "$validate" --machine /dev/stdin \
    --collective allreduce --nodes 1 --gpus-per-node 4 --procs-per-gpu 1 --bytes 64:4096:64 --repeats 3 --strategy gsb
check "with all its rows" test "$(tail -n 1 "$work/stdout")" = "# complete: 2 points"

# --- shared memory that is full, at the first segment and at a later one

# in_full_shm SIZE: the job has a /dev/shm of its own, which Open MPI does not use.
in_full_shm() {
    # shellcheck disable=SC2016
    quietly patiently 60 unshare --mount bash -c 'mount -t tmpfs -o size="$0" tmpfs /dev/shm && exec "$@"' "$1" \
        mpirun -n 4 --oversubscribe --mca btl self,tcp --mca mpi_yield_when_idle 1 "$validate" "${job[@]}" \
        --repeats 3 --bytes 64:16MiB:64 --strategy gsb
}
if unshare --mount mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
    for size in 16k 2m; do
        check "validate: a /dev/shm of $size ends the job" exits 1 in_full_shm "$size"
        check "with the cause" has "posix_fallocate in /dev/shm: No space left on device ([0-9]* bytes of shared memory)"
    done
else
    echo "     no tmpfs can be mounted: a full /dev/shm is not tried"
fi

# --- different arguments

check "different numbers of repeats end the job" exits 1 launch 120 -n 3 "$validate" "${job[@]}" --bytes 64 --repeats 3 : \
    -n 1 "$validate" "${job[@]}" --bytes 64 --repeats 2
check "and are named, once" says_once "MPI rank 3 has --repeats 2, MPI rank 0 has 3"
check "different numbers of points end the job" exits 1 launch 120 -n 3 "$validate" "${job[@]}" --bytes 64:1024 : \
    -n 1 "$validate" "${job[@]}" --bytes 64
check "and are named" says_once "MPI rank 3 has a number of points of 1, MPI rank 0 has 5"
check "different numbers of strategies end the job" exits 1 launch 120 -n 3 "$validate" "${quick[@]}" : \
    -n 1 "$validate" "${quick[@]}" --strategy btb
check "and are named" says_once "MPI rank 3 has a number of strategies of 2, MPI rank 0 has 1"
check "a wrong option of one process is wrong usage" exits 2 launch 120 -n 3 "$validate" "${quick[@]}" : \
    -n 1 "$validate" "${quick[@]}" --op none
check "and explained" says_once "unknown operation 'none'"
check "a scenario that one process lacks ends the job" exits 1 launch 120 -n 3 "$validate" "${quick[@]}" : \
    -n 1 "$validate" "$work/none.yaml"
check "and is named" says_once "none.yaml"
check "calibrate: different benchmarks end the job" exits 1 launch 120 -n 1 "$calibrate" --only ping_pong : \
    -n 1 "$calibrate" --only reduce
check "and are named" has "MPI rank 1 has --only reduce, MPI rank 0 has ping_pong$"
check "calibrate: a wrong option of one process is wrong usage" exits 2 launch 120 -n 1 "$calibrate" --only ping_pong : \
    -n 1 "$calibrate" --only nothing
check "and explained" says_once "^portolan-calibrate: --only: no benchmark 'nothing'"

# --- errors of all processes, numbers

check "an error that all processes meet is said once" exits 1 launch 120 -n 3 "$validate" "${job[@]}" --bytes 64
check "with its reason" says_once "the layout has 4 processes, the job 3"
check "too many repeats are wrong usage" exits 2 launch 120 -n 1 "$validate" "${job[@]}" --repeats 10000000
check "and the limit is a whole number" says_once "'10000000' is not a whole number between 1 and 1000000$"
check "a fraction of a repeat too" exits 2 launch 120 -n 1 "$validate" "${job[@]}" --repeats 2.5
check "a time-out that is too long" exits 2 launch 120 -n 1 "$validate" "${job[@]}" --timeout 2000000
check "is told the limits" says_once "'2000000' is not a number between 0.1 and 1000000$"
printf '0,64\n64,0\n' >"$work/matrix.csv"
vector=(--machine h200-x4 --collective alltoallv --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 --strategy three_step)
check "--bytes before a matrix of counts is refused" exits 2 launch 120 -n 2 "$validate" "${vector[@]}" --bytes 1024 \
    --counts "$work/matrix.csv" --check-only
check "and explained" says_once "bytes and a matrix of bytes .* cannot both be given"
check "after it too" exits 2 launch 120 -n 2 "$validate" "${vector[@]}" --counts "$work/matrix.csv" --bytes 1024 --check-only
check "the matrix alone is accepted" exits 0 launch 120 -n 2 "$validate" "${vector[@]}" --counts "$work/matrix.csv" --check-only

# --- output that can't be written

check "validate: a full disk ends the job" exits 1 launch 120 -n 4 "$validate" "${quick[@]}" --out /dev/full
check "with the cause" says_once "/dev/full:1:1: cannot write: No space left on device"
check "validate: a folder that is not there ends the job" exits 1 launch 120 -n 4 "$validate" "${quick[@]}" --out "$work/no/x.csv"
check "with the cause" says_once "$work/no/x.csv:1:1: cannot write: No such file or directory"
check "validate: standard output that is full ends the job" exits 1 launch 120 -n 4 bash -c 'exec "$0" "$@" >/dev/full' \
    "$validate" "${quick[@]}"
check "with the cause" has "cannot write standard output: No space left on device"
check "validate: a table ends with its last line" exits 0 launch 120 -n 4 "$validate" "${quick[@]}"
check "which counts the points" test "$(tail -n 1 "$work/stdout")" = "# complete: 1 points"
check "calibrate: a full disk ends the job" exits 1 launch 120 -n 2 "$calibrate" --only signals --out /dev/full
check "with the cause" has "/dev/full:1:1: cannot write: No space left on device"

check "validate writes a new file" exits 0 launch 120 -n 4 "$validate" "${quick[@]}" --out "$work/rows.csv"
echo old >"$work/rows.csv"
check "validate keeps an existing file" exits 1 launch 120 -n 4 "$validate" "${quick[@]}" --out "$work/rows.csv"
check "and says how to replace it" says_once "$work/rows.csv:1:1: exists already (--force replaces it)"
check "it is as it was" test "$(cat "$work/rows.csv")" = old
check "--force replaces it" exits 0 launch 120 -n 4 "$validate" "${quick[@]}" --out "$work/rows.csv" --force
check "as a whole" test "$(grep -c '^allreduce,' "$work/rows.csv")" -eq 3
check "with nothing left beside it" test -z "$(find "$work" -name 'rows.csv.part-*')"

echo old >"$work/samples.csv"
# Once there are rows beside the old file. The signal is for the process that writes them: a launcher that gets it
# may end, and with it the job, before it has passed the signal on.
export WRITER=$work/writer
interrupt() {
    local launcher
    patiently 600 mpirun -n 2 --oversubscribe --mca mpi_yield_when_idle 1 \
        bash -c '[ "$OMPI_COMM_WORLD_RANK" != 0 ] || echo $$ >"$WRITER"; exec "$0" "$@"' "$calibrate" \
        --only ping_pong --exhaustive --budget 300 --repeats 100000 --force --out "$work/samples.csv" 2>"$work/stderr" &
    launcher=$!
    until [ "$(cat "$work"/samples.csv.part-* 2>/dev/null | wc -l)" -gt 50 ]; do
        kill -0 "$launcher" 2>/dev/null || break
        sleep 0.05
    done
    kill -TERM "$(cat "$WRITER")"
    ! wait "$launcher"
}
check "calibrate --force is interrupted" interrupt
check "and says where the finished points are" has "the finished points are in $work/samples.csv.part-"
check "which is so" has "^ping_pong,cpu," "$work"/samples.csv.part-*
check "the old file is as it was" test "$(cat "$work/samples.csv")" = old

# lines_are_whole FILE FIELDS: all but comments.
lines_are_whole() { [ "$(tail -c 1 "$1" | od -An -c | tr -d ' ')" = '\n' ] && awk -F, -v n="$2" '!/^#/ && NF != n { bad = 1 } END { exit bad }' "$1"; }
mkdir "$full"
if mount -t tmpfs -o size=16k tmpfs "$full" 2>/dev/null; then
    check "validate: a disk that fills ends the job" exits 1 launch 120 -n 4 "$validate" "${job[@]}" --bytes 64:4KiB \
        --repeats 200 --strategy gsb --out "$full/rows.csv"
    check "with the cause" says_once "$full/rows.csv:1:1: cannot write: No space left on device; the lines before are kept"
    check "and leaves whole rows" lines_are_whole "$full/rows.csv" 9
    rm "$full/rows.csv"
    check "calibrate: a disk that fills ends the job" exits 1 launch 120 -n 2 "$calibrate" --only ping_pong --exhaustive --budget 30 \
        --out "$full/samples.csv"
    check "with the cause" has "$full/samples.csv:1:1: cannot write: No space left on device; the lines before are kept"
    check "and leaves whole rows" lines_are_whole "$full/samples.csv" 9
    check "of an incomplete run" has "^# complete=no" "$full/samples.csv"
    umount "$full"
else
    echo "     no tmpfs can be mounted: full disks are left to tests/unit/test_row_file.c"
fi

# --- gpu-suite: mpirun loses output without an error, so a table without its last line is no table

mkdir -p "$work/stub" "$work/suite/results"
printf '#!/bin/sh\necho "# validate: a table that was cut off"\n' >"$work/stub/portolan-validate"
chmod +x "$work/stub/portolan-validate"
suite() { quietly env BUILD="$work/stub" OUT="$work/suite" DEVICE=host GPUS=1 MACHINE=h200-x4 tests/gpu/suite.sh --do "$@"; }
check "gpu-suite: a table that was cut off fails its step" exits 1 suite validate allreduce 1
check "with a reason" has "was cut off: is the disk full?"
check "in the race too" exits 1 suite race waited allreduce
check "and nothing gets its name" test -z "$(find "$work/suite/results" -name 'table-*')"

finish
