#!/usr/bin/env bash
# A late process, a slow node and a slow link, made on purpose on 4 namespace nodes, are found from the calls that the
# profiler records, and nothing else is named; nothing is named of a healthy run. Messages take 10 ms and delays are
# tens of ms, so that what a busy machine adds (ms) does not count.
# BUILD: where the programs were built (default build). Exits 77 where namespaces or mpirun can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
cluster=tests/cluster/cluster
needs mpirun
$cluster check || exit 77
portolan=$build/portolan program=$build/tests/test_steps profiler=$build/libportolan-profile.so
sleeper=$build/tests/sleeper.so
built "$portolan" "$program" "$profiler" "$sleeper"
export PORTOLAN_CLUSTER="delays$$"
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM
rate=100mbit slow=30mbit

job() { # [LATE_RANK LATE_MS]
    rm -f "$work"/*.csv
    quietly patiently 200 $cluster run -n 4 --ppn 1 --bind-to none --oversubscribe --mca btl tcp,self \
        -x LD_PRELOAD="$sleeper:$profiler" -x PORTOLAN_PROFILE="$work/" -- "$program" 30 20 131072 "$@"
}
compared() {
    quietly "$portolan" replay "$work/calls.csv" --machine cpu-2x64-200g --gpus-per-node 1 --format json || return
    sed -n '/"delays"/,/"totals"/p' "$work/stdout" | grep '"cause"' | sed 's/, "calls".*//' >"$work/named" || true
    cat "$work/named" >>"$work/stdout"
}
names_nothing() { compared && grep -q '"compared": [1-9]' "$work/stdout" && test ! -s "$work/named"; }
names() { # CAUSE PLACES PLACE...
    compared && printf '  {"cause": "%s", "places": "%s", "place": [%s]\n' "$@" | cmp -s - "$work/named"
}
# All that a node sends, and of it what goes to each PEER at the slow rate.
limit() { # NODE PEER...
    local ns=$PORTOLAN_CLUSTER-node$1 peer
    tc -n "$ns" qdisc replace dev eth0 root handle 1: htb default 1
    tc -n "$ns" class replace dev eth0 parent 1: classid 1:1 htb rate $rate burst 6000 cburst 6000 quantum 3000
    tc -n "$ns" class replace dev eth0 parent 1: classid 1:2 htb rate $slow burst 6000 cburst 6000 quantum 3000
    for peer in "${@:2}"; do
        tc -n "$ns" filter add dev eth0 parent 1: protocol ip u32 match ip dst "10.77.0.$((peer + 1))/32" flowid 1:2
    done
}
unlimit() { # NODE
    tc -n "$PORTOLAN_CLUSTER-node$1" qdisc del dev eth0 root
    limit "$1"
}

$cluster up 4 --rate $rate
check "a job of four nodes runs" job
check "of which nothing is named" names_nothing
check "one with a late process" job 2 40
check "which is named, and nothing else" names late processes 2
limit 1 3
limit 3 1
check "one with a slow link" job
check "which is named, and nothing else" names "slow link" nodes "1, 3"
unlimit 1
unlimit 3
limit 2 0 1 3
check "one with a node that sends slowly" job
check "which is named, and nothing else" names slow nodes 2
check "one with a late process on another node" job 1 40
check "both are named" compared
check "the late one" has '"late", "places": "processes", "place": \[1\]' "$work/named"
check "and the slow one" has '"slow", "places": "nodes", "place": \[2\]' "$work/named"
finish
