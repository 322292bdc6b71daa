#!/usr/bin/env bash
# What portolan-calibrate, portolan-validate and `portolan score` do with NCCL, on the host device and with a library that works
# through MPI in NCCL's place (tests/mpi/fake_nccl.c). Exits 77 where there is no mpirun.
# BUILD: where the programs were built (default build).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
fake=$build/tests/fake
built "$fake/libnccl.so.2" "$build"/portolan{,-calibrate,-validate}

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
    --node gpus=4,cores=16 --force --out "$work/fake.yaml"
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
check "and tells that this was no NCCL" grep -q '^# nccl=none (emulated on the host)$' "$work/collectives.csv"
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

finish
