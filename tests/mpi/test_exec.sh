#!/usr/bin/env bash
# The executor under mpirun on this machine, on the host device.
# BUILD: where the programs were built (default build). SEED: of the random cases (default: the time).
# CASES: how many (default 2000). REPEATS: of one plan with random delays (default 1000).
# Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
test_exec=$build/tests/test_exec
test_streams=$build/tests/test_streams
test_register=$build/tests/test_register
test_memory=$build/tests/test_memory
test_open=$build/tests/test_open
example=$build/tests/example_allreduce
built "$test_exec" "$test_streams" "$test_register" "$test_memory" "$test_open" "$example"

run() { launch 300 -n "$@"; } # PROCESSES PROGRAM ARGUMENTS...
# Ours alone: other jobs on this machine have segments too.
export PORTOLAN_SEGMENTS=portolan-test$$
segments() { find /dev/shm -name "$PORTOLAN_SEGMENTS-*" | wc -l; }

# --- the executor

seed=${SEED:-$(date +%s)}
echo "     seed $seed"
check "${CASES:-2000} random cases on up to 9 processes are right" run 9 "$test_exec" cases "${CASES:-2000}" "$seed"
check "and so are 100 halo exchanges on 6" run 6 "$test_exec" cases:halo 100 "$seed"
check "min and max of NaNs and zeros leave the same bits on all processes" run 9 "$test_exec" specials 200 "$seed"
check "every datatype is reduced by every operation that it has" run 4 "$test_exec" types 2 "$seed"
check "one plan runs ${REPEATS:-1000} times under random delays" run 4 "$test_exec" repeats "${REPEATS:-1000}" "$seed"
for what in mix mix_doubling mix_learning; do
    check "and so does one with mixed copies ($what)" run 4 "$test_exec" repeats:$what "${REPEATS:-1000}" "$seed"
done
check "and so does a halo exchange through rings" run 4 "$test_exec" repeats:shm_ring "${REPEATS:-1000}" "$seed"
check "and so does one whose kernels signal each other" run 4 "$test_exec" repeats:gas_split "${REPEATS:-1000}" "$seed"
for processes in 2 3; do
    check "random programs in streams and graphs are right on $processes" run $processes "$test_streams" random 100 "$seed"
    check "and so are runs of each plan in graphs" run $processes "$test_streams" replays "${REPEATS:-1000}" "$seed"
done
check "random programs of kernels with many operands are right" run 6 "$test_streams" random 40 "$seed"
for processes in 1 2 3; do
    check "messages and flags in host memory are not enqueued on $processes" run $processes "$test_streams" refusals
done
for processes in 2 3; do
    check "memory is registered by all of $processes or by none, and closed" run $processes "$test_register"
done
for processes in 2 3; do
    check "enqueued runs that wait in vain end with an error on $processes" run $processes "$test_streams" absent
done
for processes in 2 3; do
    check "executors that allocate the buffers of two patterns are right on $processes" run $processes "$test_open"
done
check "executors that get no memory fail on all processes, and later ones do not" run 3 "$test_memory"
check "different plans are noticed before data moves" run 2 "$test_exec" different
check "wrong placements, long counts and what one process cannot queue are refused everywhere" run 2 "$test_exec" refusals
for processes in 2 3; do
    check "rings of host memory deliver every chunk ($processes processes)" run $processes "$test_exec" rings 3 "$seed"
done
for processes in 2 3; do
    check "pipelines and branches are right in lanes ($processes processes)" run $processes "$test_exec" lanes 2 "$seed"
done
check "data of short kernels carry their flags" run 3 "$test_exec" lines
check "a process that never runs ends the job" fails_itself run 3 "$test_exec" absent
check "the watchdog names rank and stage" has "portolan: rank .* in stage 'round'.* ending the job" "$work/stderr"
for what in timeout timeout:mix timeout:mix_doubling timeout:mix_learning timeout:gas_split timeout:chunk_pipeline timeout:two_halves \
    timeout:shm_ring; do
    check "or is a timeout that the others get as an error ($what)" run 3 "$test_exec" $what
    check "and nothing is printed" test ! -s "$work/stderr"
done
for what in sleep sleep:gsb sleep:gas_split; do
    check "processes that sleep while they wait take little CPU time ($what)" run 3 "$test_exec" $what
done
check "a sender that never fills its rings ends the job" fails_itself run 3 "$test_exec" absent:host_ring
check "a process that never runs ends the job of a pipeline" fails_itself run 3 "$test_exec" absent:chunk_pipeline
check "the watchdog names lane and chunk" has \
    "portolan: rank .* in stage 'messages', lane 1, chunk 0: waiting for messages.* ending the job" "$work/stderr"
check "a process that never runs ends the job of a policy" fails_itself run 3 "$test_exec" absent:mix_doubling
check "the watchdog names the choice" has "in stage 'gather', lane [0-9], k [0-9]: waiting for a choice.* ending the job" \
    "$work/stderr"
check "a kernel whose peer never runs ends the job" fails_itself run 3 "$test_exec" absent:gas_split
check "the watchdog names the kernel" has "portolan: rank .* in stage 'launch'.* in a kernel.* ending the job" \
    "$work/stderr"

ends_by_itself() { # COMMAND...: not with success, nor by a time-out
    local status=0
    "$@" || status=$?
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
}
for what in killed killed:mix killed:mix_doubling killed:mix_learning killed:gas_split killed:host_ring killed:chunk_pipeline \
    killed:shm_ring; do
    check "a killed process ends the job ($what)" ends_by_itself run 4 "$test_exec" $what
    check "and mpirun says which" has "exited on signal 9" "$work/stderr"
done
check "no shared memory is left over" test "$(segments)" -eq 0
check "the example runs" run 3 "$example"
check "the example is right" test "$(grep -c ': 6$' "$work/stdout")" -eq 3

finish
