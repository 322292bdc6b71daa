#!/usr/bin/env bash
# The strategy nccl as GPUs run it, with a library of NCCL's interface that works through MPI in NCCL's place
# (tests/mpi/fake_nccl.c), on the host device. Exits 77 where there is no mpirun.
# BUILD: where the programs were built (default build).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(readlink -f "${BUILD:-build}")
command -v mpirun >/dev/null || { echo "test_nccl: skipped: no mpirun"; exit 77; }
program=$build/tests/test_nccl
for file in "$program" "$build/tests/fake/libnccl.so.2"; do
    [ -e "$file" ] || { echo "test_nccl: $file is not built" >&2; exit 1; }
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then echo "ok   $what"; else
        echo "FAIL $what"
        head -20 "$work/stderr"
        failures=$((failures + 1))
    fi
}
run() { # FOLDER OF THE LIBRARY, HOW IT MISBEHAVES, WHAT
    timeout 120 env LD_LIBRARY_PATH="$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FAKE_NCCL="$2" \
        mpirun -n 4 --oversubscribe --mca mpi_yield_when_idle 1 "$program" "$3" >"$work/stdout" 2>"$work/stderr"
}
fails() { ! "$@"; }
has() { grep -q -- "$1" "$work/stderr"; }
fake=$build/tests/fake

check "all collectives, types, operations and placings are right" run "$fake" "" cases
check "with the library that was to be loaded" grep -q "right with NCCL 2.20.3" "$work/stdout"
check "processes that share a GPU are refused" fails run "$fake" usage create
check "as not applicable, with the reason" has "does not apply here: ncclCommInitRank: invalid usage; NCCL takes one process a GPU"
check "a failing call is an error" fails run "$fake" fail run
check "with rank, stage, call and cause" has "rank .* in stage 'place input'.*: ncclAllReduce: unhandled system error"
check "a call that never ends ends the job" fails run "$fake" hang run
check "and the watchdog says what it waited for" has "is in NCCL's own collective, and nothing came of it for 2 s"

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
    check "our declarations are those of $folder/nccl.h" cc -std=c11 -Wall -Werror -fsyntax-only -Iimpl -Imodel/include \
        -isystem "$folder" tests/mpi/check_nccl_abi.c
    break
done

[ "$failures" -eq 0 ] && echo "test_nccl: all right" || { echo "test_nccl: $failures failed"; exit 1; }
