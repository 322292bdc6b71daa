#!/usr/bin/env bash
# The executor, the profiler and the drop-in under MPICH: built in a folder of its own, random cases, and an installed copy
# (test_install.sh).
# BUILD: its build folder is $BUILD/mpich. CASES: how many (default 100). Exits 77 where there is no MPICH.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpicc.mpich mpirun.mpich # Debian: mpich, libmpich-dev
# GPU code is the same under any MPI, and its compiler takes long.
export NVCC=none PLAIN=${BUILD:-build} BUILD=${BUILD:-build}/mpich MPICC=mpicc.mpich MPIRUN=mpirun.mpich
unset MAKEFLAGS MAKELEVEL
make --no-print-directory -j"$(nproc)" BUILD="$BUILD" MPICC=$MPICC build "$BUILD/tests/test_exec" "$BUILD/tests/test_profile" \
    "$BUILD/tests/test_dropin" "$BUILD/tests/test_contexts" "$BUILD/tests/test_trials" "$BUILD/tests/test_refused" "$BUILD/tests/fake_cuda/libcuda.so.1" "$BUILD/tests/wrong/libportolan-mpi.so" >/dev/null
patiently 300 $MPIRUN -n 3 "$BUILD/tests/test_exec" cases "${CASES:-100}" "${SEED:-1}"
echo "ok   random cases"
tests/mpi/test_profile.sh
tests/mpi/test_dropin.sh
tests/mpi/test_dropin_host.sh
tests/mpi/test_run_calibrate.sh
foreign=${BUILD%/mpich}/libportolan-mpi.so # built for another MPI library
if [ -e "$foreign" ]; then
    check "under another MPI library the drop-in does nothing" quietly patiently 60 $MPIRUN -n 2 \
        env LD_PRELOAD="$(readlink -f "$foreign")" PORTOLAN_MACHINE=h200-x4 PORTOLAN_DEVICE=host PORTOLAN_EXPLAIN=1 \
        "$BUILD/tests/test_dropin" random 50 1
    check "and prints nothing" lacks portolan
fi
tests/mpi/test_install.sh
finish
