#!/bin/sh
# The command `portolan map` of 3-D stencils beside SCOTCH's scotch_gmap on the same graph, as a ratio of CPU times
# in one run. scotch_gmap proposes one mapping; portolan map proposes several, prices each and swaps.
# Prints nothing to compare with where scotch_gmap is not installed.
set -eu
program=${PORTOLAN:-build/portolan}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

graph() { # SIDE: the stencil's graph in SCOTCH's format
    awk -v n="$1" 'BEGIN {
        print 0; print n^3, 6 * n * n * (n - 1); print 0, "000"
        for (i = 0; i < n^3; i++) {
            x = int(i / (n * n)); y = int(i / n) % n; z = i % n; count = 0; list = ""
            if (x > 0) { count++; list = list " " i - n * n }
            if (y > 0) { count++; list = list " " i - n }
            if (z > 0) { count++; list = list " " i - 1 }
            if (z < n - 1) { count++; list = list " " i + 1 }
            if (y < n - 1) { count++; list = list " " i + n }
            if (x < n - 1) { count++; list = list " " i + n * n }
            print count list
        }
    }'
}

cpu_s() { # COMMAND...: its user and system time
    (times_of() { "$@" >/dev/null; times; }; times_of "$@") | awk 'NR == 2 {
        for (i = 1; i <= 2; i++) { split($i, t, "[ms]"); s += 60 * t[1] + t[2] }
        printf "%.3f\n", s
    }'
}

sides='4 8 16'
[ -z "${BENCH_SHORT:-}" ] || sides=4
for side in $sides; do
    nodes=$((side * side * side / 4))
    ours=$(cpu_s "$program" map --machine summit-spectrum --collective alltoallv --implementation isend_irecv \
        --nodes "$nodes" --gpus-per-node 4 --procs-per-gpu 1 --bytes 64KiB --chunks 1 \
        --counts "{pattern: stencil, dims: [$side, $side, $side]}")
    if command -v scotch_gmap >/dev/null; then
        graph "$side" >"$folder/graph"
        echo "tleaf 2 $nodes 10 4 1" >"$folder/target"
        peer=$(cpu_s scotch_gmap "$folder/graph" "$folder/target" "$folder/mapping")
        echo "$side $ours $peer"
    else
        echo "$side $ours"
    fi | awk '{
        printf "map of a stencil, %5d processes: %8.3f s", $1^3, $2
        if (NF > 2) printf "; scotch_gmap %8.3f s, ratio %.2f", $3, ($3 > 0 ? $2 / $3 : 0)
        print ""
    }'
done
