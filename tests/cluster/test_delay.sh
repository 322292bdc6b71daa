#!/usr/bin/env bash
# Nodes behind links with a latency (`cluster up --delay`), and times that begin at one moment on all of them: a broadcast
# takes as many latencies as its tree is deep, and the bytes of a long one at the links' rate. Processes leave a barrier
# at different times, up to a latency for each of its rounds; a broadcast timed from there takes less than one.
# BUILD: where the programs were built (default build). Exits 77 where namespaces, TAP devices or mpirun can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/cluster/quiet.sh
cluster=tests/cluster/cluster
needs mpirun
[ -c /dev/net/tun ] || { echo "$test_name: skipped: no /dev/net/tun"; exit 77; }
$cluster check || exit 77
sleeper=$build/tests/sleeper.so
built "$build/portolan-validate" "$build/tests/relay" "$sleeper"
export PORTOLAN_CLUSTER="delay$$"
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM

times=$work/times.csv
broadcast() { # NODES BYTES
    quietly patiently 100 $cluster run -n "$1" --ppn 1 --bind-to none --oversubscribe -x LD_PRELOAD="$sleeper" \
        --mca btl tcp,self --mca btl_tcp_flags 1 --mca btl_tcp_eager_limit 1048576 -- "$build/portolan-validate" \
        --machine cpu-2x64-200g --nodes "$1" --procs-per-node 1 --collective broadcast --bytes "$2" \
        --strategy own_algorithm --each-algorithm --repeats 9 --force --out "$times"
}
# The median of the binomial tree's times, in tenths of a millisecond.
median() { awk -F, '/^broadcast/ && $10 == "binomial" { print int($9 * 10000) }' "$times" | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'; }
takes() { # -ge|-le LIMIT, tenths of a millisecond
    local median
    median=$(median)
    echo "$median tenths of a millisecond, not $1 $2" >"$work/stdout"
    test "$median" "$1" "$2"
}

BUILD=$build $cluster up 4 --delay 0.005 --rate 50mbit
check "a broadcast among 4 nodes runs" watched broadcast 4 64
check "and takes two latencies of 5 ms" takes -ge 98
check_if_quiet "and little more" takes -le 150
check "one of 256 KiB between 2 nodes runs" watched broadcast 2 262144
check "and takes a latency, and its bytes at 50 Mbit/s" takes -ge 480
check_if_quiet "and little more" takes -le 600
finish
