#!/usr/bin/env bash
# Which benchmarks portolan-calibrate's options select, how long they will take, and what is left out.
# BUILD: where portolan-calibrate was built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/calibrate_runs.sh
needs mpirun
built "$calibrate"

# estimates PROCESSES ARGUMENTS...: the benchmarks that --estimate names
estimates() { run "$@" --estimate --bytes 1:2 --repeats 1 --budget 20 | awk 'NR > 1 { print $1 }' | tr '\n' ' '; }
check "a name selects a benchmark" test "$(estimates 2 --only ping_pong_strided)" = "ping_pong_strided all "
check "and none whose name is longer" test "$(estimates 2 --only exchange,signal_flag)" = "exchange signal_flag all "
check "a group selects all of its benchmarks" test "$(estimates 2 --only setup,ping_pong)" = "ping_pong ping_pong_strided setup all "
run 2 --estimate --only ping_pong --bytes 1:64KiB >"$work/estimate" || true
check "--estimate tells how long each benchmark will take, and all together" test "$(awk '
    NR == 1 { print $1, $2, $3, $4; next } $1 == "all" { print $1, ($2 > 0 && $2 < 180); next } { print $1, $2, $3, ($4 > 0) }' "$work/estimate" |
    tr '\n' ' ')" = "benchmark cases sizes seconds ping_pong 1 17 1 ping_pong_strided 2 26 1 all 1 "
check "which is the sum" awk '
    NR > 1 && $1 != "all" { sum += $4 } $1 == "all" { sum -= $2 } END { exit !(sum < 0.02 && sum > -0.02) }' "$work/estimate"
GPUS=(env PORTOLAN_EMULATED_GPUS=1)
check "benchmarks of GPUs need one" run 1 --only event,reduce_many --bytes 8:8 --out "$work/none.csv"
if ! command -v nvidia-smi >/dev/null; then
    check "and are skipped without" test "$(rows "$work/none.csv" event_record)$(grep -c "^# skipped_[er]" "$work/none.csv")" = 02
fi
check "and measured with" "${GPUS[@]}" patiently 60 mpirun -n 1 "$calibrate" --only event --budget 20 --repeats 2 --out "$work/event.csv"
check "which is no reason to skip" test "$(rows "$work/event.csv" event_record)$(grep -c "^# skipped_" "$work/event.csv")" = 20
check "of runs that are not waited for, none is of these" \
    "${GPUS[@]}" patiently 60 mpirun -n 1 "$calibrate" --only event --runs graph --out "$work/graph.csv"
check "which is told where they were asked for" has "^# skipped_event=its runs are waited for (--runs)$" "$work/graph.csv"
check "and where only whole runs were" "${GPUS[@]}" patiently 60 mpirun -n 1 "$calibrate" --only run_launch --out "$work/waited.csv"
check "the reverse" has "^# skipped_run_launch=its runs are not waited for (--runs)$" "$work/waited.csv"
check "what the budget has no room for is left out" run 2 --only exchange --bytes 1:1GiB --budget 0.2 --out "$work/short.csv"
left_out=$(sed -n 's/^portolan-calibrate: \([0-9]*\) points had no room in the budget; --budget gives more$/\1/p' "$work/stderr")
check "as many sizes as are told once" test "${left_out:-0}" -gt 0
check "and in the file" has "^# complete=no, $left_out points over budget *$" "$work/short.csv"
check "where there is room, nothing is told" run 2 --only signal_flag --out "$work/whole.csv"
check "of it" lacks "no room"
check "and the file is complete" has "^# complete=yes" "$work/whole.csv"
check "an existing file is kept" exits 1 run 2 --only signal_flag --out "$work/whole.csv"
check "which is told once" test "$(grep -c "whole.csv.*exists" "$work/stderr")" = 1

finish
