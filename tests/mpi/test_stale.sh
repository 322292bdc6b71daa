#!/usr/bin/env bash
# Back-to-back runs of plans whose processes share memory, under mpirun on this machine, on the host device.
# BUILD: where the programs were built (default build). RUNS: of each plan (default 3000). DEVICE: default host.
# Exits 77 where there is no mpirun.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=$(readlink -f "${BUILD:-build}")/tests/test_stale
command -v mpirun >/dev/null || { echo "test_stale: skipped: no mpirun"; exit 77; }
[ -x "$program" ] || { echo "test_stale: $program is not built" >&2; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run() { # PROCESSES ARGUMENTS...
    local processes=$1
    shift
    timeout 600 mpirun -n "$processes" --oversubscribe --mca mpi_yield_when_idle 1 "$program" "${RUNS:-3000}" \
        "${DEVICE:-host}" "$@"
}
run 8
for processes in 2 3 4; do run $processes kernels; done
echo "test_stale: all right"
