#!/usr/bin/env bash
# Energy counters that fail on one process of a job. BUILD: where the programs were built (default build).
# Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
built "$build/tests/test_counters"
check "a failed counter is an error on all processes" launch 60 -n 3 "$build/tests/test_counters"
check "in every place where it can fail" test "$(grep -c '^ok ' "$work/stdout")" = 8
finish
