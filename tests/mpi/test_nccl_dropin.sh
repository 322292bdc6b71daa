#!/usr/bin/env bash
# The drop-in for NCCL on the host device, in front of a small NCCL: random calls with known results.
# BUILD: where the programs were built (default build). SEED: of the random calls (default: the time).
# CALLS: how many (default 700). GROUPS_OF: of messages (default 100). NCCL_CALLS: of them once, under a driver (default CALLS).
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
program=$build/tests/test_nccl_dropin
comms=$build/tests/test_nccl_comms
messages=$build/tests/test_nccl_messages
built "$program" "$comms" "$messages" "$build/tests/fake_cuda/libcuda.so.1"
export PORTOLAN_DEVICE=host
seed=${SEED:-$(date +%s)}
echo "     seed $seed"
calls() { env PORTOLAN_PLANS=4096 PORTOLAN_MEMORY=64MiB "${@:2}" timeout "${limit:-300}" "$program" "${CALLS:-700}" "$seed" "$1"; }
few() { CALLS=200 calls "$@"; }
many() { CALLS=${NCCL_CALLS:-} limit=${NCCL_CALLS:+0} calls "$@"; }
says() { calls "${@:2}" 2>&1 | grep "$1" >/dev/null; }
links_no_mpi() { ! ldd "$build/libportolan-nccl.so" | grep -i 'libmpi'; }
check "the library links no MPI" links_no_mpi
check "processes go through a door together or not at all" tests/bin/patiently 60 "$program" 0
for n in 2 4; do check "without a machine file all calls of $n processes are NCCL's" calls "$n"; done
export PORTOLAN_MACHINE=h200-x2-graph
driven=(FAKE_DRIVER=1 LD_LIBRARY_PATH="$build/tests/fake_cuda")
check "random calls are right" few 2 EXPECT_TAKEN=1
check "and under a driver, with its contexts and captures" many 2 EXPECT_TAKEN=1 "${driven[@]}"
check "and where the machine file prices none of three processes" calls 3
two_alone() {
    local taken
    taken=$(calls 2 PORTOLAN_TAKE=allreduce,broadcast PORTOLAN_EXPLAIN=1 2>&1) &&
        [[ $taken == *" x allreduce "* && $taken == *" x broadcast "* ]] &&
        [[ $taken != *" x reduce"* && $taken != *" x all"[gt]* ]]
}
check "and where two collectives alone are taken" two_alone
turned_off() { [[ $(calls 2 PORTOLAN_DROPIN=0) =~ ([0-9]+)\ calls\ of\ 2\ processes,\ ([0-9]+)\  && ${BASH_REMATCH[1]} = "${BASH_REMATCH[2]}" ]]; }
check "PORTOLAN_DROPIN=0 turns it off" turned_off
check "and no other word does" few 2 PORTOLAN_DROPIN=1 EXPECT_TAKEN=1
check "what is no number of plans is ignored, and told" says "PORTOLAN_PLANS=0 is ignored" 2 PORTOLAN_PLANS=0
check "another word is not followed in silence" says "'some' is not a collective" 2 PORTOLAN_TAKE=some
summary() {
    local taken name
    taken=$(calls 2 PORTOLAN_EXPLAIN=1 2>&1) || return
    for name in allreduce reduce broadcast allgather reduce_scatter alltoall; do
        grep -q " x $name .*bytes: gas_" <<<"$taken" || return
    done
}
check "the summary tells that all collectives are taken" summary
# NCCL_DEBUG=INFO: what was chosen for each kind of call, and why it is NCCL's.
informs() { # of calls that have all of these kinds
    local seed=1 price='predicted [0-9.]* us, NCCL.s [0-9.]* us'
    calls 2 NCCL_DEBUG=INFO >"$work/stdout" 2>"$work/stderr" || return
    grep -q "^portolan: INFO allreduce of [0-9]* bytes, float, on 2 GPUs: gas_[a-z]*, $price$" "$work/stderr" &&
        grep -q "^portolan: INFO alltoall of [0-9]* bytes, byte, on 2 GPUs: gas_[a-z]*, $price$" "$work/stderr" || return
    calls 2 NCCL_DEBUG=INFO PORTOLAN_STRATEGY=gas_tree >"$work/stdout" 2>"$work/stderr" || return
    grep -q "^portolan: INFO broadcast of [0-9]* bytes, byte, on 2 GPUs: NCCL, $price: no kernel applies$" "$work/stderr"
}
check "each choice is told with its price, and with the reason if it is NCCL" informs
check "without NCCL_DEBUG=INFO none is" test -z "$(calls 2 2>&1 >/dev/null)"
four=$work/four.yaml
cat >"$four" <<'END'
machine: four
source: "four GPUs as fast as two"
inherits: h200-x2-graph
runs: graph
node: {sockets: 1, gpus: 4, cores: 32}
END
check "calls of four processes are right, too" few 4 PORTOLAN_MACHINE="$four" EXPECT_TAKEN=1 \
    PORTOLAN_STRATEGY=gas_allgather
