#!/usr/bin/env bash
# What portolan predicts for more nodes than were measured, on namespace nodes of CPUs alone: samples of two nodes, and
# collectives on two to NODES by the MPI library and by each of our algorithms. Each node has cores of its own and a
# link of known rate in both directions to one switch.
#
# Usage: OUT=FOLDER host_nodes.sh
# Environment: BUILD (default build); NODES (default 8) and COUNTS, the node counts in the order of their measurement
# (default "8 2 4 6 3", as far as NODES); CORES of a node (default 2); RATE, Mbit/s (default 1000); BURST, the bytes that a
# bucket lets through at once (default 1600, one packet: what it lets through is faster than the link); DELAY, the
# seconds that a link takes besides (default none: the kernel's buckets; with it `cluster up --delay`, and processes sleep
# while they wait, so that the host's cores are idle most of the time and the links alone decide); STEP, the factor from
# one size to the next (default 4); MOST, the largest message (default 4MiB, of all to all a quarter: bytes or KiB or
# MiB); PPN, the processes of a node in a second round (default none); REPEATS (default 7); BUDGET, seconds for each
# benchmark (default 5); HOSTS_LIMIT, seconds for all (default 200).
# Leaves under OUT: samples*.csv, collectives.csv, score.txt (fitted to the samples alone, scored on three nodes and
# more), under WORK (default BUILD/host-nodes) a file for each job and the tables: what an earlier call with the same WORK
# has measured is not measured again. Exits 77 where namespaces can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/shell.sh
needs mpirun
cluster=tests/cluster/cluster
sleeper=$build/tests/sleeper.so
$cluster check || exit 77
: "${OUT:?is the folder for the results}" "${NODES:=8}" "${COUNTS:=8 2 4 6 3}" "${CORES:=2}" "${RATE:=1000}" "${PPN:=}"
: "${REPEATS:=7}" "${BUDGET:=5}" "${HOSTS_LIMIT:=200}" "${BURST:=1600}" "${MOST:=4MiB}" "${DELAY:=}" "${STEP:=4}"
portolan=$build/portolan
built "$build/portolan-calibrate" "$build/portolan-validate" "$portolan"
name=host-nodes-tcp
rows=${WORK:-$build/host-nodes}
mkdir -p "$OUT" "$rows"
export PORTOLAN_CLUSTER=${PORTOLAN_CLUSTER:-hosts$$}
unset PORTOLAN_EMULATED_GPUS
export CUDA_VISIBLE_DEVICES=
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM
ends=$((SECONDS + HOSTS_LIMIT))

# At most so many seconds, and never past the end. What was measured by then is in the files.
limited() { # SECONDS COMMAND...
    local limit=$1
    shift
    [ "$limit" -le $((ends - SECONDS)) ] || limit=$((ends - SECONDS))
    [ "$limit" -ge 4 ] || return 124
    timeout -k 3 "$limit" "$@"
}

# Messages go without a handshake. All that a process has for another passes one connection in order, so where both send,
# one's answer to a request (of a rendezvous, of a put) waits behind its own data: exchanges took one or two times their
# bytes, by chance.
longest=$((8 * 1024 * 1024 + 65536))
without_handshake=(--mca btl_tcp_flags 1 --mca btl_tcp_eager_limit $longest --mca btl_tcp_max_send_size $longest)
asleep=()
[ -z "$DELAY" ] || asleep=(-x "LD_PRELOAD=$sleeper")
on_cluster() { # SECONDS NODES PER-NODE CORES -- PROGRAM...
    local seconds=$1 nodes=$2 ppn=$3 cores=$4
    shift 4
    limited "$seconds" $cluster run -n $((nodes * ppn)) --ppn "$ppn" --cores "$cores" --bind-to none --oversubscribe \
        --mca btl tcp,self,vader "${without_handshake[@]}" "${asleep[@]}" "$@"
}

up() { # NODES
    $cluster down
    if [ -n "$DELAY" ]; then
        $cluster up "$1" --delay "$DELAY" --rate "${RATE}mbit"
        return
    fi
    $cluster up "$1" --tree "$1" --rate "${RATE}mbit" --mtu 1500 --burst "$BURST"
}

