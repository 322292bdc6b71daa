#!/usr/bin/env bash
# What libraries in front of MPI write where the disk is full: whole rows, and a message; the program goes on.
# BUILD: where the programs were built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/mpi/dropin_shell.sh
profiler=$build/libportolan-profile.so
built "$profiler" "$build/tests/test_profile"
export PORTOLAN_MACHINE=$PWD/scenarios/machines/h200-x4.yaml PORTOLAN_HOST=0
said() { [ "$(grep -c "$1" "$work/stderr")" = "$2" ]; }

check "a report that cannot be written does not end the program" under 2 PORTOLAN_REPORT=/dev/full "$program" repeat 10 4096
check "but is reported once" said "^portolan: cannot write PORTOLAN_REPORT=/dev/full: No space left on device$" 1
check "nor does one that cannot be opened" under 2 PORTOLAN_REPORT="$work/no/such" "$program" repeat 10 4096
check "which is reported once" said "^portolan: cannot write PORTOLAN_REPORT=.*/no/such: No such file or directory$" 1
check "each process has its own" under 2 PORTOLAN_REPORT="$work/no/%r" "$program" repeat 10 4096
check "and reports it" said "^portolan: cannot write PORTOLAN_REPORT=.*/no/[01]: No such file or directory$" 2

ln -s /dev/full "$work/sizes.csv"
check "a table of the profiler that cannot be written does not end the program" launch 60 -n 2 env LD_PRELOAD="$profiler" \
    PORTOLAN_PROFILE="$work/" "$build/tests/test_profile" messages 20 1 "$work/expected"
check "but is reported once" said "^portolan-profile: cannot write .*/sizes.csv: No space left on device$" 1
check "and the others are whole" has '^[01],MPI_' "$work/times.csv"
ln -s /dev/full "$work/sizes.0.csv"
check "the same where a process ends early" fails launch 60 -n 2 env LD_PRELOAD="$profiler" PORTOLAN_PROFILE="$work/" \
    "$build/tests/test_profile" ends exit
check "is reported" said "^portolan-profile: cannot write .*/sizes.0.csv$" 1
check "and the others are there" has '^# incomplete' "$work/times.0.csv"

# The size of a page is the least that such a disk holds.
in_full_folder() { # COMMAND...: $work/full is a disk of 16 KiB, copied to $work/kept at the end
    # shellcheck disable=SC2016
    quietly patiently 120 unshare --mount bash -c 'mount -t tmpfs -o size=16k tmpfs "$0/full" && "$@"; status=$?
        cp -r "$0/full/." "$0/kept"; exit $status' "$work" "$@"
}
rows_of() { awk -F, -v columns="$2" '!/^#/ && NF != columns { bad = 1 } END { exit bad || NR < 2 }' "$1" && [ -z "$(tail -c 1 "$1")" ]; }
if unshare --mount mount -t tmpfs tmpfs /mnt 2>/dev/null && ! is_mpich; then
    mkdir "$work/full" "$work/kept"
    check "a program whose report fills the disk goes on" in_full_folder mpirun -n 2 --oversubscribe env LD_PRELOAD="$library" \
        PORTOLAN_DEVICE=host PORTOLAN_REPORT="$work/full/report.csv" "$program" repeat 1000 4096
    check "and says so once" said "^portolan: cannot write PORTOLAN_REPORT=.*/report.csv: No space left on device$" 1
    check "the report has whole rows" rows_of "$work/kept/report.csv" 13
    check "the profiler's program goes on" in_full_folder mpirun -n 2 --oversubscribe env LD_PRELOAD="$profiler" \
        PORTOLAN_PROFILE="$work/full/" "$build/tests/test_profile" messages 2000 1 "$work/expected"
    check "and calls.csv is reported" said "^portolan-profile: cannot write .*/calls.csv: No space left on device$" 1
    check "it has whole rows" rows_of "$work/kept/calls.csv" 10
else
    echo "     no tmpfs can be mounted: a disk that fills is not tried"
fi
finish
