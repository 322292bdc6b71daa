#!/usr/bin/env bash
# Calls that run at once on the communicators of a grid: measured on 4 namespace nodes of two processes each with MPI's
# non-blocking collectives, and predicted and simulated by `portolan step` from a machine file whose numbers
# portolan-calibrate measures here, on pairs of processes. Baselines: the longest part, and the sum of all parts. A
# part is one call on one communicator, priced as if nothing else ran.
#
# Usage: OUT=FOLDER steps.sh
# Environment: BUILD (default build); RATE, Mbit/s of each node's link in each direction (default 10); REPEATS (default 5).
# Leaves under OUT: samples.csv, machine.yaml, calls.yaml (the workload), runs.csv (each run), errors.csv.
# Exits 77 where namespaces can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun python3
cluster=tests/cluster/cluster
$cluster check || exit 77
: "${OUT:?is the folder for the results}" "${RATE:=10}" "${REPEATS:=5}"
portolan=$build/portolan
built "$build/portolan-calibrate" "$portolan" "$build/tests/test_calls"
mkdir -p "$OUT"
export PORTOLAN_CLUSTER=${PORTOLAN_CLUSTER:-steps$$}
unset PORTOLAN_EMULATED_GPUS
export CUDA_VISIBLE_DEVICES=
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM
nodes=4 per_node=2 machine=$OUT/machine.yaml
workload=$OUT/calls.yaml

# As in tree.sh: no rendezvous, whose answers would wait in long queues.
eager=$((64 << 20))
on_cluster() { # PROCESSES PER-NODE [OPTION...] -- PROGRAM...
    local processes=$1 ppn=$2
    shift 2
    timeout "${LIMIT:-400}" $cluster run -n "$processes" --ppn "$ppn" --bind-to none --oversubscribe \
        --mca btl tcp,self,vader --mca btl_tcp_eager_limit $eager --mca btl_tcp_rndv_eager_limit $eager \
        --mca btl_tcp_max_send_size $eager --mca coll_libnbc_iallreduce_algorithm 1 --mca coll_libnbc_iallgather_algorithm 1 \
        --mca coll_libnbc_ibcast_algorithm 2 "$@"
}

# The nodes have no GPU: buffers of all kinds are in host memory.
make_machine() {
    on_cluster 4 2 -- "$build/portolan-calibrate" --only ping_pong,injection --bytes 64KiB:1MiB:2 --budget 25 \
        --repeats 10 --machine netns --force --out "$OUT/samples.csv"
    "$portolan" fit "$OUT/samples.csv" --node gpus=2,sockets=1,cores=2 --breaks cpu=none --name netns-steps \
        --out "$work/cpu.yaml" --force
    {
        echo "machine: netns-steps"
        echo "source: portolan fit of samples.csv beside this file, by tests/cluster/steps.sh; GPU messages are the host's"
        echo "node: {sockets: 1, gpus: $per_node, cores: $per_node}"
        awk '/^  cpu:/ { inside = 1; next } !/^    / { inside = 0 } inside' "$work/cpu.yaml" >"$work/messages"
        echo "messages:" && echo "  cpu:" && cat "$work/messages" && echo "  gpu:" && cat "$work/messages"
        awk '/^injection:/ { inside = 1; print; next } /^[a-z]/ { inside = 0 } inside && /cpu:/ { print; sub("cpu:", "gpu:"); print }' "$work/cpu.yaml"
    } >"$machine"
}

# Every process has a place in the grid far x near x local: the nodes are far x near, local is within a node.
cat >"$workload" <<'TEXT'
# What tests/cluster/steps.sh runs: two to four calls at once on the communicators of a grid.
workload: calls at once on sub-communicators
machine: machine.yaml
layout: {nodes: 4, gpus_per_node: 2, procs_per_gpu: 1}
grid: {far: 2, near: 2, local: 2}
step:
  - {call: 2 alltoalls, on: [far, near], collective: alltoall, library: linear, bytes: 64KiB}
  - {call: 2 allreduces, on: [far, near], collective: allreduce, library: ring, bytes: 256KiB}
  - {call: 2 allgathers, on: [far, near], collective: allgather, library: linear, bytes: 64KiB}
  - {call: 2 broadcasts, on: [far, near], collective: broadcast, library: binomial_near_first, bytes: 128KiB}
  - {call: 4 alltoalls of 2, on: near, collective: alltoall, library: linear, bytes: 256KiB}
  - {call: 4 allreduces of 2, on: far, collective: allreduce, library: ring, bytes: 256KiB}
  - {call: 2 alltoalls of half, on: [near, local], collective: alltoall, library: linear, bytes: 128KiB}
  - {call: 2 allgathers of half, on: [far, local], collective: allgather, library: linear, bytes: 128KiB}
  - at_once:
    - {call: rows, on: far, collective: alltoall, library: linear, bytes: 256KiB}
    - {call: columns, on: near, collective: allreduce, library: ring, bytes: 256KiB}
  - at_once:
    - {call: gather, on: [far, near], collective: allgather, library: linear, bytes: 64KiB}
    - {call: inside, on: local, collective: alltoall, library: linear, bytes: 256KiB}
  - at_once:
    - {call: halves, on: [near, local], collective: allgather, library: linear, bytes: 128KiB}
    - {call: pairs, on: far, collective: broadcast, library: binomial_near_first, bytes: 256KiB}
  - at_once:
    - {call: all, on: [far, near], collective: alltoall, library: linear, bytes: 64KiB}
    - {call: sums, on: [far, near], collective: allreduce, library: ring, bytes: 128KiB}
  - at_once:
    - {call: one, on: far, collective: allgather, library: linear, bytes: 128KiB}
    - {call: two, on: near, collective: broadcast, library: binomial_near_first, bytes: 128KiB}
    - {call: three, on: local, collective: allreduce, library: ring, bytes: 128KiB}
TEXT

# A small bucket: no message passes faster than the rate.
$cluster up $nodes --tree $nodes --rate "${RATE}mbit" --burst 3200
[ -n "${KEEP_MACHINE:-}" ] || make_machine
{
    echo "# date=$(date -u +%Y-%m-%d) cores=$(nproc) load=$(cut -d' ' -f1 /proc/loadavg) mpi=$(mpirun --version | head -n 1)"
    echo "# OUT=... RATE=$RATE REPEATS=$REPEATS tests/cluster/steps.sh"
    echo "entry,run,seconds"
    on_cluster $((nodes * per_node)) $per_node -- "$build/tests/test_calls" "$workload" "$machine" "$REPEATS"
} >"$OUT/runs.csv"
python3 tests/cluster/steps.py "$workload" "$machine" "$OUT/runs.csv" "$portolan" | tee "$OUT/errors.csv"
