#!/usr/bin/env bash
# What `portolan map` gains where the network is known: 16 nodes below a tree of switches (four levels, rates as in
# Faraji's thesis, 4.47 : 1.81 : 1.06 : 1), and 4 nodes of 4 processes on one switch. For each pattern the default
# placement and the mapped one are timed; both are predicted by machine files whose numbers portolan-calibrate
# measures here, on pairs of nodes. On the tree the patterns are the thesis's nine on GPUs; on the four nodes its
# pairs of a CPU and a GPU pattern at the same time (all memory is the host's here, so X-Y is Y-X).
#
# Usage: OUT=FOLDER tree.sh [tree|nodes]...   (both)
# Environment: BUILD (default build); RATE, Mbit/s of the slowest link (default 50: slow enough for two cores);
# REPEATS (default 5); SIZES (default 64KiB:1MiB:16); PATTERNS, numbers of those to run, from 1 (default: all). The
# weighted pairs in less than 10 minutes: RATE=80 PATTERNS="8 9 10 11" OUT=FOLDER tree.sh nodes
# Leaves under OUT: samples.csv, tree.yaml and nodes.yaml (the machines), runs.csv (each run), gains.csv (medians beside
# predictions), maps.txt (what map said).
# Exits 77 where namespaces can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
cluster=tests/cluster/cluster
$cluster check || exit 77
: "${OUT:?is the folder for the results}" "${RATE:=50}" "${REPEATS:=5}" "${PATTERNS:=}" "${SIZES:=64KiB:1MiB:16}"
built "$build/portolan-calibrate" "$build/portolan-validate" "$build/portolan"
mkdir -p "$OUT"
export PORTOLAN_CLUSTER=${PORTOLAN_CLUSTER:-tree$$}
# Only the CPUs are of interest.
unset PORTOLAN_EMULATED_GPUS
export CUDA_VISIBLE_DEVICES=
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
        --mca btl_tcp_max_send_size $eager "$@"
}

# --- machine files

# Messages of two processes.
samples() { # NAME PER-NODE NODE,NODE
    on_cluster $((2 * $2)) "$2" --on "$3" -- "$build/portolan-calibrate" --only ping_pong --bytes 32KiB:2MiB:2 \
        --budget 20 --repeats 10 --machine "$1-$3" --force --out "$work/$1-$3.csv"
    awk -v head="$(grep -c . "$OUT/samples.csv")" '/^#/ || !head || !/^benchmark/' "$work/$1-$3.csv" >>"$OUT/samples.csv"
    "$build/portolan" fit "$work/$1-$3.csv" --node gpus=1,sockets=1,cores=1 --breaks cpu=none --name "$1" \
        --out "$work/$1-$3.yaml" --force
}

# The messages of a machine file in host memory, below the line `cpu:`.
cpu_messages() { # FILE
    awk '/^  cpu:/ { inside = 1; next } !/^    / { inside = 0 } inside' "$1"
}

# Seconds per byte of the longest messages between two nodes, by the fit.
s_per_byte() { # FILE
    cpu_messages "$1" | sed -n '/off_node:/,$ s/.*beta_s_per_byte: \([^,}]*\).*/\1/p' | tail -n 1
}

