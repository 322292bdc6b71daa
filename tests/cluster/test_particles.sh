#!/usr/bin/env bash
# From a program to its placement: docs/examples/particles.c under the profiler on two namespace nodes, its traffic
# given to portolan map, and the program again with the mapped processes. The nodes' counters say what crossed the
# network, so that nothing depends on time.
# BUILD: where the programs were built (default build). Exits 77 where namespaces or mpirun can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
cluster=tests/cluster/cluster
needs mpirun
$cluster check || exit 77
program=$build/tests/example_particles
built "$program" "$build/libportolan-profile.so" "$build/portolan" "$build/portolan-validate"
export PORTOLAN_CLUSTER="particles$$"
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM

# Bytes that node 0 has sent.
sent() { ip -n "$PORTOLAN_CLUSTER-node0" -s link show eth0 | awk '/TX:/ { getline; print $1 }'; }
# run FILE OPTIONS...: the program; what node 0 sent meanwhile goes into the file.
run() {
    local file=$1 before
    shift
    before=$(sent)
    quietly patiently 200 $cluster run -n 8 --ppn 4 "$@" || return
    echo $(($(sent) - before)) >"$work/$file"
    sed 's/^/     /' "$work/stdout"
}
same_particles() { diff <(cut -d, -f1-8 "$work/traffic.csv") tests/fixtures/particles.csv >"$work/stdout"; }

$cluster up 2 --rate 400mbit
check "the program runs with its processes in order" run default -x LD_PRELOAD="$build/libportolan-profile.so" \
    -x PORTOLAN_PROFILE="$work/" -- "$program"
check "and is counted" same_particles
exchange=(--machine summit-spectrum --collective alltoallv --implementation isend_irecv --nodes 2 --gpus-per-node 4
    --procs-per-gpu 1 --strategy cuda_aware --counts "$work/traffic.csv")
check "its processes are mapped" quietly "$build/portolan" map "${exchange[@]}" --out "$work/placement.csv" --slurm-hosts "$work/hosts" --hosts "$PORTOLAN_CLUSTER-node0,$PORTOLAN_CLUSTER-node1"
check "the program runs with its processes as mapped" run mapped --hosts "$work/hosts" -- "$program"
echo "     node 0 sent $(cat "$work/default") bytes, and $(cat "$work/mapped") as mapped"
# Messages alone are 9.9 MB and 0.3 MB; the start of the processes comes on top.
check "what was predicted to leave the network has left it" \
    test $(($(cat "$work/default") - $(cat "$work/mapped"))) -gt 9000000
check "plans of such exchanges run as mapped" quietly patiently 200 $cluster run -n 8 --ppn 4 -- "$build/portolan-validate" \
    "${exchange[@]}" --placement-file "$work/placement.csv" --device host --check-only
check "and are right" has ' right$' "$work/stdout"
finish
