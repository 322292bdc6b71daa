#!/usr/bin/env bash
# portolan-calibrate under mpirun on this machine: options, provenance, rows, skips, an interrupted run.
# BUILD: where portolan-calibrate was built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
calibrate=$build/portolan-calibrate
built "$calibrate"
export PORTOLAN_SEGMENTS=portolan-test$$

# Budgets are ample: what a run measures is bounded by its repeats, so that a busy machine leaves nothing out.
run() { # PROCESSES ARGUMENTS...
    local processes=$1
    shift
    timeout 120 mpirun -n "$processes" --oversubscribe --mca mpi_yield_when_idle 1 "$calibrate" "$@" \
        2>"$work/stderr"
}

# Every line below the provenance is a row of nine fields with a positive time.
readable() {
    [ "$(tail -c 1 "$1" | od -An -c | tr -d ' ')" = '\n' ] && awk -F, '
        /^#/ { if (rows) bad = 1; next }
        !head { head = 1; if ($0 != "benchmark,space,level,pair,procs,messages,bytes,run,seconds") bad = 1; next }
        { rows++; if (NF != 9 || !($9 > 0) || $7 < 0 || $8 < 1) bad = 1 }
        END { exit !(rows > 0 && !bad) }' "$1"
}

# rows FILE BENCHMARK: how many
rows() { awk -F, -v name="$2" '$1 == name { n++ } END { print n + 0 }' "$1"; }

# --- command line

for name in ping_pong ping_pong_strided exchange staged memcpy memcpy_shared memcpy_peer memcpy_mixed memcpy_queued memcpy_h2h memcpy_method remote remote_all injection multi_message reduce reduce_many \
    signal_flag signal_device kernel_launch kernel_queued graph_launch run_launch run_lines event nccl; do
    check "--list names $name" has "^$name " <("$calibrate" --list)
done
check "--help exits 0" exits 0 quietly "$calibrate" --help
for asked in --help --list --version; do
    check "$asked exits 1 where it cannot be written" exits 1 sh -c '"$1" "$2" >/dev/full 2>/dev/null' sh "$calibrate" $asked
done
for wrong in "--no-such" "--only nothing" "--bytes 5" "--bytes 9:3" "--bytes 0:1" "--bytes 1:8:3" "--bytes 1:8:2:2" "--budget -1" "--repeats 0" \
    "--out" "--only=" "--runs later"; do
    # shellcheck disable=SC2086
    check "'$wrong' is wrong usage" exits 2 quietly "$calibrate" $wrong
    check "'$wrong' is explained" has "^portolan-calibrate: " "$work/stderr"
done

# --- a short run

check "a run on two processes ends well" run 2 --bytes 1:64KiB --budget 30 --repeats 20 --out "$work/two.csv"
check "its file is readable" readable "$work/two.csv"
for key in date machine node cpu gpu driver cuda mps runs hosts layout binding mpi cuda_aware nccl clock portolan command; do
    check "provenance tells $key" has "^# $key=." "$work/two.csv"
done
check "it tells the hosts" has "^# hosts=1$" "$work/two.csv"
check "it tells the layout" has "^# layout=2 processes, 2 a node$" "$work/two.csv"
check "one node: no off-node messages, with the reason" \
    has "^# skipped_ping_pong_cpu_off_node=the job has one node" "$work/two.csv"
check "one node: no injection" has "^# skipped_injection_cpu=the job has one node" "$work/two.csv"
# sizes FILE BENCHMARK: all of them
sizes() { awk -F, -v name="$2" '$1 == name { print $7 }' "$1" | sort -un | tr '\n' ' '; }
check "every second power of two is measured, and some others" \
    has '^1 .*4 .*16 .*64 .*256 .*1024 .*4096 .*16384 .*65536 $' <(sizes "$work/two.csv" ping_pong)
check "the file tells that these are not all" has "^# sizes=every second power of two, more at limits and bends$" "$work/two.csv"
check "all sizes are measured on demand" run 2 --exhaustive --only ping_pong --bytes 1:64KiB --budget 30 --repeats 6 --out "$work/all.csv"
check "17 of ping_pong" test "$(sizes "$work/all.csv" ping_pong)" = "$(for k in $(seq 0 16); do printf '%d ' $((1 << k)); done)"
check "the file tells it" has "^# sizes=all$" "$work/all.csv"
check "at most 20 samples of a point" \
    test "$(awk -F, '/^ping_pong/ { if ($8 > most) most = $8 } END { print most }' "$work/two.csv")" -le 20
for benchmark in ping_pong ping_pong_strided exchange multi_message multi_message_one multi_message_one_reversed reduce signal_flag setup_segment; do
    check "$benchmark has rows" test "$(rows "$work/two.csv" "$benchmark")" -gt 0
done
check "no segment is left over" test "$(find /dev/shm -name "$PORTOLAN_SEGMENTS-*" | wc -l)" = 0
check "a reduction's rows name operation and type" has "^reduce,cpu,-,sum-double,1,1,64,1," "$work/two.csv"
check "what is left out is told" has "^# complete=" "$work/two.csv"

check "an existing file is kept" exits 1 run 1 --only signals --out "$work/two.csv"
check "and still readable" readable "$work/two.csv"
check "--force replaces it" run 2 --only signal_flag --force --out "$work/two.csv"
check "--only runs nothing else" test "$(rows "$work/two.csv" ping_pong)" = 0
check "that was complete" has "^# complete=yes" "$work/two.csv"
check "standard output takes the rows" has "^signal_flag,cpu,on_socket,0-1,1,1,0,1," <(run 2 --only signals)
check "one process: ping_pong is skipped with its reason" \
    has "^# skipped_ping_pong_cpu=the job has one process" <(run 1 --only ping_pong)
