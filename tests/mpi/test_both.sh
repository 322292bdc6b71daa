#!/usr/bin/env bash
# A program of MPI and NCCL with both drop-ins in front of it, on the host device.
# BUILD: where the programs were built (default build). SEED: of the random calls (default: the time).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/mpi/dropin_shell.sh
program=$build/tests/test_both
nccl=$build/libportolan-nccl.so
built "$program" "$nccl"
mixed() { # LD_PRELOAD [VARIABLES]
    rm -f "$report" "$report.nccl"
    under 2 LD_PRELOAD="$1" PORTOLAN_ASSUME=device PORTOLAN_MACHINE=h200-x2 PORTOLAN_NCCL_MACHINE=h200-x2-graph \
        PORTOLAN_MEMORY=64MiB "${@:2}" "$program" 60 "$seed"
}
both() {
    mixed "$@" && [ "$(grep -c 'MPI_Allreduce,.*,gas_' "$report")" -ge 30 ] && [ "$(grep -c 'ncclAll.*,gas_' "$report.nccl")" -ge 5 ]
}
check "each takes its calls" both "$library:$nccl"
check "with a report of its own" test "$(grep -c nccl "$report")$(grep -c MPI_ "$report.nccl")" = 00
check "and a summary of its own" has "^portolan:  *[0-9]* x allreduce .* gas_"
check "beside the other's" has "MPI_Allreduce .* gas_"
check "in the other order, too" both "$nccl:$library"
without() { # REPORT COMMAND...
    "${@:2}" && [ ! -e "$1" ]
}
check "with MPI's machine file alone, NCCL does its own" without "$report.nccl" mixed "$library:$nccl" PORTOLAN_NCCL_MACHINE=
check "and it says why" has "the costs of machine h200-x2 are those of runs that are waited for, and NCCL's are"
tuner=$build/libportolan-nccl-tuner.so
check "NCCL opens the tuner plugin where there are rules for it" mixed "$nccl" NCCL_TUNER_CONFIG_FILE=rules.csv
check "the one beside the library" has "^NCCL's tuner is $tuner$"
cp "$tuner" "$work/own.so"
check "but one that is named stays" mixed "$nccl" NCCL_TUNER_CONFIG_FILE=rules.csv NCCL_TUNER_PLUGIN="$work/own.so"
check "as it is" has "^NCCL's tuner is $work/own.so$"
check "without rules there is none" mixed "$nccl"
check "of portolan's" lacks "NCCL's tuner"
finish
