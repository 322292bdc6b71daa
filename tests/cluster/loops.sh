#!/usr/bin/env bash
# What a loop of exchanges without a barrier hides: iterations of a pause, an exchange and a pause (tests/mpi/
# test_loops.c) on namespace nodes whose processes share nothing but their nodes' links, with and without a barrier
# before each iteration. Two layouts, three patterns, short and long pauses; in each layout a node needs OFF_NODE_BYTES
# of its link.
#
# Usage: OUT=FOLDER loops.sh
# Environment: BUILD (default build); RATE, Mbit/s of each node's link in each direction (default 20); OFF_NODE_BYTES
# (default 262144: 107 ms); COPIES, seconds of a pause (default "0 0.01 0.04"); RUNS (default 5).
# Leaves OUT/runs.csv. Exits 77 where namespaces can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
cluster=tests/cluster/cluster
$cluster check || exit 77
: "${OUT:?is the folder for the results}" "${RATE:=20}" "${OFF_NODE_BYTES:=262144}" "${COPIES:=0 0.01 0.04}" "${RUNS:=5}"
program=$build/tests/test_loops
built "$program" "$build/tests/sleeper.so"
mkdir -p "$OUT"
export PORTOLAN_CLUSTER=${PORTOLAN_CLUSTER:-loops$$}
export CUDA_VISIBLE_DEVICES=
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM

# As in tree.sh: no rendezvous, whose answers would wait in long queues.
eager=$((64 << 20))
on_cluster() { # PROCESSES PER-NODE [OPTION...] -- PROGRAM...
    local processes=$1 per_node=$2
    shift 2
    timeout "${LIMIT:-400}" $cluster run -n "$processes" --ppn "$per_node" --bind-to none --oversubscribe \
        -x LD_PRELOAD="$build/tests/sleeper.so" --mca btl tcp,self,vader --mca btl_tcp_eager_limit $eager \
        --mca btl_tcp_rndv_eager_limit $eager --mca btl_tcp_max_send_size $eager "$@"
}

# A process sends to all others, or to one on each other node.
message_bytes() { # NODES PER-NODE PATTERN
    local messages=$(($2 * $2 * ($1 - 1)))
    [ "$3" != apart ] || messages=$(($2 * ($1 - 1)))
    echo $((OFF_NODE_BYTES / messages))
}

measure() { # NODES PER-NODE
    local nodes=$1 per_node=$2 pattern copy bytes
    $cluster up "$nodes" --rate "${RATE}mbit" >&2
    for pattern in linear pairwise apart; do
        for copy in $COPIES; do
            bytes=$(message_bytes "$nodes" "$per_node" $pattern)
            on_cluster $((nodes * per_node)) "$per_node" -- "$program" $pattern "$bytes" "$copy" "$RUNS" |
                sed "s/^/$nodes,$per_node,/"
        done
    done
    $cluster down >&2
}

{
    echo "# date=$(date -u +%Y-%m-%d) cores=$(nproc) load=$(cut -d' ' -f1 /proc/loadavg) mpi=$(mpirun --version | head -n 1)"
    echo "# OUT=... RATE=$RATE OFF_NODE_BYTES=$OFF_NODE_BYTES RUNS=$RUNS tests/cluster/loops.sh"
    echo "nodes,per_node,pattern,copy_s,barrier,run,seconds"
    measure 2 4
    measure 4 4
} >"$OUT/runs.csv"
