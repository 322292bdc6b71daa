#!/usr/bin/env bash
# Executors without MPI: teams on shared memory, and the example of docs/executing.md, which link none of it.
# BUILD: where the programs were built (default build).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
built "$build"/tests/{test_teams,example_forked}
links_no_mpi() { ! ldd "$1" | grep -i 'libmpi'; }
for program in test_teams example_forked; do
    check "$program links no MPI" links_no_mpi "$build/tests/$program"
done
check "neither does the executor's library" links_no_mpi "$build"/libportolan-exec.so.[0-9]*
check "teams exchange, and make executors" timeout 120 "$build/tests/test_teams"
check "the example sums over processes that fork() started" \
    test "$(timeout 60 "$build/tests/example_forked" | sort | tr '\n' ';')" = "rank 0: 10;rank 1: 10;rank 2: 10;rank 3: 10;"
finish
