#!/usr/bin/env bash
# portolan-calibrate under mpirun on this machine: provenance, rows, skips, an interrupted run.
# BUILD: where portolan-calibrate was built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/calibrate_runs.sh
needs mpirun
built "$calibrate"

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

# --- two sockets, as hwloc is told

if [ "$(nproc)" -ge 2 ]; then
    patiently 60 mpirun -n 4 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        env HWLOC_SYNTHETIC="package:2 core:1 pu:1" HWLOC_THISSYSTEM=1 "$calibrate" \
        --only ping_pong,signals --bytes 8:16 --budget 30 --repeats 6 --out "$work/sockets.csv" 2>"$work/stderr"
    check "unbound processes are bound to sockets" has "^# binding=to sockets" "$work/sockets.csv"
    check "neighbours share one" has "^ping_pong,cpu,on_socket,0-1,1,1,8,1," "$work/sockets.csv"
    check "others are on the node" has "^ping_pong,cpu,on_node,0-2,1,1,8,1," "$work/sockets.csv"
    patiently 60 mpirun -n 4 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        env HWLOC_SYNTHETIC="package:2 core:1 pu:1" HWLOC_THISSYSTEM=1 "$calibrate" \
        --only memcpy_h2h --bytes 8:16 --budget 30 --repeats 2 --out "$work/h2h.csv" 2>"$work/stderr"
    check "copies within a socket's memory" has "^memcpy_h2h,cpu,on_socket,-,2,1,16,2," "$work/h2h.csv"
    check "copies from the other socket's memory" has "^memcpy_h2h,cpu,off_socket,-,2,1,16,2," "$work/h2h.csv"
    check "flags too" has "^signal_flag,cpu,on_node,0-2,1,1,0,1," "$work/sockets.csv"
fi

# --- interrupted

# The signal is for the process that writes: a launcher that gets it kills the processes a second later.
# shellcheck disable=SC2016
patiently 600 mpirun -n 2 --oversubscribe --mca mpi_yield_when_idle 1 \
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
