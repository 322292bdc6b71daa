# shellcheck shell=bash disable=SC2154,SC2046 # of tests/shell.sh; several words
# What rules.sh and dropin.sh share, behind tests/shell.sh: 4 namespace nodes of one process each whose links are slow
# enough to decide, a machine file that is measured on two of them, and Open MPI's own algorithm, recognized by the
# messages that it sends (pml_monitoring against `portolan traffic`).
# Environment: BUILD (default build); OUT, the folder for the results; RATE, Mbit/s (default 10); DELAY, the seconds that
# a link takes besides (default none: the kernel's buckets; with it `cluster up --delay`, processes sleep while they wait,
# and messages go without a handshake, as in host_nodes.sh, so that exchanges take their bytes once, and not twice by
# chance); SAMPLES, the sizes that are measured on two nodes (default 8KiB:256KiB:2).
needs mpirun
cluster=tests/cluster/cluster
$cluster check || exit 77
: "${OUT:?is the folder for the results}" "${RATE:=10}" "${DELAY:=}" "${SAMPLES:=8KiB:256KiB:2}"
portolan=$build/portolan
program=$build/tests/test_export
built "$build/portolan-calibrate" "$portolan" "$program"
mkdir -p "$OUT"
export PORTOLAN_CLUSTER=${PORTOLAN_CLUSTER:-$(basename "$0" .sh)$$}
export PORTOLAN_EMULATED_GPUS=$((nodes = 4)) CUDA_VISIBLE_DEVICES=
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM
machine=$OUT/machine.yaml

links=()
if [ -n "$DELAY" ]; then
    built "$build/tests/relay" "$build/tests/sleeper.so"
    longest=$((8 * 1024 * 1024 + 65536))
    links=(--mca btl_tcp_flags 1 --mca btl_tcp_eager_limit "$longest" --mca btl_tcp_max_send_size "$longest")
fi
up_nodes() {
    if [ -n "$DELAY" ]; then
        $cluster up $nodes --delay "$DELAY" --rate "${RATE}mbit"
    else # a small bucket: no message passes faster than the rate
        $cluster up $nodes --rate "${RATE}mbit" --burst 3200
    fi
}

# PRELOAD: what is preloaded into the processes.
on_cluster() { # PROCESSES PER-NODE [OPTION...] -- PROGRAM...
    local processes=$1 ppn=$2 preload=${PRELOAD:-} gpus=(--gpus-per-node 1)
    shift 2
    [ "$ppn" = 1 ] || gpus=()
    [ -z "$DELAY" ] || preload="$build/tests/sleeper.so${preload:+:$preload}"
    timeout 120 $cluster run -n "$processes" --ppn "$ppn" "${gpus[@]}" --bind-to none --oversubscribe \
        --mca btl tcp,self,vader "${links[@]}" ${preload:+-x "LD_PRELOAD=$preload"} "$@"
}

# The nodes have no GPU: buffers of all kinds are in host memory, and copies among them take microseconds. How long each of
# several messages in flight takes is measured where links have a latency, which these share.
make_machine() {
    local parts='node|copies|reduce' samples=("$OUT/samples.csv")
    on_cluster 2 1 -- "$build/portolan-calibrate" --only ping_pong,copies --bytes "$SAMPLES" --budget 20 \
        --repeats 20 --machine netns --force --out "$OUT/samples.csv"
    if [ -n "$DELAY" ]; then
        parts+='|gap' samples+=("$OUT/samples-messages.csv")
        on_cluster 8 4 -- "$build/portolan-calibrate" --only multi_message --bytes 64:16KiB:4 --budget 25 \
            --repeats 20 --machine netns --force --out "$OUT/samples-messages.csv"
    fi
    "$portolan" fit "${samples[@]}" --node gpus=1,sockets=1,cores=1 --breaks cpu=none --name netns --out "$work/cpu.yaml" --force
    {
        echo "machine: netns"
        echo "source: portolan fit of samples*.csv beside this file, by $0; GPU messages are the host's"
        awk -v parts="^($parts):" '/^[a-z]/ { inside = $0 ~ parts } inside' "$work/cpu.yaml"
        sed -n '/^messages:/,/^[a-z]/p' "$work/cpu.yaml" |
            awk '/^  cpu:/ { inside = 1; next } !/^    / { inside = 0 } inside' >"$work/messages"
        echo "messages:" && echo "  cpu:" && cat "$work/messages" && echo "  gpu:" && cat "$work/messages"
    } >"$machine"
}

portolan_name() { if [ "$1" = bcast ]; then echo broadcast; else echo "$1"; fi; }
# place_of CALL is the caller's: where the buffers are that the model prices, and the strategy.
asked() { # CALL BYTES ALGORITHM
    echo --machine "$machine" --collective "$(portolan_name "$1")" --nodes $nodes --bytes "$2" --library "$3" \
        $(place_of "$1")
}
# The algorithm whose plan has the messages that Open MPI sends by itself; "-" if portolan has none.
recognize() { # CALL BYTES
    local algorithm
    rm -f "$work"/run.*.prof
    mpirun -n $nodes --oversubscribe --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
        --mca pml_monitoring_filename "$work/run" "$program" "$1" "$2" 1 >/dev/null
    awk '$1 == "I" { print $2 "," $3 "," $6 "," $4 }' "$work"/run.*.prof | sort >"$work/own"
    for algorithm in recursive_doubling ring rabenseifner bruck linear pairwise binomial_near_first binomial \
        scatter_allgather; do
        "$portolan" traffic $(asked "$1" "$2" $algorithm) --datatype byte 2>/dev/null |
            awk -F, '/^[0-9]/ { print $1 "," $2 "," $6 "," $7 }' | sort >"$work/planned"
        if [ -s "$work/planned" ] && cmp -s "$work/own" "$work/planned"; then echo $algorithm && return; fi
    done
    echo -
}
predicted() { # CALL BYTES ALGORITHM [--strategy NAME]
    [ "${3:--}" != - ] || { echo -; return; }
    "$portolan" predict $(asked "$@") "${@:4}" --format csv |
        awk -F, '/^#/ { next } !s { for (s = 1; $s != "seconds"; s++); next } { print $s; exit }'
}
run() { # CALL BYTES HOW [OPTION...]
    local call=$1 bytes=$2 how=$3
    shift 3
    on_cluster $nodes 1 "$@" -- "$program" "$call" "$bytes" "$CALLS" times | sed "s/^/$call,$bytes,$how,/" >>"$OUT/runs.csv"
}
median() { # CALL,BYTES,HOW
    grep "^$1," "$OUT/runs.csv" | cut -d, -f4 | sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
