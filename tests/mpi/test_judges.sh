#!/usr/bin/env bash
# What judges and times: the reference of collectives, the patterns of applications, the benchmarks, their cases, sizes and fits,
# what portolan-validate measures and when it begins, against arithmetic, and a clock, of the tests' own. Who is where. What the host
# device does without another process, and how processes wait for each other and agree. BUILD: where the programs were built (default
# build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
built "$build"/tests/test_{reference,patterns,cases,statistics,members,engine,job,sizes,fits,measure,report,powers,start,parallel,host_device,nvml}
for program in reference patterns cases statistics members sizes fits measure report powers host_device nvml; do
    check "$program" quietly "$build/tests/test_$program"
done
for program in measure powers; do
    check "$program of two processes" launch 60 -n 2 "$build/tests/test_$program"
done
check "benchmarks of four processes" launch 120 -n 4 "$build/tests/test_members"
check "cases of three processes" launch 60 -n 3 "$build/tests/test_engine"
check "where five processes are" launch 60 -n 5 "$build/tests/test_job"
check "start of three nodes" launch 60 -n 3 "$build/tests/test_start"
check "start of three processes of a node" launch 60 -n 3 "$build/tests/test_start" one
check "barriers and agreement of three processes" launch 60 -n 3 "$build/tests/test_parallel"
finish
