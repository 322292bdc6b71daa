#!/usr/bin/env bash
# portolan-calibrate with host memory in the place of GPUs: every benchmark, runs that are not waited for, shared GPUs.
# BUILD: where portolan-calibrate was built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/calibrate_runs.sh
needs mpirun
built "$calibrate"

# --- every GPU benchmark, on the host device

export PORTOLAN_EMULATED_GPUS=4
check "emulated GPUs are measured" run 4 --only copies,remote,reduce,signals,setup --bytes 8:1KiB --budget 30 \
    --repeats 2 --out "$work/gpus.csv"
unset PORTOLAN_EMULATED_GPUS
check "their file is readable" readable "$work/gpus.csv"
check "it tells that they are emulated" has "^# gpu=host memory emulating GPU memory$" "$work/gpus.csv"
for name in memcpy_h2d memcpy_d2h memcpy_d2d memcpy_pageable_h2d memcpy_pageable_d2h memcpy_shared_h2d \
    memcpy_shared_d2h memcpy_shared_d2d memcpy_shared_strided_h2d memcpy_shared_strided_d2h memcpy_shared_duplex \
    memcpy_peer memcpy_queued_h2d memcpy_queued_d2h memcpy_queued_d2d memcpy_h2h memcpy_method_default_h2d \
    memcpy_method_explicit_d2h memcpy_method_query_h2d memcpy_method_default_h2h memcpy_method_memcpy_h2h \
    remote_load_4 remote_load_8 remote_load_16 remote_store_4 remote_store_8 remote_store_16 remote_store_strided \
    remote_store_all reduce_many event_record event_query signal_event signal_device kernel_launch kernel_enqueue \
    kernel_queued graph_launch setup_open setup_allocate; do
    check "$name has rows" test "$(rows "$work/gpus.csv" "$name")" -gt 0
done
check "64 copies are queued" has "^memcpy_queued_d2d,-,on_socket,-,1,64,8,1," "$work/gpus.csv"
check "one process for each GPU: no mixed copies, with the reason" \
    has "^# skipped_memcpy_mixed=the job has one process for each GPU" "$work/gpus.csv"
check "reduce has rows of the GPU" has "^reduce,gpu,-,max-int64,1,1,1024,1," "$work/gpus.csv"
check "every GPU stores to all others" has "^remote_store_all,-,on_socket,-,4,1,1024,1," "$work/gpus.csv"
check "no GPU memory is left over" test "$(find /dev/shm -name "$PORTOLAN_SEGMENTS-*" | wc -l)" = 0
check "no GPUs are emulated unless some are asked for" \
    has "^# skipped_memcpy=PORTOLAN_EMULATED_GPUS is not a number" <(PORTOLAN_EMULATED_GPUS=0 run 1 --only memcpy)

# --- runs that are not waited for

for runs in graph enqueued; do
    check "runs that are $runs are measured" env PORTOLAN_EMULATED_GPUS=3 patiently 120 mpirun -n 3 --oversubscribe \
        --mca mpi_yield_when_idle 1 "$calibrate" --runs $runs --only remote,signals,copies --bytes 1:4KiB:16 --budget 30 --repeats 2 --force \
        --out "$work/runs.csv"
    check "their file is readable" readable "$work/runs.csv"
    check "it tells how they began" has "^# runs=$runs$" "$work/runs.csv"
    check "two and three GPUs, and each size, have whole runs" test "$(awk -F, '$1 == "run_lines" { print $5 "," $7 }' "$work/runs.csv" |
        sort -u | tr '\n' ' ')" = "2,1 2,16 2,256 2,4096 3,1 3,16 3,256 3,4096 "
    check "one, two and four launches follow another" test "$(awk -F, '$1 == "run_launch" { print $6 }' "$work/runs.csv" |
        sort -u | tr '\n' ' ')" = "2 3 5 "
    check "nothing else is measured" test "$(awk -F, '/^#/ { next } head++ { print $1 }' "$work/runs.csv" | sort -u | tr '\n' ' ')" = \
        "run_launch run_lines "
done
check "what is waited for is left out if asked for" has "^# skipped_memcpy_queued=its runs are waited for (--runs)$" <(
    PORTOLAN_EMULATED_GPUS=1 run 1 --runs graph --only memcpy_queued)
check "and whole runs where all is waited for" has "^# skipped_run_lines=its runs are not waited for (--runs)$" <(
    PORTOLAN_EMULATED_GPUS=2 run 2 --only run_lines)
check "processes with other runs are refused" fails env PORTOLAN_EMULATED_GPUS=2 patiently 120 mpirun --oversubscribe -n 1 "$calibrate" \
    --only run_lines --runs graph : -n 1 "$calibrate" --only run_lines --runs enqueued

# --- copies of processes that share a GPU

check "four processes share a GPU" env PORTOLAN_EMULATED_GPUS=1 patiently 120 mpirun -n 4 --oversubscribe \
    --mca mpi_yield_when_idle 1 "$calibrate" --only memcpy_mixed --bytes 4:64KiB:16 --budget 60 --repeats 2 \
    --out "$work/mixed.csv"
check "their file is readable" readable "$work/mixed.csv"
check "the factor leaves sizes out" \
    test "$(awk -F, '/^memcpy/ { print $7 }' "$work/mixed.csv" | sort -un | tr '\n' ' ')" = "4 64 1024 16384 "
for direction in h2d d2h; do
    for by_ipc in 0 1 2 3 4; do
        check "$direction, $by_ipc of 4 by IPC" has "^memcpy_mixed_$direction,-,on_gpu,ipc=$by_ipc,4,1,1024,2," \
            "$work/mixed.csv"
    done
    check "both parts of a mix have rows" \
        test "$(grep -c "^memcpy_mixed_${direction}_\(ipc\|staged\),-,on_gpu,ipc=1,4,1,1024,1," "$work/mixed.csv")" = 2
    check "where all copy by IPC none is staged" \
        test "$(grep -c "^memcpy_mixed_${direction}_staged,-,on_gpu,ipc=4,4" "$work/mixed.csv")" = 0
done
# What a part takes is within what all take, of each sample.
parts_are_within() { # FILE
    awk -F, '
        /^memcpy_mixed_[hd]2[hd],/ { all[$1 "," $4 "," $5 "," $7 "," $8] = $9 }
        /^memcpy_mixed_.*_(ipc|staged),/ {
            name = $1
            sub(/_(ipc|staged)$/, "", name)
            n++
            if ($9 > 1.000001 * all[name "," $4 "," $5 "," $7 "," $8]) bad = 1
        }
        END { exit !(n > 0 && !bad) }' "$1"
}
check "no part takes longer than all" parts_are_within "$work/mixed.csv"

finish
