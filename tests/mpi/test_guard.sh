#!/usr/bin/env bash
# How a guard ends a job, on one node; tests/mpi/test_faults.sh has the programs' own waits. BUILD: where
# the programs were built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
built "$build/tests/test_guard"
mpirun=(mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n 3)
ends() { # MODE: writes $work/MODE.out, .err, and .end: the exit status, and after how many seconds
    local began=$SECONDS status=0
    patiently 200 "${mpirun[@]}" "$build/tests/test_guard" "$1" >"$work/$1.out" 2>"$work/$1.err" || status=$?
    echo "$status $((SECONDS - began))" >"$work/$1.end"
}
ended() { # MODE: by itself, and not by success; mpirun was seen to crash while it ended a job
    local status
    read -r status _ <"$work/$1.end"
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
}
said() { # MODE
    grep '^test_guard: ' "$work/$1.err" |
        sed "s/process [1-9][0-9]* on $host)/process)/; s/rank [01] on $host: no progress for \([89]\|[1-9][0-9]\)[.0-9]* s/rank: not for 8 s/"
}
host=$(hostname | cut -c1-62)

for mode in elsewhere stopped says hangs; do
    ends $mode &
done
wait
check "a process that waits for another ends the job" ended elsewhere
check "after its own step's time-out, which progress puts off" [ "$(cut -d ' ' -f 2 "$work/elsewhere.end")" -ge 19 ]
check "says what it waited for, and once where the other is" [ "$(said elsewhere)" = \
    "test_guard: MPI rank: not for 8 s in: a test of 3: waiting for 2; ending the job
test_guard: MPI rank 2 (process) is elsewhere: a test of 3: sleeping" ]
check "a process that is stopped ends the job" ended stopped
check "is named, once, with its last step" [ "$(said stopped)" = \
    "test_guard: MPI rank 2 (process) shows no sign of life (stopped?): ending the job; its last step: stopping" ]
check "an MPI_Abort that hangs does not keep a process" ended hangs
check "of those with the same error, one prints it" has "^said: 1 1 0$" "$work/says.out"
check "and the others give it time to end the job" [ "$(cut -d ' ' -f 2 "$work/says.end")" -ge 5 ]
finish