check "more processes than cores stay sane" \
    run 5 --only ping_pong,multi_message --bytes 8:4KiB --budget 30 --repeats 10 --out "$work/five.csv"
check "their file is readable" readable "$work/five.csv"
check "four partners get a message each" has "^multi_message,cpu,on_socket,-,1,4," "$work/five.csv"
check "--estimate tells how long it will take" run 2 --estimate --only ping_pong --bytes 1:64KiB
check "for each benchmark and all together" test "$(run 2 --estimate --only ping_pong --bytes 1:64KiB | awk '
    NR == 1 { print $1, $2, $3, $4; next } $1 == "all" { print $1, ($2 > 0 && $2 < 180); next } { print $1, $2, $3, ($4 > 0) }' | tr '\n' ' ')" = \
    "benchmark cases sizes seconds ping_pong 1 17 1 ping_pong_strided 2 26 1 all 1 "
check "processes of which one only estimates are refused" fails timeout 120 mpirun --oversubscribe -n 1 "$calibrate" --only ping_pong \
    --estimate : -n 1 "$calibrate" --only ping_pong
check "--progress draws a bar" has "ping_pong  *\[.*points, at most" <(
    run 2 --only ping_pong --bytes 1:2 --progress >/dev/null
    tr '\r' '\n' <"$work/stderr"
)
if ! command -v nvidia-smi >/dev/null; then
    check "no GPU: copies are skipped with a reason" has "^# skipped_memcpy=." <(run 1 --only copies)
    check "no GPU: a run of kernels alone ends well" run 2 --only remote,reduce_many,signal_device,kernel_queued,graph_launch \
        --out "$work/kernels.csv"
    for name in remote remote_store_all reduce_many signal_device kernel_queued graph_launch; do
        check "no GPU: $name is skipped with a reason" has "^# skipped_$name=." "$work/kernels.csv"
    done
    check "no GPU: NCCL is skipped with a reason" has "^# skipped_nccl=." <(run 2 --only nccl)
fi

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
    check "runs that are $runs are measured" env PORTOLAN_EMULATED_GPUS=3 timeout 120 mpirun -n 3 --oversubscribe \
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
check "processes with other runs are refused" fails env PORTOLAN_EMULATED_GPUS=2 timeout 120 mpirun --oversubscribe -n 1 "$calibrate" \
    --only run_lines --runs graph : -n 1 "$calibrate" --only run_lines --runs enqueued

# --- copies of processes that share a GPU

check "four processes share a GPU" env PORTOLAN_EMULATED_GPUS=1 timeout 120 mpirun -n 4 --oversubscribe \
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

# --- two sockets, as hwloc is told

if [ "$(nproc)" -ge 2 ]; then
    timeout 60 mpirun -n 4 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        env HWLOC_SYNTHETIC="package:2 core:1 pu:1" HWLOC_THISSYSTEM=1 "$calibrate" \
        --only ping_pong,signals --bytes 8:16 --budget 30 --repeats 6 --out "$work/sockets.csv" 2>"$work/stderr"
    check "unbound processes are bound to sockets" has "^# binding=to sockets" "$work/sockets.csv"
    check "neighbours share one" has "^ping_pong,cpu,on_socket,0-1,1,1,8,1," "$work/sockets.csv"
    check "others are on the node" has "^ping_pong,cpu,on_node,0-2,1,1,8,1," "$work/sockets.csv"
    timeout 60 mpirun -n 4 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        env HWLOC_SYNTHETIC="package:2 core:1 pu:1" HWLOC_THISSYSTEM=1 "$calibrate" \
        --only memcpy_h2h --bytes 8:16 --budget 30 --repeats 2 --out "$work/h2h.csv" 2>"$work/stderr"
    check "copies within a socket's memory" has "^memcpy_h2h,cpu,on_socket,-,2,1,16,2," "$work/h2h.csv"
    check "copies from the other socket's memory" has "^memcpy_h2h,cpu,off_socket,-,2,1,16,2," "$work/h2h.csv"
    check "flags too" has "^signal_flag,cpu,on_node,0-2,1,1,0,1," "$work/sockets.csv"
fi

# --- interrupted

# The signal is for the process that writes: a launcher that gets it kills the processes a second later.
# shellcheck disable=SC2016
timeout 600 mpirun -n 2 --oversubscribe --mca mpi_yield_when_idle 1 \
    bash -c '[ "$OMPI_COMM_WORLD_RANK" != 0 ] || echo $$ >"$0"; exec "$@"' "$work/writer" \
    "$calibrate" --exhaustive --budget 100 --out "$work/cut.csv" 2>/dev/null &
launcher=$!
# However slow the machine: the signal must find it measuring, with rows in the file.
until [ "$(rows "$work/cut.csv" ping_pong 2>/dev/null || echo 0)" -gt 100 ] || ! kill -0 "$launcher" 2>/dev/null; do
    sleep 0.1
done
kill -TERM "$(cat "$work/writer")"
wait "$launcher" || true
check "an interrupted run leaves a readable file" readable "$work/cut.csv"
check "which says so" has "^# complete=no" "$work/cut.csv"

finish
