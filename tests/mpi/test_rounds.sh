#!/usr/bin/env bash
# How many calls of MPI an executor takes, on the host device. BUILD: where the program was built (default build).
# Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
program=$build/tests/test_rounds
built "$program"
for n in 2 4; do
    check "executors take few calls of MPI on $n processes, and fail on all or none" launch 120 -n $n "$program"
done
finish
