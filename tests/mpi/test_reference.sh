#!/usr/bin/env bash
# What judges results in the other tests: the reference of collectives and the patterns of applications, against
# arithmetic of the tests' own. BUILD: where the programs were built (default build).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
built "$build"/tests/test_{reference,patterns}
for program in reference patterns; do
    check "$program" "$build/tests/test_$program"
done
finish
