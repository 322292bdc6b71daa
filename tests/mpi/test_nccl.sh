#!/usr/bin/env bash
# The strategy nccl as GPUs run it, with a library of NCCL's interface that works through MPI in NCCL's place
# (tests/mpi/fake_nccl.c), on the host device. Exits 77 where there is no mpirun.
# BUILD: where the programs were built (default build).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
program=$build/tests/test_nccl
built "$program" "$build/tests/fake/libnccl.so.2"

# A call that hangs is ended by the executor's watchdog; the limit is for what it does not watch.
run() { # FOLDER OF THE LIBRARY, HOW IT MISBEHAVES, WHAT [DEVICE]
    local -x LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_NCCL=$2
    launch 600 -n 4 "$program" "${@:3}"
}
fake=$build/tests/fake

check "all collectives, types, operations and placings are right" run "$fake" "" cases
check "with the library that was to be loaded" grep -q "right with NCCL 2.20.3" "$work/stdout"
check "processes that share a GPU are refused" fails run "$fake" usage create
check "as not applicable, with the reason" has "does not apply here: ncclCommInitRank: invalid usage; NCCL takes one process a GPU"
check "a failing call is an error" fails run "$fake" fail run
check "with rank, stage, call and cause" has "rank .* in stage 'NCCL'.*: ncclAllReduce: unhandled system error"
check "a call that never ends ends the job" fails run "$fake" hang run
check "and the watchdog says what it waited for" has "in NCCL's collective, no progress for 10 s"

# A library that is older than what is needed, and a file that is none. (An absent one can't be had where NCCL is
# installed; the loader says no in the same place.)
mkdir "$work/old" "$work/none"
echo 'int ncclGetVersion(int *version); int ncclGetVersion(int *version) { *version = 2400; return 0; }' >"$work/old.c"
cc -shared -fPIC "$work/old.c" -o "$work/old/libnccl.so.2"
echo "no library, but a text that is long enough to be taken for the header of one" >"$work/none/libnccl.so.2"
check "an old library is refused" fails run "$work/old" "" create
check "and it says which version is needed" has "does not apply here: libnccl.so.2 has no nccl.*: NCCL 2.7 or later is needed"
check "without a library there is no executor" fails run "$work/none" "" create
check "and it says why" has "does not apply here: NCCL is not installed, or not where the loader looks (LD_LIBRARY_PATH): "

# Our declarations beside NCCL's own, where these are installed.
nvcc=$(command -v nvcc || true)
for folder in ${nvcc:+"$(dirname "$nvcc")/../include"} /usr/include /usr/local/cuda/include; do
    [ -e "$folder/nccl.h" ] && [ -e "$folder/cuda_runtime.h" ] || continue
    check "our declarations are those of $folder/nccl.h" cc -std=c11 -Wall -Werror -fsyntax-only -Iimpl -Iimpl/include -Iimpl/internal -Imodel/include \
        -isystem "$folder" tests/mpi/check_nccl_abi.c
    break
done

finish
