# What the tests in shell share. To be sourced from the repository's root, before anything else.
# shellcheck shell=bash
set -euo pipefail

test_name=$(basename "$0" .sh)
# shellcheck disable=SC2034 # for the tests
build=$(readlink -f "${BUILD:-build}")
PATH=$PWD/tests/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
failures=0
cleanup() { :; } # a test that leaves more than $work defines its own
trap 'cleanup; rm -rf "$work"' EXIT

# needs PROGRAM...: the test is skipped where this machine lacks one.
needs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "$test_name: skipped: no $program"; exit 77; }
    done
}

# Skipped where Open MPI is not 4.1, or cannot count its messages.
needs_monitoring() {
    if ! ompi_info --version | grep -q 'v4\.1' || ! ompi_info | grep -q 'pml: monitoring'; then
        echo "$test_name: skipped: not Open MPI 4.1 with pml_monitoring"
        exit 77
    fi
}

# built FILE...: it fails where one is not built.
built() {
    local file
    for file in "$@"; do
        [ -e "$file" ] || { echo "$test_name: $file is not built" >&2; exit 1; }
    done
}

run_check() { "$@"; } # a test that keeps what its commands print defines its own
# A failed check shows the last lines of $work/stdout and $work/stderr, where a test puts what its commands print.
check() { # WHAT COMMAND...
    local what=$1 file
    shift
    if run_check "$@"; then echo "ok   $what"; else
        echo "FAIL $what"
        for file in "$work/stdout" "$work/stderr"; do
            if [ -f "$file" ]; then tail -n 20 "$file" | sed 's/^/     /'; fi
        done
        failures=$((failures + 1))
    fi
}

finish() {
    [ "$failures" -eq 0 ] || { echo "$test_name: $failures failed"; exit 1; }
    echo "$test_name: all right"
}

# --- conditions

exits() { # STATUS COMMAND...
    local wanted=$1 status=0
    shift
    "$@" || status=$?
    [ "$status" -eq "$wanted" ]
}
fails() { ! "$@"; }
# It fails, and not because `patiently` has ended it.
fails_itself() { # COMMAND...
    local status=0
    "$@" || status=$?
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
}
has() { grep -q -- "$1" "${2:-$work/stderr}"; } # PATTERN [FILE]: by default what was printed to standard error
lacks() { ! has "$@"; }

# A preloaded library must export no function that MPI lacks: some programs call any function that they find.
exports_as_mpi() { # LIBRARY
    local mpi symbols=(nm -D --defined-only -f posix)
    mpi=$(ldd "$1" | awk '$1 ~ /^libmpi/ { print $3 }')
    "${symbols[@]}" "$mpi" | cut -d ' ' -f 1 | sort >"$work/mpi"
    "${symbols[@]}" "$1" | grep -o '^P\?MPIX\?_[^ ]*' | sort >"$work/ours"
    comm -23 "$work/ours" "$work/mpi" >"$work/stdout"
    [ -s "$work/ours" ] && [ ! -s "$work/stdout" ]
}

# --- commands whose output goes to $work/stdout and $work/stderr

quietly() { "$@" >"$work/stdout" 2>"$work/stderr"; }
launch() { # SECONDS MPIRUN'S ARGUMENTS...
    local limit=$1
    shift
    quietly patiently "$limit" mpirun --oversubscribe --mca mpi_yield_when_idle 1 "$@"
}
