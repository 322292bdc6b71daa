#!/usr/bin/env bash
# The table of portolan-validate: that it follows from the rows in its file and from predictions, and what both say of
# a job. BUILD: where the programs were built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
validate=$build/portolan-validate portolan=$build/portolan
built "$validate" "$portolan"
export PORTOLAN_SEGMENTS=portolan-test$$

# job COLLECTIVE STRATEGIES ARGUMENTS...: 4 processes, 2 on each of 2 GPUs
job() {
    local collective=$1 strategies=$2
    shift 2
    asked=(--machine h200-x4 --collective "$collective" --nodes 1 --gpus-per-node 2 --procs-per-gpu 2
        --bytes 64:4096:64 --strategy "$strategies")
    launch 120 -n 4 "$validate" "${asked[@]}" --force --out "$work/rows.csv" "$@" &&
        "$portolan" predict "${asked[@]}" --all --format csv >"$work/predictions.csv"
}
agrees() { python3 -B tests/mpi/validate_table.py "$work/stdout" "$work/rows.csv" "$work/predictions.csv" >&2; }
columns() { sed -n '/^collective,/p' "$work/rows.csv"; }
one_row() { sed -n "/^$1,/{p;q}" "$work/rows.csv" | cut -d, -f "1-$2"; }

check "an allreduce is timed" job allreduce three_step,dup_devptr,gas_read --repeats 9
check "its table follows from its rows" agrees
check "its columns" test "$(columns)" = "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds,chunks"
check "one process of each GPU takes part" test "$(one_row allreduce,library,three_step 8)" = "allreduce,library,three_step,1,2,1,64,1"
check "or both" test "$(one_row allreduce,library,dup_devptr 8)" = "allreduce,library,dup_devptr,1,2,2,64,1"
for line in machine=h200-x4 device=host processes=4 datatype=float op=sum clock=CLOCK_MONOTONIC "portolan=$("$portolan" --version | sed 's/^portolan //')"; do
    check "its file says $line" has "^# $line$" "$work/rows.csv"
done
check "and what was called" has "^# command=$validate --machine h200-x4 --collective allreduce .*--repeats 9$" "$work/rows.csv"
check "its table says what it is of" has "^# validate: allreduce on device host, against the machine h200-x4$" "$work/stdout"
check "on which layout" has "^# layout: 1 nodes x 2 GPUs x 2 processes, 1 of them owners$" "$work/stdout"
check "and that no GPU took part" has "^# the device is host memory: these are not GPU times$" "$work/stdout"

check "few repeats are timed" job alltoall three_step,cuda_aware --repeats 2 --datatype double
check "their interval is all of them" agrees
check "many are" job allgather three_step,gsb --repeats 40
check "their interval is the middle" agrees
check "the maximum of integers is timed" job reduce three_step,cuda_aware --repeats 4 --op max --datatype int32
check "as such" has "^# op=max$" "$work/rows.csv"
check "and its table follows from its rows" agrees

check "bandwidths are printed" launch 120 -n 4 "$validate" --machine h200-x4 --collective allreduce --nodes 1 --gpus-per-node 4 \
    --procs-per-gpu 1 --bytes 64KiB:4MiB:64 --strategy three_step,cuda_aware --repeats 3 --bandwidth both --force --out "$work/rows.csv"
check "in two columns" has '^# Bytes .* algbw  *busbw$' "$work/stdout"
"$portolan" predict --machine h200-x4 --collective allreduce --nodes 1 --gpus-per-node 4 --procs-per-gpu 1 --bytes 64KiB:4MiB:64 \
    --strategy three_step,cuda_aware --all --format csv >"$work/predictions.csv"
check "as nccl-tests defines them" agrees

check "results alone are checked" job allreduce three_step,dup_devptr --check-only
check "which takes no times" has "^# results only, no times$" "$work/stdout"
check "and says which algorithm is right" test "$(grep -c '(library) *right$' "$work/stdout")" = 4
check "its file has no rows" test "$(grep -vc '^#' "$work/rows.csv")" = 1

check "our own algorithms are timed" job allreduce three_step --repeats 3 --own-algorithms
check "and named in a column" test "$(columns | cut -d, -f 10) $(one_row allreduce 10 | cut -d, -f 10)" = "algorithm recursive_doubling"
check "whose table does not call them the library's" lacks "(library)" "$work/stdout"

# The pairs of numbers of staged members: both pure ones first, then those that differ from the cheapest, 3/0, in one.
check "a cross of pairs is timed" launch 120 -n 4 "$validate" --machine h200-x2 --collective allgather --nodes 1 --gpus-per-node 1 \
    --owners-per-gpu 4 --procs-per-gpu 4 --strategy mix --staged cross --bytes 64 --repeats 2 --force --out "$work/rows.csv"
pairs() { awk -F, '/^allgather/ { print $(NF - 1) "/" $NF }' "$work/rows.csv" | uniq | tr '\n' ' '; }
check "nothing and all first" test "$(pairs)" = "0/0 3/3 1/0 2/0 3/0 3/1 3/2 "

check "each once" test "$(grep -c '^ *64 ' "$work/stdout")" = 7

finish
