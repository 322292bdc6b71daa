#!/usr/bin/env bash
# `make gpu-suite` on the host device: cut off in the middle, resumed, and that what was finished is not done
# again and nothing is missing in the end. What its check step runs is small here; make check-gpu is its own.
# Nothing here depends on how long anything took. BUILD: where the programs were built (default build). Exits 77 where
# there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM # the suite's own matter

small=(BUILD="$build" OUT="$work/out" DEVICE=host GPUS=1 BUDGET=1 COLLECTIVES="allreduce broadcast" BYTES=64:64KiB:1024
    CORES=2 REPEATS=3 CASES=1 NAME=dry)
said=$work/stdout
suite() { env "${small[@]}" "$@" tests/gpu/suite.sh >"$said" 2>&1; }
stamps() { find "$work/out/done" -type f -printf '%f %T@\n' | sort; }
results() { find "$work/out/results" -type f -name 'samples-*' -printf '%f %T@\n' | sort; }

cp -r "$build/flags" "$work/flags"

# --- wrong usage

check "a limit that is no number is refused" exits 2 suite LIMIT=soon
check "and told why" has "LIMIT='soon' is no whole number" "$said"
check "an unknown device is refused" exits 2 suite DEVICE=abacus
if ! command -v nvidia-smi >/dev/null; then
    check "GPUs that are not there are refused" exits 2 suite DEVICE=cuda
    check "with a way out" has "DEVICE=host makes a dry run" "$said"
fi

# --- no time, cut off, resumed

check "a limit too short for anything ends with 3" exits 3 suite LIMIT=1
check "and says what to do" has "call again" "$said"
check "nothing counts as done" test -z "$(stamps)"

# Two benchmarks are enough to be cut off behind: the signal must find it at the third.
env "${small[@]}" LIMIT=4000 tests/gpu/suite.sh >"$said" 2>&1 & # not the function: the signal is for the script
call=$!
until [ -e "$work/out/done/calibrate-memcpy" ] || ! kill -0 "$call" 2>/dev/null; do sleep 0.1; done
kill -TERM "$call"
status=0
wait "$call" || status=$?
check "an interrupted call ends with 143" test "$status" -eq 143
check "the build is done" test -e "$work/out/done/build"
check "which rebuilt nothing" diff -r -x pc "$work/flags" "$build/flags" # pc: the prefix, which test_install sets
check "the check is done" test -e "$work/out/done/check"
check "the end is not" test ! -e "$work/out/done/score"

# Without the cost of messages there is no machine, and those just measured tell nothing of it if the processes had to
# share a core. These are of 2 us and 0.1 ns a byte.
known_messages() { # FILE: in the place of its rows
    grep -E '^#|^benchmark,' "$1"
    awk 'BEGIN { for (bytes = 1; bytes <= 2 ^ 26; bytes *= 4) for (run = 1; run <= 5; run++)
        printf "ping_pong,cpu,on_socket,0-1,1,1,%d,%d,%.6e\n", bytes, run, (2e-6 + 1e-10 * bytes) * (0.97 + 0.01 * run) }'
}
messages=$work/out/results/samples-ping_pong.csv
known_messages "$messages" >"$work/known" && mv "$work/known" "$messages"
stamps >"$work/before"
results >"$work/samples-before"

check "other settings are refused" exits 2 suite REPEATS=4
check "and told which" has "^> REPEATS=4" "$said"

check "the next call goes on and ends well" exits 0 suite LIMIT=4000
cp "$said" "$work/second"
check "what was finished is not done again" test -z "$(comm -23 "$work/before" <(stamps))"
check "nor are its results touched" test -z "$(comm -23 "$work/samples-before" <(results))"
check "it says so, step by step" \
    test "$(grep -c ': done before$' "$work/second")" -eq "$(wc -l <"$work/before")"
steps=$((2 + $("$build/portolan-calibrate" --list | grep -c '^[a-z]') + 1 + 3 + 1))
check "every step has its stamp" test "$(stamps | wc -l)" -eq "$steps"

# --- what lies ready

mkdir "$work/tree"
check "the tarball unpacks" tar -xzf "$work/out/dry.tar.gz" -C "$work/tree"
at=$work/tree/validate/results/dry
check "it says that it is complete" has "^complete=yes$" "$at/suite.txt"
check "it holds the check's outcome" has "^[1-9][0-9]* passed, 0 failed$" "$at/check.txt"
check "it holds samples with provenance" has "^# machine=dry$" "$at/samples-ping_pong.csv"
check "it holds the fitted machine" has '^machine: "dry"$' "$work/tree/scenarios/machines/dry.yaml"
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0.99 * b && a < 1.01 * b) }'; } # VALUE TRUTH
message() { sed -n "/^messages:/,/^[a-z]/ s/.*$1: \\([^,}]*\\).*/\\1/p" "$work/tree/scenarios/machines/dry.yaml"; } # KEY
check "with the messages' latency" near "$(message alpha_s)" 2e-6
check "and their time of a byte" near "$(message beta_s_per_byte)" 1e-10
# Strategies of one process a GPU, and the two that split; 2 sizes, 3 repeats of each.
rows() { awk -F, -v collective="$1" -v strategy="$2" '$1 == collective && $3 == strategy' "$at/collectives.csv" | wc -l; }
for strategy in cuda_aware three_step extra_message dup_devptr; do
    check "all runs of $strategy are there" test "$(rows allreduce $strategy)" -eq 6
done
check "and those of another collective" test "$(rows broadcast three_step)" -eq 6
check "each executor's setup is told" test "$(grep -c '^# setup_s=' "$at/collectives.csv")" -ge 10
check "the score is there" has "^allreduce" "$at/score.txt"
check "no path of this machine is in it" test -z "$(grep -rlE "$work|$build" "$work/tree")"

stamps >"$work/after"
check "a third call ends well" exits 0 suite LIMIT=1000
check "and does nothing" cmp -s "$work/after" <(stamps)
check "all steps were done before" test "$(grep -c ': done before$' "$said")" -eq "$steps"

# --- the race, which takes two GPUs, by its steps alone

race() { quietly env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OUT="$work/race" BUILD="$build" DEVICE=host GPUS=2 RACE=64:64KiB:1024 REPEATS=3 QUEUED=3 tests/gpu/suite.sh --do "$@"; }
mkdir -p "$work/race/results"
for way in waited queued; do
    for collective in allreduce alltoall; do
        check "the race is run: $way, $collective" exits 0 race race $way $collective
    done
done
check "its ratios are made" exits 0 race ratios
check "of both ways, collectives and sizes" test 8 -eq "$(grep -cE \
    '^race-(waited|queued)-(allreduce|alltoall) [0-9]+ gas_[a-z]+ [0-9.e-]+ nccl [0-9.e-]+ ratio [0-9.]+$' "$work/race/results/race.txt")"

finish
