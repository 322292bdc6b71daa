#!/usr/bin/env bash
# What judges and times: the reference of collectives, the patterns of applications and the benchmarks, against
# arithmetic, and a clock, of the tests' own. BUILD: where the programs were built (default build).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
built "$build"/tests/test_{reference,patterns,benches,cases}
for program in reference patterns benches cases; do
    check "$program" "$build/tests/test_$program"
done
finish
