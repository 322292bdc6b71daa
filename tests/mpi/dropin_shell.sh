# shellcheck shell=bash disable=SC2154,SC2034,SC2120 # of tests/shell.sh; for those who read this
# What the tests of the drop-in share, behind tests/shell.sh: programs under it, and what its report says of their calls.
# SEED: of the random programs (default: the time). CALLS: in each of them (default 200). MPIRUN: mpirun.mpich for a
# build with MPICH.
needs "${MPIRUN:=mpirun}"
program=$build/tests/test_dropin
library=$build/libportolan-mpi.so
built "$program" "$library"
seed=${SEED:-$(date +%s)} calls=${CALLS:-200}
echo "     seed $seed"
report=$work/calls.csv
is_mpich() { [ "$MPIRUN" != mpirun ]; }

started() { # SECONDS PROCESSES COMMAND...
    local limit=$1 processes=$2
    shift 2
    if is_mpich; then quietly patiently "$limit" "$MPIRUN" -n "$processes" "$@"; else
        launch "$limit" -n "$processes" "$@"
    fi
}
under() { # PROCESSES COMMAND... [with variables in front of it]
    local processes=$1
    shift
    rm -f "$report"
    started 120 "$processes" env LD_PRELOAD="$library" PORTOLAN_DEVICE=host PORTOLAN_EXPLAIN=1 \
        PORTOLAN_REPORT="$report" "$@"
}
taken() { # [cpu|gpu]: in this memory
    tail -n +2 "$report" | awk -F, -v space="${1:-}" '$11 != "mpi" && (space == "" || $10 == space)' | wc -l
}
takes() { # AT_LEAST COMMAND...
    local least=$1
    shift
    "$@" && [ "$(taken)" -ge "$least" ]
}
takes_none() { "$@" && { [ ! -e "$report" ] || [ "$(taken)" = 0 ]; }; }
takes_each() { # ROUTINE...
    local routine
    for routine in "$@"; do
        grep "MPI_$routine," "$report" | grep -qv ',mpi,' || { echo "MPI_$routine" >"$work/stdout"; return 1; }
    done
}
