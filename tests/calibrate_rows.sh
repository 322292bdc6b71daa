# What the tests of portolan-calibrate's cases share; to be sourced after tests/shell.sh. The rows are $work/rows.csv.
# shellcheck shell=bash

lists() { # NAME: whether the rows and what was left out, with its reason, are those listed
    {
        awk -F, -f tests/calibrate_rows.awk "$work/rows.csv"
        sed -n 's/^# \(skipped_.*\)/\1/p' "$work/rows.csv"
    } >"$work/rows.txt"
    [ -z "${REWRITE:-}" ] || cp "$work/rows.txt" "tests/fixtures/rows-$1.txt"
    diff "tests/fixtures/rows-$1.txt" "$work/rows.txt" >&2
}
