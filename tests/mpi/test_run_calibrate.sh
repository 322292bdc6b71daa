#!/usr/bin/env bash
# portolan run --calibrate: the program first, then a machine file for the next runs, whole or not at all. But for one
# run, what measures is a stand-in: on a busy machine, a fit may refuse true samples.
# BUILD: where the programs were built (default build). MPIRUN: mpirun.mpich for a build with MPICH.
# Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
: "${MPIRUN:=mpirun}"
needs "$MPIRUN" setsid
portolan=$build/portolan
built "$portolan" "$build/portolan-calibrate" "$build/libportolan-mpi.so"
export PORTOLAN_SEGMENTS=portolan-test$$
export PORTOLAN_DEVICE=host
launcher=("$MPIRUN" -n 2)
[ "$MPIRUN" != mpirun ] || launcher+=(--oversubscribe --mca mpi_yield_when_idle 1)
mine=$work/mine.yaml

# Each process notes that it ran, and whether the drop-in was under it.
program=$work/program
cat >"$program" <<'END'
#!/bin/sh
case $LD_PRELOAD in *libportolan-mpi.so*) echo under ;; *) echo alone ;; esac >>"$RAN"
exit "${1:-0}"
END
chmod +x "$program"
export RAN=$work/ran
# It is looked for beside the library.
mkdir "$work/stand-in"
library=$work/stand-in/libportolan-mpi.so
ln -s "$build/libportolan-mpi.so" "$library"
cat >"$work/stand-in/portolan-calibrate" <<'END'
#!/bin/sh
echo "$*" >>"$RAN-measured"
while [ "$1" != --out ]; do shift; done
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || exit 0
[ -z "$RESTS" ] || sleep 600
[ -z "$OTHER" ] || echo theirs >"$OTHER"
cp tests/fixtures/samples.csv "$2"
END
chmod +x "$work/stand-in/portolan-calibrate"
runs() { # ARGUMENTS OF THE PROGRAM...
    rm -f "$RAN" "$RAN-measured"
    quietly patiently 100 "$portolan" run --library "$library" --machine "$mine" --calibrate 1.5 -- "${launcher[@]}" -- "$program" "$@"
}
ran() { [ "$(sort -u "$RAN" | tr '\n' ' ')" = "$1 " ] && [ "$(wc -l <"$RAN")" = 2 ]; } # under|alone
left() { find "$work" -name 'mine*' -printf '%f\n' | sort | tr '\n' ' '; }

check "a program that fails exits as without portolan" exits 3 runs 3
check "it ran without the library" ran alone
check "and nothing is measured" [ "$(left)" = "" ]
check "which is said" has "nothing is calibrated, as the program failed or was interrupted"

unwaited() { # as by those that start programs and wait for none of them
    quietly patiently 100 env --ignore-signal=CHLD "$portolan" run --machine "$mine" --calibrate 1 -- env -- sh -c 'exit 3'
}
check "so it does where ended processes are ignored" exits 3 unwaited
check "and nothing is measured" has "nothing is calibrated"

check "a program runs" runs
check "without the library" ran alone
check "which is said once" [ "$(grep -c 'there is no .*mine.yaml yet' "$work/stderr")" = 1 ]
check "two processes measure behind it" [ "$(sort -u "$RAN-measured" | wc -l),$(wc -l <"$RAN-measured")" = 1,2 ]
check "for so long, for this machine" has "--budget 1.5 --machine mine$" "$RAN-measured"
check "and the machine file is written" [ "$(left)" = "mine-samples.csv mine.yaml " ]
check "it has the file's name" has '^machine: "mine"$' "$mine"
check "and can be used" quietly "$portolan" predict --machine "$mine" --collective alltoall --nodes 2 --gpus-per-node 1 --bytes 1KiB

cp -p "$mine" "$work/before"
check "the next run is under the library" runs
check "as it says" ran under
check "and measures nothing" [ ! -e "$RAN-measured" ]
check "the file stays as it is" cmp -s "$mine" "$work/before"
check "the launcher does not see the second --" quietly "$portolan" run --machine "$mine" --calibrate 1 -- echo launcher -- program
check "but what is on both sides of it" [ "$(cat "$work/stdout")" = "launcher program" ]