for strategy in gas_gather gas_tree gas_split; do
    check "and of three, by $strategy where it applies" few 3 PORTOLAN_MACHINE="$four" \
        PORTOLAN_STRATEGY="$strategy"
done
of_all_kinds() {
    PORTOLAN_MACHINE=$four PORTOLAN_STRATEGY=gas_allgather PORTOLAN_MEMORY=32MiB timeout 300 "$comms" "$@"
}
for n in 2 3 4; do check "communicators of $n processes, groups, threads, and what is NCCL's" of_all_kinds $n; done
of_messages() {
    PORTOLAN_MACHINE=$four PORTOLAN_STRATEGY=gas_allgather PORTOLAN_MEMORY=96MiB PORTOLAN_MESSAGES=100000 \
        timeout 300 "$messages" "${GROUPS_OF:-100}" "$seed" "$@" 2>"$work/stderr" || { cat "$work/stderr"; return 1; }
}
for n in 2 3 4; do check "groups of messages of $n processes" of_messages $n; done
check "what is wrong is told" grep -q '^portolan: messages of rank 0: it does not receive what it sends to itself$' "$work/stderr"
for setting in "PLANS 7" "MEMORY 16MiB" "TAKE allreduce" "MESSAGES 1KiB" "STRATEGY gas_tree"; do
    check "where a process has another ${setting% *}, all calls are NCCL's" of_all_kinds 2 PORTOLAN_$setting
done
# Of all calls, by process 0: a line each, with the route that the summary says; replay reads them.
report() {
    local rows=$work/report.csv taken
    calls 2 PORTOLAN_REPORT="$rows" PORTOLAN_EXPLAIN=1 >"$work/summary" 2>&1 || return
    taken=$(awk '/ x / && !/NCCL/ { n += $2 } END { print n }' "$work/summary")
    [ "$(grep -c ',gas_' "$rows")" = "$taken" ] || return
    grep -q '^0,[0-9.]*,[0-9.]*,ncclBroadcast,[0-9a-f]*,2,[01],,[0-9]*,gpu,gas_allgather,[0-9.e-]*,' "$rows" || return
    # Of a taken alltoall, the summary has the bytes of a block, the row those of both.
    awk -F'[ ,]+' 'NR == FNR { if ($4 == "alltoall") known[2 * $6] = 1; next }
        /,ncclAlltoAll,.*,gas_/ { n++; split($0, cell, ","); wrong += !(cell[9] in known) } END { exit !(n && !wrong) }' \
        "$work/summary" "$rows" || return
    grep -q '^0,[0-9.]*,[0-9.]*,ncclAllReduce,[0-9a-f]*,2,,,[0-9]*,gpu,nccl,' "$rows" || return
    "$build/portolan" replay "$rows" --machine h200-x2-graph >"$work/replayed" || return
    ! grep -q measured "$work/replayed" && grep -q "^# calls  *$(grep -c '^0,' "$rows") of " "$work/replayed"
}
check "the report has all calls, and replay reads it" report
check "in little memory, what does not fit is NCCL's" calls 2 PORTOLAN_MEMORY=64KiB
check "and so is what comes after the last kind that is priced" calls 2 PORTOLAN_PLANS=5
check "a machine file of runs that are waited for is refused" says "left to NCCL" 2 PORTOLAN_MACHINE=h200-x2
started() { [ "$("$build/portolan" run --machine h200-x2-graph printenv LD_PRELOAD 2>"$work/said")" = "$build/libportolan-nccl.so" ]; }
check "portolan run puts it in front, for machine files of such runs" started
check "and says so" grep -q "libportolan-nccl.so is in front of NCCL" "$work/said"
refused() {
    ! "$build/portolan" run --machine h200-x2 torchrun 2>"$work/said" && grep -q "costs of runs that are waited" "$work/said"
}
check "torchrun is not started with the costs of others" refused
finish
