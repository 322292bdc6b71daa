#!/usr/bin/env bash
# How many calls of MPI an executor takes, what programs seldom ask of one, what it gets late or never, and what is left
# then, on the host device. BUILD: where the programs were built (default build).
# Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
program=$build/tests/test_rounds
built "$program" "$build"/tests/test_{seldom,late,left}
for n in 2 4; do
    check "executors take few calls of MPI on $n processes, and fail on all or none" launch 120 -n $n "$program"
done
check "what is seldom asked for is right" launch 120 -n 4 "$build/tests/test_seldom"
check "what ends late, wrong or never is an error" launch 120 -n 4 "$build/tests/test_late"
check "where something fails, nothing is left but what others may use" launch 120 -n 4 "$build/tests/test_left"
check "an executor that one process does not end, ends the job" fails launch 120 -n 4 "$build/tests/test_late" end
check "which says why" has "portolan: rank [023] .*: waiting for the other processes, no progress for 5 s; ending the job"
finish
