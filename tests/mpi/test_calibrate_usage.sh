#!/usr/bin/env bash
# portolan-calibrate's options: what they print and refuse, and what processes must agree on.
# BUILD: where portolan-calibrate was built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/calibrate_runs.sh
needs mpirun
built "$calibrate"

# --- command line

check "--list is printed" quietly "$calibrate" --list
for name in ping_pong ping_pong_to ping_pong_strided exchange staged memcpy memcpy_shared memcpy_peer memcpy_mixed memcpy_queued memcpy_strided memcpy_h2h \
    memcpy_method remote remote_all injection multi_message reduce reduce_many signal_flag signal_device kernel_launch kernel_queued \
    graph_launch run_launch run_lines event setup nccl library; do
    check "--list names $name" has "^$name " "$work/stdout"
done
check "and what each writes" awk '(NR % 2 == 0) != /^ +writes [a-z_]+/ { bad = 1 } END { exit bad || NR != 2 * 30 }' "$work/stdout"
check "--help is printed" quietly "$calibrate" --help
check "and shows how it is used" has "^usage: mpirun .* portolan-calibrate" "$work/stdout"
check "--version is printed" quietly "$calibrate" --version
check "and tells what it was built with" has "^portolan-calibrate [0-9.]*[^ ]*, with" "$work/stdout"
for asked in --help --list --version; do
    check "$asked exits 1 where it cannot be written" exits 1 sh -c '"$1" "$2" >/dev/full 2>/dev/null' sh "$calibrate" $asked
done
for wrong in "--no-such" "--only nothing" "--bytes 5" "--bytes 9:3" "--bytes 0:1" "--bytes 1:8:3" "--bytes 1:8:2:2" "--budget -1" "--repeats 0" \
    "--out" "--only=" "--runs later" "--only memcp" "--only memcpyx" "--only copies,nothing" "--only nothing,copies" "--only copies," "more" \
    "--only copies more" "--from tests/fixtures/node.xml"; do
    # shellcheck disable=SC2086
    check "'$wrong' is wrong usage" exits 2 quietly "$calibrate" $wrong
    check "'$wrong' is explained" has "^portolan-calibrate: " "$work/stderr"
done

# --- what processes must agree on

# differ OPTION OTHER: processes with these options are refused, and that names the option
# shellcheck disable=SC2086 # several words
differ() {
    ! patiently 60 mpirun --oversubscribe -n 1 "$calibrate" --only signal_flag --bytes 1:8 --repeats 2 --force --out "$work/differ.csv" $1 : \
        -n 1 "$calibrate" --only signal_flag --bytes 1:8 --repeats 2 --force --out "$work/differ.csv" $2 2>"$work/stderr" >/dev/null &&
        has "different arguments: MPI rank 1 has ${1%% *} "
}
check "other benchmarks are refused" differ "--only signal_flag" "--only exchange"
check "other sizes" differ "--bytes 1:8" "--bytes 2:8"
check "other largest sizes" differ "--bytes 1:8" "--bytes 1:4"
check "other factors" differ "--bytes 1:8:2" "--bytes 1:8:4"
check "another budget" differ "--budget 8" "--budget 8.5"
check "other numbers of samples" differ "--repeats 2" "--repeats 3"
check "all sizes of one process" differ "--exhaustive" ""
check "an estimate of one process" differ "--estimate" ""
check "other runs" differ "--runs graph" "--runs enqueued"

finish
