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
# Within the watchdog's limit of 60 s for making an executor.
fails_within() { # SECONDS COMMAND...
    local limit=$1 began=$SECONDS
    shift
    ! "$@" && [ $((SECONDS - began)) -le "$limit" ]
}

check "all collectives, types, operations and placings are right" run "$fake" "" cases
check "with the library that was to be loaded" grep -q "right with NCCL 2.20.3" "$work/stdout"
check "processes that share a GPU are refused" fails run "$fake" usage create
check "as not applicable, with the reason" has "does not apply here: ncclCommInitRank: invalid usage; NCCL takes one process a GPU"
check "a failing call is an error" fails run "$fake" fail run
check "with rank, stage, call and cause" has "rank .* in stage 'NCCL'.*: ncclAllReduce: unhandled system error"
check "a call that never ends ends the job" fails run "$fake" hang run
check "and the watchdog says what it waited for" has "in NCCL's collective, no progress for 10 s"

# Buffers that are NCCL's symmetric windows.
check "all collectives are right on symmetric windows" run "$fake" windows windows
check "of this library" grep -q "right on windows of NCCL 2.20.3" "$work/stdout"
check "and with MPI in NCCL's place" run "$fake" "" windows host
check "an allreduce outside of windows is told from one inside" fails run "$fake" windows run
check "as an error" has "ncclAllReduce: invalid argument"
check "where NCCL makes no window, there is none" fails run "$fake" nowindow window
check "and it says so" has "does not apply here: NCCL 2.20.3 makes no symmetric window of this memory on this machine"
for what in group:CommInitRank window:CommWindowRegister; do
    check "a ${what%:*} that one process cannot make is an error of all" fails_within 40 run "$fake" "one${what%:*}" window
    check "with its reason" test "$(grep -c "MPI rank 1: nccl${what#*:}: unhandled system error" "$work/stderr")" = 4
done
check "memory of another kind is no window" fails run "$fake" "" foreign
check "and NCCL says so" has "ncclCommWindowRegister: invalid argument"
mkdir "$work/before"
mpicc -DWITHOUT_WINDOWS -shared -fPIC tests/mpi/fake_nccl.c -lm -o "$work/before/libnccl.so.2"
check "an earlier library does all else" run "$work/before" "" run
check "but has no windows" fails run "$work/before" "" window
check "and it says which version is needed" \
    has "libnccl.so.2 (2.20.3) has no ncclMemAlloc: symmetric windows need NCCL 2.27 or later"
check "what can be no window is refused" run "$fake" "" refused
check "an input that is copied aside" has "each run copies a buffer aside, which can be no symmetric window"
check "blocks that differ" has "no buffer is on all members and of one size"
check "buffers that change" has "the buffers are NCCL's symmetric windows, which stay"
check "plans without NCCL" has "symmetric windows are for plans of NCCL's alone, and three_step is none"

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

# --- from calibrate's rows to a price, with host memory in the GPUs' place

calibrate() { # GPUS PROCESSES FILE
    local -x LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PORTOLAN_EMULATED_GPUS=$1
    launch 120 -n "$2" "$build/portolan-calibrate" --only nccl,ping_pong --bytes 1:16KiB --budget 60 --repeats 6 \
        --force --out "$3"
}
# Powers of two; what looks like a limit on a busy machine is bisected.
rows() { # FILE BENCHMARK PROCS MESSAGES
    awk -F, -v name="$2" -v procs="$3" -v nodes="$4" '
        function is_power(n) { while (n > 1 && n % 2 == 0) n /= 2; return n == 1 }
        $1 == name && $5 == procs && $6 == nodes && is_power($7) { sizes[$7] = 1 }
        END { for (size in sizes) n++; print n + 0 }' "$1"
}
check "calibrate measures NCCL's collectives" calibrate 4 4 "$work/four.csv"
for name in nccl_allreduce:13 nccl_reduce:13 nccl_broadcast:15 nccl_alltoall:15 nccl_allgather:15 nccl_allgatherv:15; do
    for gpus in 2 3 4; do
        check "${name%:*} of $gpus GPUs has a row for each size" \
            test "$(rows "$work/four.csv" "${name%:*}" $gpus 1)" = "${name#*:}"
    done
done
check "the file tells which NCCL it was" grep -q '^# nccl=2.20.3$' "$work/four.csv"
check "of several processes of a GPU one takes part" calibrate 2 4 "$work/two.csv"
check "so that there are two GPUs" test "$(rows "$work/two.csv" nccl_allreduce 2 1)" = 13
check "and no more" test "$(rows "$work/two.csv" nccl_allreduce 3 1)$(rows "$work/two.csv" nccl_allreduce 4 1)" = 00
check "one GPU is skipped with the reason" calibrate 1 2 "$work/one.csv"
check "in the file" grep -q "^# skipped_nccl=NCCL needs two GPUs or more" "$work/one.csv"
# A busy machine's times may allow no line, so they are replaced: what is tested is that the rows are understood.
awk -F, -v OFS=, '/^[a-z_]*,[a-z-]*,/ && !/^benchmark/ { $9 = 5e-6 * $5 + 1e-10 * $7 } { print }' "$work/four.csv" >"$work/times.csv"
check "fit makes a machine file of the rows" "$build/portolan" fit "$work/times.csv" --name fake \
    --node gpus=4,cores=16 --partial --force --out "$work/fake.yaml"
predict() {
    "$build/portolan" predict --machine "$work/fake.yaml" --collective "$1" --nodes 1 --gpus-per-node "$2" \
        --procs-per-gpu 1 --bytes 64:4KiB:8 --strategy nccl --format csv >"$work/predicted.csv" 2>"$work/stderr"
}
for collective in allreduce reduce broadcast allgather allgatherv alltoall alltoallv; do
    check "and $collective has its price" predict "$collective" 3
    check "by nccl" awk -F, '$4 == "nccl" && $5 == "nccl" { rows++; wanted = 15e-6 + 1e-10 * $1
        if ($6 < 0.99 * wanted || $6 > 1.01 * wanted) bad = 1 } END { exit !(rows == 3 && !bad) }' "$work/predicted.csv"
