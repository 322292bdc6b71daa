#!/usr/bin/env bash
# What the rules of `portolan export --for openmpi-4.1` gain over Open MPI's own choices, on 4 namespace nodes of one
# process each whose links are slow enough to decide. The machine file is measured here, on two of the nodes. Each
# collective and size is timed with the rules and without, in turns, after Open MPI's own algorithm was recognized by
# the messages that it sends (pml_monitoring against `portolan traffic`), so that the gain can be predicted, too.
#
# Usage: OUT=FOLDER rules.sh
# Environment: BUILD (default build); RATE, Mbit/s (default 10); TURNS (default 3); CALLS of each turn (default 5); SIZES
# (default "16384 65536 262144").
# Leaves under OUT: samples.csv, machine.yaml, rules.conf, runs.csv (each call), gains.csv (medians beside predictions).
# Exits 77 where namespaces can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
cluster=tests/cluster/cluster
$cluster check || exit 77
: "${OUT:?is the folder for the results}" "${RATE:=10}" "${TURNS:=3}" "${CALLS:=5}" "${SIZES:=16384 65536 262144}"
portolan=$build/portolan
program=$build/tests/test_export
built "$build/portolan-calibrate" "$portolan" "$program"
mkdir -p "$OUT"
export PORTOLAN_CLUSTER=${PORTOLAN_CLUSTER:-rules$$}
export PORTOLAN_EMULATED_GPUS=$((nodes = 4)) CUDA_VISIBLE_DEVICES=
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM
machine=$OUT/machine.yaml rules=$OUT/rules.conf

on_cluster() { # PROCESSES [OPTION...] -- PROGRAM...
    local processes=$1
    shift
    timeout 120 $cluster run -n "$processes" --ppn 1 --gpus-per-node 1 --bind-to none --oversubscribe --mca btl tcp,self "$@"
}

# The nodes have no GPU: buffers of all kinds are in host memory, and copies among them take microseconds.
make_machine() {
    on_cluster 2 -- "$build/portolan-calibrate" --only ping_pong,copies --bytes 8KiB:256KiB:2 --budget 20 \
        --repeats 20 --machine netns --force --out "$OUT/samples.csv"
    "$portolan" fit "$OUT/samples.csv" --node gpus=1,sockets=1,cores=1 --breaks cpu=none --name netns --out "$work/cpu.yaml" --force
    {
        echo "machine: netns"
        echo "source: portolan fit of samples.csv beside this file, by tests/cluster/rules.sh; GPU messages are the host's"
        awk '/^[a-z]/ { inside = /^(node|copies|reduce):/ } inside' "$work/cpu.yaml"
        awk '/^  cpu:/ { inside = 1; next } !/^    / { inside = 0 } inside' "$work/cpu.yaml" >"$work/messages"
        echo "messages:" && echo "  cpu:" && cat "$work/messages" && echo "  gpu:" && cat "$work/messages"
    } >"$machine"
}

strategy_of() { case $1 in allreduce | reduce) echo three_step ;; *) echo cuda_aware ;; esac; }
portolan_name() { if [ "$1" = bcast ]; then echo broadcast; else echo "$1"; fi; }
asked() { # CALL BYTES ALGORITHM
    echo --machine "$machine" --collective "$(portolan_name "$1")" --nodes $nodes --procs-per-gpu 1 --bytes "$2" --library "$3" \
        --strategy "$(strategy_of "$1")"
}
# The algorithm whose plan has the messages that Open MPI sends by itself; "-" if portolan has none.
recognize() { # CALL BYTES
    local algorithm
    rm -f "$work"/run.*.prof
    mpirun -n $nodes --oversubscribe --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
        --mca pml_monitoring_filename "$work/run" "$program" "$1" "$2" 1 >/dev/null
    awk '$1 == "I" { print $2 "," $3 "," $6 "," $4 }' "$work"/run.*.prof | sort >"$work/own"
    for algorithm in recursive_doubling ring rabenseifner bruck linear pairwise binomial_near_first binomial; do
        "$portolan" traffic $(asked "$1" "$2" $algorithm) --datatype byte 2>/dev/null |
            awk -F, '/^[0-9]/ { print $1 "," $2 "," $6 "," $7 }' | sort >"$work/planned"
        if [ -s "$work/planned" ] && cmp -s "$work/own" "$work/planned"; then echo $algorithm && return; fi
    done
    echo -
}
predicted() { # CALL BYTES ALGORITHM
    [ "${3:--}" != - ] || { echo -; return; }
    "$portolan" predict $(asked "$@") --format csv | awk -F, '/^#/ { next } !s { for (s = 1; $s != "seconds"; s++); next } { print $s; exit }'
}
ruled() { # CALL BYTES
    "$portolan" export --for openmpi-4.1 --machine "$machine" --nodes $nodes --collective "$(portolan_name "$1")" --bytes "$2" --check "$rules" |
        awk '!/^#/ { if ($4 == "KiB" || $4 == "MiB") print $5; else print $4 }' |
        sed 's/basic_linear/linear/;s/modified_bruck/bruck/;/^binomial$/{'"$([ "$1" != bcast ] || echo s/.*/binomial_near_first/)"'}'
}
run() { # CALL BYTES HOW [OPTION...]
    local call=$1 bytes=$2 how=$3
    shift 3
    on_cluster $nodes "$@" -- "$program" "$call" "$bytes" "$CALLS" times | sed "s/^/$call,$bytes,$how,/" >>"$OUT/runs.csv"
}
median() { # CALL,BYTES,HOW
    grep "^$1," "$OUT/runs.csv" | cut -d, -f4 | sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# A small bucket: no message passes faster than the rate.
$cluster up $nodes --rate "${RATE}mbit" --burst 3200
make_machine
"$portolan" export --for openmpi-4.1 --machine "$machine" --nodes $nodes --bytes 4:4MiB --force --out "$rules"
echo "call,bytes,how,seconds" >"$OUT/runs.csv"
for ((turn = 0; turn < TURNS; turn++)); do
    for call in allgather allreduce alltoall bcast reduce; do
        for bytes in $SIZES; do
            run $call "$bytes" own
            run $call "$bytes" rules --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename "$(readlink -f "$rules")"
        done
    done
done
{
    echo "# $nodes nodes of one process, $RATE Mbit/s each; OUT=... RATE=$RATE TURNS=$TURNS CALLS=$CALLS tests/cluster/rules.sh"
    echo "# date=$(date -u +%Y-%m-%d), $(nproc) cores, load average $(cut -d' ' -f1 /proc/loadavg); gain: 1 - rules / own"
    echo "call,bytes,own_algorithm,rules_algorithm,own_s,rules_s,gain_percent,own_predicted_s,rules_predicted_s,predicted_gain_percent"
    for call in allgather allreduce alltoall bcast reduce; do
        for bytes in $SIZES; do
            own=$(recognize $call "$bytes") algorithm=$(ruled $call "$bytes")
            echo "$call,$bytes,$own,$algorithm,$(median "$call,$bytes,own"),$(median "$call,$bytes,rules"),$(predicted $call "$bytes" "$own"),$(predicted $call "$bytes" "$algorithm")" |
                awk -F, '{ printf "%s,%s,%s,%s,%s,%s,%.1f,%s,%s,%s\n", $1, $2, $3, $4, $5, $6, 100 * (1 - $6 / $5), $7, $8, $7 == "-" ? "-" : sprintf("%.1f", 100 * (1 - $8 / $7)) }'
        done
    done
} | tee "$OUT/gains.csv"