# The device of these runs is host memory, so that messages of `gpu` buffers are those of `cpu` buffers.
machine() { # NAME GPUS FILE PAIR:NODES...
    local name=$1 gpus=$2 file=$3 level
    shift 3
    {
        echo "machine: $name"
        echo "source: portolan fit of samples.csv beside this file, by tests/cluster/tree.sh"
        echo "node: {sockets: 1, gpus: $gpus, cores: $gpus}"
        echo messages:
        echo "  cpu:" && cpu_messages "$file"
        echo "  gpu:" && cpu_messages "$file"
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

# All sizes at once.
run_placed() { # NAME PATTERN PLACED PER-NODE ARGUMENTS...
    local name=$1 pattern=$2 placed=$3 ppn=$4
    shift 4
    on_cluster 16 "$ppn" -- "$build/portolan-validate" "${arguments[@]}" "$@" --repeats "$REPEATS" --wait sleep \
        --timeout 120 --force --out "$work/rows.csv"
    [ -s "$OUT/runs.csv" ] || {
        grep '^# [a-z_]*=' "$work/rows.csv" | grep -v '^# \(setup_s\|complete\|command\)='
        echo "cluster,pattern,placed,bytes,run,seconds"
    } >"$OUT/runs.csv"
    awk -F, -v row="$name,$pattern,$placed" '/^#/ { next } head++ { print row "," $7 "," $8 "," $9 }' \
        "$work/rows.csv" >>"$OUT/runs.csv"
}

# Microseconds by size.
predicted() { # predict|simulate ARGUMENTS...
    local command=$1
    shift
    "$build/portolan" "$command" "${arguments[@]}" "$@" | awk '/^[0-9]/ { print $1, $2 }'
}

# One row for each size: medians, prices, simulated times, and what the mapping gains by each.
gains() { # NAME PATTERN
    awk -F, -v cluster="$1" -v pattern="$2" -v def="$work/default" -v map="$work/mapped" '
        function read(file, values,   line, part) {
            while ((getline line <file) > 0) { split(line, part, " "); values[part[1]] = part[2] * 1e-6 }
        }
        function median(key,   i, j, kept) {
            for (i = 2; i <= n[key]; i++) for (j = i; j > 1 && v[key, j] < v[key, j - 1]; j--) {
                kept = v[key, j]; v[key, j] = v[key, j - 1]; v[key, j - 1] = kept
            }
            return n[key] ? (v[key, int((n[key] + 1) / 2)] + v[key, int((n[key] + 2) / 2)]) / 2 : 0
        }
        $1 == cluster && $2 == pattern {
            key = $3 " " $4; v[key, ++n[key]] = $6; if ($3 == "default" && !seen[$4]++) size[++sizes] = $4
        }
        END {
            read(def ".predict", dp); read(map ".predict", mp); read(def ".simulate", ds); read(map ".simulate", ms)
            for (i = 1; i <= sizes; i++) {
                s = size[i]; d = median("default " s)
                if (!(s in dp)) continue
                m = n["mapped " s] ? median("mapped " s) : d
                printf "%s,%s,%s,%.4g,%.4g,%.1f,%.4g,%.4g,%.1f,%.4g,%.4g,%.1f\n", cluster, pattern, s, d, m, 100 * (1 - m / d),
                    dp[s], mp[s], 100 * (1 - mp[s] / dp[s]), ds[s], ms[s], 100 * (1 - ms[s] / ds[s])
            }
        }' "$OUT/runs.csv" >>"$OUT/gains.csv"
}

# The scenario's default placement against the mapped one.
compare() { # NAME PATTERN PER-NODE
    local name=$1 pattern=$2 ppn=$3 command at=(--bytes "$SIZES")
    "$build/portolan" map "${arguments[@]}" --bytes 1MiB --with node,greedy,exact --out "$work/placement.csv" \
        --force >>"$OUT/maps.txt"
    for command in predict simulate; do
        predicted $command "${at[@]}" >"$work/default.$command"
        predicted $command "${at[@]}" --placement-file "$work/placement.csv" >"$work/mapped.$command"
    done
    run_placed "$name" "$pattern" default "$ppn" "${at[@]}"
    # Where the default stays there is nothing to compare.
    if ! cmp -s "$work/default.predict" "$work/mapped.predict"; then
        run_placed "$name" "$pattern" mapped "$ppn" "${at[@]}" --placement-file "$work/placement.csv"
    fi
    gains "$name" "$pattern"
}

wanted() { [ -z "$PATTERNS" ] || [[ " $PATTERNS " == *" $1 "* ]]; } # NUMBER

measure_patterns() { # NAME NODES GPUS
    local number=0 entry
    for entry in "${patterns[@]}"; do
        number=$((number + 1))
        wanted $number || continue
        scenario "$1" "$2" "$3" "${entry#*|}"
        compare "$1" "${entry%%|*}" "$3"
    done
}

measure_pairs() { # NAME NODES GPUS
    local number=0 x y entry first second
    for entry in "0 0" "4 4" "8 8" "0 4" "0 8" "4 8" "2 2" "6 6" "2 6" "2 8" "6 8"; do
        number=$((number + 1))
        wanted $number || continue
        read -r x y <<<"$entry"
        first=${patterns[x]} second=${patterns[y]}
        scenario "$1" "$2" "$3" "{cpu: ${first#*|}, gpu: ${second#*|}}"
        compare "$1" "${first%%|*} + ${second%%|*}" "$3"
    done
}

tree() {
    local pair
    $cluster up 16 --tree 2,2,2,2 \
        --rate "$((RATE * 447 / 100))mbit,$((RATE * 181 / 100))mbit,$((RATE * 106 / 100))mbit,${RATE}mbit"
    for pair in 0,1 0,2 0,4 0,8; do samples tree 1 $pair; done
    machine tree 1 "$work/tree-0,1.yaml" 0,1:1 0,2:2 0,4:4 0,8:8
    measure_patterns tree 16 1
    $cluster down
}

nodes() {
    $cluster up 4 --tree 4 --rate "${RATE}mbit"
    samples nodes 2 0,1
    machine nodes 4 "$work/nodes-0,1.yaml" 0,1:1
    measure_pairs nodes 4 4
    $cluster down
}

[ $# -gt 0 ] || set -- tree nodes
rm -f "$OUT/runs.csv" "$OUT/maps.txt"
: >"$OUT/samples.csv"
{
    printf '# rates: tree 4.47 : 1.81 : 1.06 : 1 times %s Mbit/s, nodes %s Mbit/s; gain: 1 - mapped / default\n' \
        "$RATE" "$RATE"
    printf 'cluster,pattern,bytes,default_s,mapped_s,gain_percent,'
    printf 'default_predicted_s,mapped_predicted_s,predicted_gain_percent,'
    printf 'default_simulated_s,mapped_simulated_s,simulated_gain_percent\n'
} >"$OUT/gains.csv"
for part in "$@"; do
    case $part in
    tree | nodes) $part ;;
    *) echo "tree.sh: no such part: $part" >&2; exit 2 ;;
    esac
done
