#!/usr/bin/env bash
# What `portolan map` gains where the network is known: 16 nodes below a tree of switches (four levels, rates as in
# Faraji's thesis, 4.47 : 1.81 : 1.06 : 1), and 4 nodes of 4 processes on one switch. For each pattern the default
# placement and the mapped one are timed; both are predicted by machine files whose numbers portolan-calibrate
# measures here, on pairs of nodes.
#
# Usage: OUT=FOLDER tree.sh [tree|nodes]...   (both)
# Environment: BUILD (default build); RATE, Mbit/s of the slowest link (default 50: slow enough for two cores);
# REPEATS (default 5); BYTES (default 64KiB:1MiB:16); PATTERNS, numbers of those to run, from 1 (default: all).
# Leaves under OUT, for each of tree and nodes: NAME.yaml, NAME-samples.csv, NAME-runs.csv, NAME-gains.csv.
# Exits 77 where namespaces can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
cluster=tests/cluster/cluster
$cluster check || exit 77
: "${OUT:?is the folder for the results}" "${RATE:=50}" "${REPEATS:=5}" "${BYTES:=64KiB:1MiB:16}" "${PATTERNS:=}"
built "$build/portolan-calibrate" "$build/portolan-validate" "$build/portolan"
mkdir -p "$OUT"
export PORTOLAN_CLUSTER=${PORTOLAN_CLUSTER:-tree$$}
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM

# No rendezvous: its answers would wait in long queues, and a link would be idle meanwhile.
eager=$((64 << 20))
on_cluster() { # PROCESSES PER-NODE [OPTION...] -- PROGRAM...
    local processes=$1 ppn=$2
    shift 2
    timeout "${LIMIT:-600}" $cluster run -n "$processes" --ppn "$ppn" --bind-to none --oversubscribe \
        --mca btl tcp,self,vader --mca btl_tcp_eager_limit $eager --mca btl_tcp_rndv_eager_limit $eager \
        --mca btl_tcp_max_send_size $eager "$@" 2>>"$OUT/log.txt"
}

# --- machine files

# Messages of two processes.
samples() { # NAME PER-NODE NODE,NODE
    on_cluster $((2 * $2)) "$2" --on "$3" -- "$build/portolan-calibrate" --only ping_pong --bytes 32KiB:2MiB:2 \
        --budget 20 --repeats 10 --machine "$1-$3" --force --out "$OUT/$1-samples-$3.csv"
    "$build/portolan" fit "$OUT/$1-samples-$3.csv" --node gpus=1,sockets=1,cores=1 --breaks cpu=none --name "$1" \
        --out "$work/$1-$3.yaml" --force
}

# Seconds per byte of the longest messages between two nodes, by the fit.
s_per_byte() { # FILE
    sed -n '/off_node:/,$ s/.*beta_s_per_byte: \([^,}]*\).*/\1/p' "$1" | tail -n 1
}

# The device of these runs is host memory, so that messages of `gpu` buffers are those of `cpu` buffers.
machine() { # NAME GPUS FILE PAIR:NODES...
    local name=$1 gpus=$2 file=$3 level
    shift 3
    {
        echo "machine: $name"
        echo "source: portolan fit of $name-samples.csv, by tests/cluster/tree.sh"
        echo "node: {sockets: 1, gpus: $gpus, cores: $gpus}"
        echo messages:
        sed -n '/^  cpu:/,/^$/p' "$file" | sed '/^$/d'
        sed -n '/^  cpu:/,/^$/p' "$file" | sed '/^$/d; s/^  cpu:/  gpu:/'
        echo fabric:
        for level in "$@"; do
            echo "  - {nodes: ${level#*:}, s_per_byte: $(s_per_byte "$work/$name-${level%:*}.yaml")}"
        done
    } >"$OUT/$name.yaml"
}

# --- patterns

stencil() { echo "{pattern: stencil, dims: [$1], wrap: [$2], weights: [$3]}"; }
patterns=(
    "2D|$(stencil '4, 4' '0, 0' '1, 1')"
    "2D wrap|$(stencil '4, 4' '1, 1' '1, 1')"
    "2D weighted|$(stencil '4, 4' '0, 0' '3, 1')"
    "2D wrap weighted|$(stencil '4, 4' '1, 1' '3, 1')"
    "3D|$(stencil '2, 2, 4' '0, 0, 0' '1, 1, 1')"
    "3D wrap|$(stencil '2, 2, 4' '1, 1, 1' '1, 1, 1')"
    "3D weighted|$(stencil '2, 2, 4' '0, 0, 0' '3, 1, 1')"
    "3D wrap weighted|$(stencil '2, 2, 4' '1, 1, 1' '3, 1, 1')"
    "COLL|{pattern: groups, dims: [4, 2, 2], along: 0}"
)

# --- runs

# What map, predict, simulate and validate are told alike.
scenario() { # NAME NODES GPUS COUNTS
    arguments=(--machine "$OUT/$1.yaml" --collective alltoallv --implementation isend_irecv --strategy cuda_aware
        --nodes "$2" --gpus-per-node "$3" --procs-per-gpu 1 --counts "$4")
}