calibrate() { # PER-NODE CORES BENCHMARKS BYTES FILE
    [ ! -s "$OUT/$5" ] || return 0
    on_cluster 45 2 "$1" "$2" -- "$build/portolan-calibrate" --only "$3" --bytes "$4" --budget "$BUDGET" --repeats 20 \
        --machine $name --force --out "$OUT/$5" || echo "=== $5: exit $?"
}

# One process of a node for what messages and cores cost; four, on as many cores as half of the nodes have, for how they
# share a link and how long each of many messages in flight takes.
samples() {
    local half=$((CORES * NODES / 2)) level=
    [ -z "$PPN" ] || level=ping_pong, # messages within a node
    up 2 || return
    calibrate 1 "$CORES" ping_pong,exchange,reduce,memcpy_h2h "1:$most" samples.csv
    calibrate 4 $half ${level}injection "1:$((most / 4)):4" samples-shared.csv
    calibrate 4 $half multi_message 1:64KiB:4 samples-messages.csv
}

bytes_of() { # such as 256KiB
    case $1 in
    *KiB) echo $((${1%KiB} * 1024)) ;;
    *MiB) echo $((${1%MiB} * 1024 * 1024)) ;;
    *) echo "$1" ;;
    esac
}
most=$(bytes_of "$MOST")

sizes() { # COLLECTIVE
    case $1 in
    allreduce | reduce | broadcast) echo "64:$most:$STEP" ;;
    *) echo "64:$((most / 4)):$STEP" ;;
    esac
}

collective() { # NODES PER-NODE COLLECTIVE
    local file=$rows/$1-$2-$3.csv status=0
    [ ! -e "$file" ] || return 0
    on_cluster 40 "$1" "$2" "$CORES" -- "$build/portolan-validate" --machine "$rows/machine.yaml" --nodes "$1" \
        --procs-per-node "$2" --collective "$3" --bytes "$(sizes "$3")" --each-algorithm --repeats "$REPEATS" --timeout 60 \
        --force --out "$file" >>"$rows/tables.txt" || status=$?
    echo "=== $1 nodes of $2, $3: exit $status, $((ends - SECONDS)) s left"
}

# Its numbers decide nothing about what is measured.
make_machine() { sed "s/^machine: .*/machine: $name/" scenarios/machines/cpu-2x64-200g.yaml >"$rows/machine.yaml"; }

score() {
    local rest
    rest=$(tr ' ' '\n' <<<"$COUNTS" | awk -v most="$NODES" '$1 > 2 && $1 <= most' | paste -sd,)
    [ -n "$rest" ] || return 0
    "$portolan" fit "$OUT"/samples*.csv --node gpus=0 --node sockets=1 --node "cores=$CORES" \
        --name $name --out "$rows/fitted.yaml" --force --report &&
        "$portolan" score --machine "$rows/fitted.yaml" "$OUT/collectives.csv" --train nodes=2 --test "nodes=$rest" --baselines
}

# round PER-NODE COLLECTIVE...: on all numbers of nodes, the most important first
round() {
    local ppn=$1 nodes which
    shift
    for nodes in $COUNTS; do
        if [ "$nodes" -gt "$NODES" ] || [ $((ends - SECONDS)) -lt 5 ] || ! up "$nodes"; then continue; fi
        for which in "$@"; do collective "$nodes" "$ppn" "$which"; done
    done
}

make_machine
samples || echo "=== samples: exit $?"
common=(allreduce alltoall allgather broadcast reduce_scatter reduce gather scatter)
round 1 "${common[@]}"
for ppn in $PPN; do round "$ppn" "${common[@]}"; done
round 1 alltoallv allgatherv
$cluster down
awk -f tests/merge_rows.awk "$rows"/*.csv* >"$OUT/collectives.csv"
score >"$OUT/score.txt" 2>&1 || tail -n 3 "$OUT/score.txt"
sed -n '/^all \|^# nodes/p' "$OUT/score.txt"