done

# --- portolan-validate and portolan score, on the host device

validate() { # MACHINE, ARGUMENTS...
    local machine=$1
    shift
    launch 120 -n 4 "$build/portolan-validate" --machine "$machine" --placement identity --nodes 1 \
        --gpus-per-node 4 --procs-per-gpu 1 --bytes 64:4KiB:8 "$@"
}
for collective in allreduce reduce broadcast allgather allgatherv alltoall alltoallv; do
    check "validate $collective" validate "$work/fake.yaml" --collective "$collective" --strategy nccl --check-only
    check "finds it right" test "$(grep -c '^[0-9]* *nccl *nccl *right$' "$work/stdout")" = 3
done
check "validate times it" validate "$work/fake.yaml" --collective allreduce --strategy nccl --repeats 3 --out "$work/collectives.csv"
check "its file has a row for each run" test "$(grep -c '^allreduce,library,nccl,1,4,1,' "$work/collectives.csv")" = 9
check "and tells that this was no NCCL" grep -q '^# nccl=none (MPI collectives instead)$' "$work/collectives.csv"
check "validate runs it on symmetric windows too" validate h200-x4 \
    --collective allreduce --strategy nccl,gas_read --repeats 3 --nccl-windows --out "$work/windows.csv"
check "which the table names, without a prediction" \
    test "$(grep -c '^[0-9]* *nccl_windows *nccl  .*\] *- *- ' "$work/stdout")" = 3
check "which are no picks" test "$(grep -c '^ *picked [a-z_]*, won [a-z_]*, ' "$work/stdout")$(grep -c 'won nccl_windows' "$work/stdout")" = 30
check "and the file" test "$(grep -c '^allreduce,library,nccl_windows,1,4,1,' "$work/windows.csv")" = 9
check "beside NCCL without" test "$(grep -c '^allreduce,library,nccl,1,4,1,' "$work/windows.csv")" = 9
score_windows() { "$build/portolan" score --machine h200-x4 --min-bytes 1 "$work/windows.csv" >"$work/stdout"; }
check "score leaves them out" score_windows
check "with the reason" grep -q "nccl_windows: no strategy of that name is known" "$work/stdout"
check "a machine without its cost leaves it out" validate summit-spectrum --collective alltoall --check-only \
    --strategy nccl,cuda_aware
check "with what to measure" grep -q 'nccl *does not apply: .*nccl.alltoall for 4 GPUs on 1 node.*portolan-calibrate' "$work/stdout"
check "and the others stay" test "$(grep -c 'cuda_aware .* right$' "$work/stdout")" = 3

# Our declarations beside NCCL's own, where these are installed.
nvcc=$(command -v nvcc || true)
for folder in ${nvcc:+"$(dirname "$nvcc")/../include"} /usr/include /usr/local/cuda/include; do
    [ -e "$folder/nccl.h" ] && [ -e "$folder/cuda_runtime.h" ] || continue
    check "our declarations are those of $folder/nccl.h" cc -std=c11 -Wall -Werror -fsyntax-only -Iimpl -Iimpl/include -Imodel/include \
        -isystem "$folder" tests/mpi/check_nccl_abi.c
    break
done

finish