run_placed() { # NAME PATTERN PLACED PER-NODE ARGUMENTS...
    local name=$1 pattern=$2 placed=$3 ppn=$4
    shift 4
    on_cluster 16 "$ppn" -- "$build/portolan-validate" "${arguments[@]}" "$@" --bytes "$BYTES" --repeats "$REPEATS" \
        --wait sleep --timeout 120 --force --out "$work/rows.csv" >>"$OUT/log.txt"
    awk -F, -v row="$pattern,$placed" '/^#/ { next } head++ { print row "," $7 "," $8 "," $9 }' "$work/rows.csv" \
        >>"$OUT/$name-runs.csv"
}

# Microseconds by size.
predicted() { # predict|simulate ARGUMENTS...
    local command=$1
    shift
    "$build/portolan" "$command" "${arguments[@]}" --bytes "$BYTES" "$@" | awk '/^[0-9]/ { print $1, $2 }'
}

# One row for each size: medians, prices, simulated times, and what the mapping gains by each.
gains() { # NAME PATTERN
    awk -F, -v pattern="$2" -v def="$work/default" -v map="$work/mapped" '
        function read(file, values,   line, part) {
            while ((getline line <file) > 0) { split(line, part, " "); values[part[1]] = part[2] * 1e-6 }
        }
        function median(key,   i, j, kept) {
            for (i = 2; i <= n[key]; i++) for (j = i; j > 1 && v[key, j] < v[key, j - 1]; j--) {
                kept = v[key, j]; v[key, j] = v[key, j - 1]; v[key, j - 1] = kept
            }
            return n[key] ? (v[key, int((n[key] + 1) / 2)] + v[key, int((n[key] + 2) / 2)]) / 2 : 0
        }
        $1 == pattern { key = $2 " " $3; v[key, ++n[key]] = $5; if ($2 == "default" && !seen[$3]++) size[++sizes] = $3 }
        END {
            read(def ".predict", dp); read(map ".predict", mp); read(def ".simulate", ds); read(map ".simulate", ms)
            for (i = 1; i <= sizes; i++) {
                s = size[i]; d = median("default " s)
                m = n["mapped " s] ? median("mapped " s) : d
                printf "%s,%s,%.4g,%.4g,%.1f,%.4g,%.4g,%.1f,%.4g,%.4g,%.1f\n", pattern, s, d, m, 100 * (1 - m / d),
                    dp[s], mp[s], 100 * (1 - mp[s] / dp[s]), ds[s], ms[s], 100 * (1 - ms[s] / ds[s])
            }
        }' "$OUT/$1-runs.csv" >>"$OUT/$1-gains.csv"
}

measure() { # NAME NODES GPUS
    local name=$1 number=0 entry pattern command
    echo "pattern,placed,bytes,run,seconds" >"$OUT/$name-runs.csv"
    echo "pattern,bytes,default_s,mapped_s,gain_percent,default_predicted_s,mapped_predicted_s,predicted_gain_percent,default_simulated_s,mapped_simulated_s,simulated_gain_percent" \
        >"$OUT/$name-gains.csv"
    for entry in "${patterns[@]}"; do
        number=$((number + 1))
        [ -z "$PATTERNS" ] || [[ " $PATTERNS " == *" $number "* ]] || continue
        pattern=${entry%%|*}
        scenario "$name" "$2" "$3" "${entry#*|}"
        "$build/portolan" map "${arguments[@]}" --bytes 1MiB --with node,greedy,exact --out "$work/placement.csv" \
            --force >>"$OUT/$name-maps.txt"
        for command in predict simulate; do
            predicted $command >"$work/default.$command"
            predicted $command --placement-file "$work/placement.csv" >"$work/mapped.$command"
        done
        run_placed "$name" "$pattern" default "$3"
        # Where the default stays there is nothing to compare.
        tail -n 1 "$OUT/$name-runs.csv" >/dev/null
        if ! cmp -s "$work/default.predict" "$work/mapped.predict"; then
            run_placed "$name" "$pattern" mapped "$3" --placement-file "$work/placement.csv"
        fi
        gains "$name" "$pattern"
        tail -n 2 "$OUT/$name-gains.csv"
    done
}

merge_samples() { # NAME
    awk '/^#/ || head++ == 0 || !/^benchmark/' "$OUT/$1"-samples-*.csv >"$OUT/$1-samples.csv"
    rm "$OUT/$1"-samples-*,*.csv
}

tree() {
    local pair
    $cluster up 16 --tree 2,2,2,2 \
        --rate "$((RATE * 447 / 100))mbit,$((RATE * 181 / 100))mbit,$((RATE * 106 / 100))mbit,${RATE}mbit"
    for pair in 0,1 0,2 0,4 0,8; do samples tree 1 $pair; done
    machine tree 1 "$work/tree-0,1.yaml" 0,1:1 0,2:2 0,4:4 0,8:8
    merge_samples tree
    measure tree 16 1
    $cluster down
}

nodes() {
    $cluster up 4 --tree 4 --rate "$((RATE * 4))mbit"
    samples nodes 2 0,1
    machine nodes 4 "$work/nodes-0,1.yaml" 0,1:1
    merge_samples nodes
    measure nodes 4 4
    $cluster down
}

[ $# -gt 0 ] || set -- tree nodes
for part in "$@"; do
    case $part in
    tree | nodes) $part ;;
    *) echo "tree.sh: no such part: $part" >&2; exit 2 ;;
    esac
done
