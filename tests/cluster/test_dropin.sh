#!/usr/bin/env bash
# The drop-in under programs that know their results, on two namespace nodes: agreement by messages, and plans
# whose ranks are not MPI's.
# BUILD: where the programs were built (default build). SEED: of the random programs (default: the time).
# Exits 77 where namespaces or mpirun can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
cluster=tests/cluster/cluster
needs mpirun
$cluster check || exit 77
program=$build/tests/test_dropin
library=$build/libportolan-mpi.so
built "$program" "$library"
export PORTOLAN_CLUSTER="dropin$$"
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM
seed=${SEED:-$(date +%s)}
echo "     seed $seed"
settings=(-x LD_PRELOAD="$library" -x PORTOLAN_HOST=0 -x PORTOLAN_DEVICE=host -x PORTOLAN_REPORT="$work/calls.csv"
    -x PORTOLAN_MACHINE="$PWD/scenarios/machines/h200-2x2-tcp.yaml")

runs() { # OPTIONS... -- COMMAND...
    rm -f "$work/calls.csv"
    quietly patiently 200 $cluster run -n 4 --ppn 2 "${settings[@]}" "$@"
}
taken() { tail -n +2 "$work/calls.csv" | awk -F, '$11 != "mpi"' | wc -l; }
takes() { "${@:2}" && [ "$(taken)" -ge "$1" ]; } # AT_LEAST COMMAND...
takes_none_below() { # BYTES
    tail -n +2 "$work/calls.csv" | awk -F, -v least="$1" '$11 != "mpi" && $4 != "MPI_Alltoallv" && $9 < least { bad = 1 } END { exit bad }'
}

$cluster up 2 --rate 400mbit
check "random calls on two nodes" runs -- "$program" random 150 "$seed"
check "only large ones are taken" takes_none_below 65536
check "of all sizes, by messages" takes 20 runs -x PORTOLAN_AGREE=messages -- "$program" random 150 "$seed"
check "by the user's promise" takes 20 runs -x PORTOLAN_ASSUME=device -- "$program" random 150 "$seed"
check "several threads, where each process acts alone" takes 20 runs -x PORTOLAN_STRATEGY=three_step -- "$program" threads 60 "$seed"
check "a large allreduce" takes 3 runs -- "$program" repeat 3 262144
check "what must be left to MPI" runs -x PORTOLAN_AGREE=messages -- "$program" special

# Host buffers: agreement between nodes costs a message, whose price an allreduce alone can pay for; or a promise.
settings=(-x LD_PRELOAD="$library" -x PORTOLAN_HOST=1 -x PORTOLAN_REPEATS=0 -x PORTOLAN_REPORT="$work/calls.csv" -x PORTOLAN_MACHINE="$PWD/tests/fixtures/slow-library.yaml")
routines() { tail -n +2 "$work/calls.csv" | awk -F, '$11 == "own_algorithm" { print $4 }' | sort -u | tr '\n' ' '; }
check "host buffers on two nodes, whose memory may differ" runs -- "$program" random 150 "$seed"
check "the same calls each time" runs -- "$program" random 150 1
check "allreduces are taken, after a message" [ "$(routines)" = "MPI_Allreduce " ]
check "all by the user's promise" takes 20 runs -x PORTOLAN_ASSUME=host -- "$program" random 150 1
check "other collectives as well" [ "$(routines | wc -w)" -ge 5 ]
check "what must be left to MPI on host buffers" runs -x PORTOLAN_ASSUME=host -x PORTOLAN_AGREE=messages -- "$program" special
finish
