#!/usr/bin/env bash
# The drop-in for NCCL on the host device, in front of a small NCCL: random calls with known results.
# BUILD: where the programs were built (default build). SEED: of the random calls (default: the time).
# CALLS: how many (default 300).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
program=$build/tests/test_nccl_dropin
built "$program"
export PORTOLAN_DEVICE=host
seed=${SEED:-$(date +%s)}
echo "     seed $seed"
calls() { env "${@:2}" timeout 300 "$program" "${CALLS:-300}" "$seed" "$1"; }
says() { calls "${@:2}" 2>&1 | grep "$1" >/dev/null; }
links_no_mpi() { ! ldd "$build/libportolan-nccl.so" | grep -i 'libmpi'; }
check "the library links no MPI" links_no_mpi
check "processes go through a door together or not at all" tests/bin/patiently 60 "$program" 0
for n in 2 4; do check "without a machine file all calls of $n processes are NCCL's" calls "$n"; done
export PORTOLAN_MACHINE=h200-x2-graph
check "random calls are right" calls 2 PORTOLAN_GRAPHS=1
allreduce_alone() {
    local taken
    taken=$(calls 2 PORTOLAN_TAKE=allreduce PORTOLAN_EXPLAIN=1 2>&1) && [[ $taken == *" x allreduce "* ]] &&
        [[ $taken != *" x reduce_scatter "* ]]
}
check "and where allreduces alone are taken" allreduce_alone
check "another word is not followed in silence" says "neither that nor all" 2 PORTOLAN_TAKE=some
check "the summary tells what was taken" says "reduce_scatter.*bytes: gas_split" 2 PORTOLAN_EXPLAIN=1
check "in little memory, what does not fit is NCCL's" calls 2 PORTOLAN_MEMORY=64KiB
check "and so is what comes after the last kind that is priced" calls 2 PORTOLAN_PLANS=5
check "a machine file of runs that are waited for is refused" says "left to NCCL" 2 PORTOLAN_MACHINE=h200-x2
finish
