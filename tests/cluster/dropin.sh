#!/usr/bin/env bash
# What the drop-in gains on buffers in host memory, on 4 namespace nodes of one process each whose links are slow enough
# to decide. The machine file is measured here, on two of the nodes, and its table of Open MPI's algorithms is what Open
# MPI's own messages say. Each collective and size is timed with the drop-in and without, in turns.
#
# Usage: OUT=FOLDER dropin.sh
# Environment: BUILD (default build); RATE, Mbit/s (default 10), and DELAY, seconds (default none): see slow_links.sh; TURNS
# (default 3); CALLS of each turn (default 5); SIZES (default "16384 65536 262144").
# Leaves under OUT: samples.csv, machine.yaml, runs.csv (each call), calls.csv (the drop-in's last report of each call),
# gains.csv (medians beside predictions).
# Exits 77 where namespaces can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
: "${TURNS:=3}" "${CALLS:=5}" "${SIZES:=16384 65536 262144}"
. tests/cluster/slow_links.sh
library=$build/libportolan-mpi.so
built "$library"
collectives="allgather allreduce alltoall bcast reduce"

place_of() { echo --memory host --procs-per-node 1 --strategy mpi; }

# An algorithm holds from its size to the next one; a size whose messages are no algorithm's of portolan's has the one
# before it, or else the next one, and is left to MPI where that one is portolan's choice, too.
add_library() {
    local call bytes algorithm
    echo "library: # Open MPI's own messages, as tests/cluster/dropin.sh recognized them"
    for call in $collectives; do
        for bytes in $SIZES; do echo "$bytes $(recognize "$call" "$bytes")"; done >"$work/recognized.$call"
        ! grep -q ' [a-z]' "$work/recognized.$call" || echo "  $(portolan_name "$call"):"
        awk '$2 == "-" { next } last && last != $2 { print "      - {below_bytes: " $1 ", algorithm: " last "}" }
            { if (!last) print "    cpu:"; last = $2 } END { if (last) print "      - {algorithm: " last "}" }' "$work/recognized.$call"
    done
}
recognized() { awk -v bytes="$2" '$1 == bytes { print $2 }' "$work/recognized.$1"; }
taken() { # CALL BYTES COLUMN
    awk -F, -v call="$1" -v bytes="$2" -v column="$3" '$1 == call && $2 == bytes { found = $column } END { print found }' "$OUT/calls.csv"
}
run_under() { # CALL BYTES
    PRELOAD=$library run "$1" "$2" dropin -x PORTOLAN_HOST=1 -x PORTOLAN_REPEATS=0 -x PORTOLAN_MACHINE="$(readlink -f "$machine")" -x PORTOLAN_REPORT="$work/report.csv"
    awk -F, -v call="$1" -v bytes="$2" 'tolower($4) == "mpi_" call && $9 > 8 { route = $11 "," $12 "," $13 } # not of seconds
        END { print call "," bytes "," route }' "$work/report.csv" >>"$OUT/calls.csv"
}

up_nodes
make_machine
add_library >"$work/library"
cat "$work/library" >>"$machine"
echo "call,bytes,how,seconds" >"$OUT/runs.csv"
echo "call,bytes,route,predicted_s,library_s" >"$OUT/calls.csv"
for ((turn = 0; turn < TURNS; turn++)); do
    for call in $collectives; do
        for bytes in $SIZES; do
            run "$call" "$bytes" own
            run_under "$call" "$bytes"
        done
    done
done
{
    echo "# $nodes nodes of one process, $RATE Mbit/s each; OUT=... RATE=$RATE DELAY=$DELAY TURNS=$TURNS CALLS=$CALLS tests/cluster/dropin.sh"
    echo "# date=$(date -u +%Y-%m-%d), $(nproc) cores, load average $(cut -d' ' -f1 /proc/loadavg); gain: 1 - dropin / own"
    echo "call,bytes,own_algorithm,route,own_s,dropin_s,gain_percent,own_predicted_s,dropin_predicted_s,predicted_gain_percent"
    for call in $collectives; do
        for bytes in $SIZES; do
            echo "$call,$bytes,$(recognized "$call" "$bytes"),$(taken "$call" "$bytes" 3),$(median "$call,$bytes,own"),$(median "$call,$bytes,dropin"),$(taken "$call" "$bytes" 5),$(taken "$call" "$bytes" 4)" |
                awk -F, '{ printf "%s,%s,%s,%s,%s,%s,%.1f,%s,%s,%s\n", $1, $2, $3, $4, $5, $6, 100 * (1 - $6 / $5), $7, $8, $7 == "" ? "" : sprintf("%.1f", 100 * (1 - $8 / $7)) }'
        done
    done
} | tee "$OUT/gains.csv"