# What another job has written meanwhile stays, too.
rm -f "$mine"
export OTHER=$mine
check "a file appears meanwhile" runs
unset OTHER
check "it is not overwritten" [ "$(cat "$mine")" = theirs ]
check "as it says" has "mine.yaml is not written: portolan fit failed"

# A measurement that fails, and one that is interrupted.
rm -f "$mine" "$work"/mine-samples.csv
library=$work/none/libportolan-mpi.so
check "the program's exit code stays where nothing can be measured" runs
check "and the reason is told" has "mine.yaml is not written: portolan-calibrate is not beside"
library=$work/stand-in/libportolan-mpi.so
interrupt() { # INT|TERM WHEN SCRIPT: the one to all processes, as a terminal does, the other to portolan alone
    : >"$work/stdout" # what an earlier one printed would do
    setsid env --default-signal=INT RESTS=1 "$portolan" run --library "$library" --machine "$mine" --calibrate 99 -- \
        "${launcher[@]}" -- sh -c "$3" >"$work/stdout" 2>"$work/stderr" &
    local pid=$!
    until grep -q "$2" "$work/stdout" "$RAN-measured" 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
    signalled=$SECONDS
    if [ "$1" = TERM ]; then kill -TERM $pid; else kill -"$1" -- -$pid; fi
    wait $pid
}
check "an interrupted measurement ends by the signal" exits 130 interrupt INT "budget 99" true
check "and leaves no machine file" [ ! -e "$mine" ]
check "as it says" has "mine.yaml is not written: portolan-calibrate was interrupted"
check "SIGTERM ends the program" exits 143 interrupt TERM started 'echo started; exec sleep 3600'
check "before it ends itself" [ $((SECONDS - signalled)) -lt 1800 ]
check "and nothing is measured behind it" has "nothing is calibrated"
check "none of its processes is left" [ -z "$(pgrep -f "$mine --calibrate 99")" ]

# A signal that the program knows what to do with.
told() {
    : >"$work/stdout"
    "$portolan" run --machine "$mine" --calibrate 99 -- env -- \
        sh -c 'trap "exit 7" USR1; echo started; while sleep 0.1; do :; done' >"$work/stdout" 2>"$work/stderr" &
    local pid=$!
    until has started "$work/stdout" || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
    kill -USR1 $pid
    wait $pid
}
check "SIGUSR1 is the program's" exits 7 told
check "which ends as it wants" has "nothing is calibrated, as the program failed"

# The real one. Its samples may be too few for a fit, or too noisy.
calibrates() {
    quietly patiently 200 "$portolan" run --machine "$mine" --calibrate 1 -- "${launcher[@]}" -- true
}
rm -f "$work"/mine*
check "portolan-calibrate measures" calibrates
check "with as many processes" has '^# layout=2 processes' "$work/mine-samples.csv"
written_or_refused() { [ -e "$mine" ] || has "mine.yaml is not written: portolan fit failed"; }
check "and its samples are fitted" written_or_refused

# Wrong usage.
wrong() { # PATTERN ARGUMENTS...
    exits 2 quietly "$portolan" run "${@:2}" && has "$1"
}
check "a launcher that is not told apart" wrong "needs a -- between" --machine "$mine" --calibrate 1 -- "${launcher[@]}" true
check "no launcher" wrong "needs a -- between" --machine "$mine" --calibrate 1 -- -- true
odd_launcher() { fails "$portolan" run --machine "$mine" --calibrate 1 -- $'gone\e[33m' -- true 2>"$work/stderr"; }
check "a launcher with an odd name" odd_launcher
check "which is escaped" has 'portolan: gone.u001b.33m: No such file'
check "no program" wrong "needs a -- between" --machine "$mine" --calibrate 1 -- "${launcher[@]}" --
check "a name that is no file" wrong "whose name must end with .yaml" --machine nowhere --calibrate 1 -- "${launcher[@]}" -- true
check "no seconds" wrong "not a positive number" --machine "$mine" --calibrate 0 -- "${launcher[@]}" -- true
finish
