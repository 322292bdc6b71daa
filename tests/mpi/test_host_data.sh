#!/usr/bin/env bash
# A machine without GPUs from its measurement to its score: portolan-calibrate, fit, predict, portolan-validate,
# and the collectives fitted to. BUILD: where the programs were built (default build). Exits 77 without mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
built "$build/portolan-calibrate" "$build/portolan-validate" "$build/portolan"
export PORTOLAN_SEGMENTS=portolan-test$$

run() { # PROCESSES PROGRAM ARGUMENTS...
    local processes=$1 program=$2
    shift 2
    patiently 120 mpirun -n "$processes" --oversubscribe --mca mpi_yield_when_idle 1 "$build/$program" "$@"
}
portolan() { "$build/portolan" "$@"; }

# Without --machine's numbers of the host, whatever device calibrates: it has no GPU here.
export CUDA_VISIBLE_DEVICES=
check "two processes are measured" run 2 portolan-calibrate --only ping_pong,exchange,reduce,memcpy_h2h,signal_flag \
    --bytes 1:64KiB --budget 20 --repeats 8 --out "$work/samples.csv"
check "their samples have no GPU" has '^# node=.*, 0 GPUs, ' "$work/samples.csv"
# A busy machine's samples may not say what sending and receiving at once costs.
check "they are fitted" portolan fit "$work/samples.csv" --name here --out "$work/here.yaml"
check "to a machine without GPUs" has '^node: {sockets: [0-9]*, gpus: 0, ' "$work/here.yaml"
check "it has no costs of GPUs" lacks 'gpu: *$\|h2d' "$work/here.yaml"
sed -i 's/^\(node: .*cores:\) [0-9]*/\1 4/' "$work/here.yaml" # whatever this host has

for collective in allreduce reduce broadcast alltoall alltoallv allgather allgatherv reduce_scatter gather scatter; do
    check "$collective is run and compared with its reference" run 3 portolan-validate --machine "$work/here.yaml" \
        --collective $collective --nodes 1 --procs-per-node 3 --bytes 4:4096:1024 --check-only
done
check "so is a halo" run 4 portolan-validate --machine "$work/here.yaml" --collective halo --nodes 1 \
    --procs-per-node 4 --extent 8x8 --check-only
check "so is a pair" run 2 portolan-validate --machine "$work/here.yaml" --collective pair --bytes 64 --check-only
check "our own algorithms are run" run 4 portolan-validate --machine "$work/here.yaml" --collective allreduce --nodes 1 \
    --procs-per-node 4 --bytes 4KiB --own-algorithms --check-only
check "a schedule of nodes that are emulated" run 4 portolan-validate --machine "$work/here.yaml" --collective alltoall \
    --nodes 2 --procs-per-node 2 --placement identity --bytes 4KiB --check-only

check "times become rows" run 2 portolan-validate --machine "$work/here.yaml" --collective alltoall --nodes 1 \
    --procs-per-node 2 --bytes 64:16KiB:16 --repeats 5 --out "$work/rows.csv"
check "of both strategies" test "$(grep -c '^alltoall,library,\(mpi\|own_algorithm\),1,2,1,' "$work/rows.csv")" = 30
check "each of our algorithms makes a strategy" run 2 portolan-validate --machine "$work/here.yaml" --collective allreduce \
    --nodes 1 --procs-per-node 2 --bytes 16KiB --repeats 3 --each-algorithm --out "$work/each.csv"
check "its rows name it, the library's do not" test \
    "$(awk -F, '/^allreduce/ { print $3 "," $10 }' "$work/each.csv" | sort -u | tr '\n' ' ')" = \
    "mpi, own_algorithm,binomial own_algorithm,rabenseifner own_algorithm,recursive_doubling own_algorithm,ring "
check "which are scored" portolan score --machine "$work/here.yaml" "$work/rows.csv" --in-sample
check "and fitted to" portolan fit "$work/samples.csv" --collectives "$work/rows.csv" --name here --out "$work/fitted.yaml"
check "the library's table is of host memory" has '^    cpu:' <(sed -n '/^library:/,$p' "$work/fitted.yaml")

finish
