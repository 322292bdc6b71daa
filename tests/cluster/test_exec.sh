#!/usr/bin/env bash
# The executor on three namespace nodes over TCP, on the host device: random cases where nodes are real, then
# what goes wrong: a killed process, a cut link, a full /dev/shm. Each must end the whole job within 30 s, with
# an error that says why and with nothing left over. Rates don't matter here.
# BUILD: where the programs were built (default build). SEED: of the random cases (default: the time).
# CASES: how many of each shape (default 10). Exits 77 where namespaces or mpirun can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
cluster=tests/cluster/cluster
needs mpirun
$cluster check || exit 77
test_exec=$build/tests/test_exec
built "$test_exec"
limit_s=600
export PORTOLAN_CLUSTER="portolan$$"
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM

run() { # PROCESSES PER-NODE ARGUMENTS...
    local processes=$1 ppn=$2
    shift 2
    quietly patiently 200 $cluster run -n "$processes" --ppn "$ppn" "$@"
}

# Start a run that would last for hours, COMMAND once it is under way, and see that the job fails in time.
disturbed() { # COMMAND...
    $cluster run -n 6 --ppn 2 -- "$test_exec" repeats 1000000000 "$seed" >"$work/stdout" 2>"$work/stderr" &
    local job=$! began status=0
    until grep -q '^test_exec: repeats on' "$work/stdout"; do
        kill -0 $job 2>/dev/null || { echo "     the job never ran"; return 1; }
        sleep 0.1
    done
    sleep 1
    "$@"
    began=$SECONDS
    while kill -0 $job 2>/dev/null || ! gone; do
        if [ $((SECONDS - began)) -gt $limit_s ]; then
            kill -9 $job 2>/dev/null
            echo "     still there after $limit_s s: $($cluster processes)"
            return 1
        fi
        sleep 0.2
    done
    wait $job || status=$?
    echo "     exit $status after $((SECONDS - began)) s"
    [ $status -ne 0 ]
}

gone() { [ -z "$($cluster processes)" ]; }

kill_one() { # NODE
    local pid
    for pid in $($cluster processes | sed -n "s/^node $1: //p"); do
        [ "$(cat "/proc/$pid/comm")" != test_exec ] || { kill -9 "$pid"; return; }
    done
    echo "     nothing to kill on node $1"
}

# Our segments soon have no names; Open MPI's carry that of the node.
export PORTOLAN_SEGMENTS=$PORTOLAN_CLUSTER-segments
segments() { find /dev/shm \( -name "$PORTOLAN_SEGMENTS-*" -o -name "vader_segment.$PORTOLAN_CLUSTER-*" \) | wc -l; }
clean() { gone && [ "$(segments)" -eq 0 ]; }

# --- where nodes are real

seed=${SEED:-$(date +%s)}
echo "     seed $seed"
$cluster up 3 --rate 1gbit
if ! run 3 1 -- true; then
    echo "test_exec: skipped: mpirun can't start processes on the nodes: $(grep -m 1 '[a-z]' "$work/stderr")"
    exit 77
fi
check "random cases on 1 to 3 nodes x 1 to 2 GPUs x 1 to 3 processes are right" \
    run 18 6 -- "$test_exec" shapes "${CASES:-10}" "$seed" host 3x2x3
check "one plan runs 300 times under random delays" run 6 2 -- "$test_exec" repeats 300 "$seed"
check "different plans are noticed before data moves" run 6 2 -- "$test_exec" different

# --- what goes wrong

check "a killed process ends the job" disturbed kill_one 1
check "and mpirun says which" has 'node1 exited on signal 9'
check "nothing is left over" clean

full() { ! run 6 2 --shm 1=32m -- "$test_exec" full $((64 << 20)); }
check "a full /dev/shm ends the job" full
check "and each process is told whose it was" test \
    "$(grep -c 'MPI rank 2: posix_fallocate in /dev/shm: No space left' "$work/stderr")" -eq 6
check "nothing is left over" clean

check "a cut link ends the job" disturbed $cluster cut 1
check "and mpirun or a process says so" has "lost communication with a remote daemon\|portolan: rank .* ending the job"
check "nothing is left over" clean

finish
