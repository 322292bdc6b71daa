#!/usr/bin/env bash
# The executor under MPICH: built in a folder of its own, random cases, and an installed copy (test_install.sh).
# BUILD: its build folder is $BUILD/mpich. CASES: how many (default 100). Exits 77 where there is no MPICH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for program in mpicc.mpich mpirun.mpich; do
    command -v $program >/dev/null || { echo "test_mpich: skipped: no $program (Debian: mpich, libmpich-dev)"; exit 77; }
done
# GPU code is the same under any MPI, and its compiler takes long.
export NVCC=none BUILD=${BUILD:-build}/mpich MPICC=mpicc.mpich MPIRUN=mpirun.mpich
unset MAKEFLAGS MAKELEVEL
make --no-print-directory -j"$(nproc)" BUILD="$BUILD" MPICC=$MPICC build "$BUILD/tests/test_exec" >/dev/null
timeout 300 $MPIRUN -n 3 "$BUILD/tests/test_exec" cases "${CASES:-100}" "${SEED:-1}"
echo "ok   random cases"
tests/mpi/test_install.sh
echo "test_mpich: all right"
