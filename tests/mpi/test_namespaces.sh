#!/usr/bin/env bash
# Segments of shared memory: names that others have taken, and processes that all are process 1 of a PID namespace.
# BUILD: where the programs were built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun unshare
test_exec=$build/tests/test_exec program=$build/tests/test_dropin validate=$build/portolan-validate
built "$test_exec" "$program" "$validate" "$build/libportolan-mpi.so"
export PORTOLAN_SEGMENTS=portolan-test$$ PORTOLAN_MACHINE=$PWD/scenarios/machines/h200-x4.yaml PORTOLAN_DEVICE=host
segments() { find /dev/shm -name "$PORTOLAN_SEGMENTS-*" -newer "$work/began" | wc -l; }
cleanup() { rm -f "/dev/shm/$PORTOLAN_SEGMENTS"-*; }
dropin=(env LD_PRELOAD="$build/libportolan-mpi.so" PORTOLAN_EXPLAIN=1 "$program" repeat 10 4096)
quick=("$validate" --machine h200-x4 --collective allreduce --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 --bytes 64
    --strategy gas_allgather --repeats 3)

# Names were once made of the process's id and a number: the shell's id is that of the program that it becomes.
# shellcheck disable=SC2016 # for the inner shell
taken='for i in $(seq 0 20); do : >"/dev/shm/$PORTOLAN_SEGMENTS-$$-$i"; done; exec "$@"'
: >"$work/began"
check "where names can be guessed and are taken, plans run" launch 60 -n 2 bash -c "$taken" taken "${dropin[@]}"
check "as the summary says" has "MPI_Allreduce .* gas_allgather$"
check "and portolan-validate" launch 60 -n 2 bash -c "$taken" taken "${quick[@]}"
check "and names that others have are theirs" test "$(segments)" -eq 84
cleanup
if ! unshare --pid --fork true 2>/dev/null; then
    echo "     PID namespaces cannot be made: not tried (as root they can)"
    finish
    exit
fi
# Open MPI 4.1 names its own segments by process ids, so its messages go by TCP here.
apart=(launch 60 -n 2 --mca btl self,tcp unshare --pid --fork)
check "processes with PID namespaces of their own run plans" "${apart[@]}" "$test_exec" repeats:gas_split 100 1
check "under a program" "${apart[@]}" "${dropin[@]}"
check "as the summary says" has "MPI_Allreduce .* gas_allgather$"
check "and portolan-validate" "${apart[@]}" "${quick[@]}"
# The name /proc/1/fd/N means another file for each of them.
check "with a /proc of its own, none takes a file of its own for another's memory" fails "${apart[@]}" --mount-proc "${quick[@]}"
check "and says why" has "is not the shared memory that another process made\|another process's shared memory"
check "a program's calls go to MPI" "${apart[@]}" --mount-proc "${dropin[@]}"
check "and nothing is left" test "$(segments)" -eq 0
finish
