#!/usr/bin/env bash
# What the rules of `portolan export --for openmpi-4.1` gain over Open MPI's own choices, on 4 namespace nodes of one
# process each whose links are slow enough to decide. The machine file is measured here, on two of the nodes. Each
# collective and size is timed with the rules and without, in turns, after Open MPI's own algorithm was recognized by
# the messages that it sends (pml_monitoring against `portolan traffic`), so that the gain can be predicted, too.
#
# Usage: OUT=FOLDER rules.sh
# Environment: BUILD (default build); RATE, Mbit/s (default 10), and DELAY, seconds (default none): see slow_links.sh; TURNS
# (default 3); CALLS of each turn (default 5); SIZES (default "16384 65536 262144").
# Leaves under OUT: samples.csv, machine.yaml, rules.conf, runs.csv (each call), gains.csv (medians beside predictions).
# Exits 77 where namespaces can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
: "${TURNS:=3}" "${CALLS:=5}" "${SIZES:=16384 65536 262144}"
. tests/cluster/slow_links.sh
rules=$OUT/rules.conf

strategy_of() { case $1 in allreduce | reduce) echo three_step ;; *) echo cuda_aware ;; esac; }
place_of() { echo --procs-per-gpu 1 --strategy "$(strategy_of "$1")"; }
ruled() { # CALL BYTES
    "$portolan" export --for openmpi-4.1 --machine "$machine" --nodes $nodes --collective "$(portolan_name "$1")" --bytes "$2" --check "$rules" |
        awk '/^[0-9]/ { print $3 }' |
        sed 's/basic_linear/linear/;s/modified_bruck/bruck/;s/pipeline/chain/;s/scatter_allgather_ring/scatter_allgather/;/^binomial$/{'"$([ "$1" != bcast ] || echo s/.*/binomial_near_first/)"'}'
}
up_nodes
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
    echo "# $nodes nodes of one process, $RATE Mbit/s each; OUT=... RATE=$RATE DELAY=$DELAY TURNS=$TURNS CALLS=$CALLS tests/cluster/rules.sh"
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
