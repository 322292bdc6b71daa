#!/usr/bin/env bash
# Back-to-back runs of plans whose processes share memory, under mpirun on this machine, on the host device.
# BUILD: where the programs were built (default build). RUNS: of each plan (default 3000). DEVICE: default host.
# Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
program=$build/tests/test_stale
built "$program"
run() { # PROCESSES ARGUMENTS...
    local processes=$1
    shift
    check "$processes processes $*" launch 600 -n "$processes" "$program" "${RUNS:-3000}" "${DEVICE:-host}" "$@"
}
run 8
for processes in 2 3 4; do run $processes kernels; done
finish
