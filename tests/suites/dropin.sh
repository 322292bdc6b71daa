#!/usr/bin/env bash
# Other people's tests of collectives under the drop-in, on the host device: without it, with it, and with one that is
# wrong on purpose (tests/mpi/fake_results.c), which every suite must notice. They are built here, from sources that are
# not part of the project:
#   MPICH   the unpacked source of mpich 4.0.2 (`apt-get source mpich`): test/mpi/coll
#   MPI4PY  the unpacked source of mpi4py 3.1.4, for its tests; PYTHONPATH names its module, where that is not installed
#   OSU     the unpacked source of OSU's micro-benchmarks 7.4, whose results are checked (-c)
#   IMB     the unpacked source of Intel's MPI benchmarks, built to check results (-DCHECK)
# A suite whose variable is not set is left out.
#
# Usage: OUT=FOLDER MPICH=... MPI4PY=... OSU=... IMB=... dropin.sh
# Environment: BUILD (default build); LIMIT, seconds for each test (default 60), and WRONG_LIMIT, with the wrong drop-in, where
# some processes may wait for one that has given up (default 20); JOBS of make (default 2); HOW, the drop-ins to try (default
# "without serial threads wrong": `serial` takes what all processes agree on, `threads` what each does alone in a program
# with MPI_THREAD_MULTIPLE, as only mpi4py's are).
# Leaves under OUT: tests.csv (each test), suites.csv (their numbers). Fails if a test fails that passes without the
# drop-in, or if no test of a suite fails with the wrong one.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
: "${OUT:?is the folder for the results}" "${LIMIT:=60}" "${WRONG_LIMIT:=20}" "${JOBS:=2}" "${HOW:=without serial threads wrong}"
library=$build/libportolan-mpi.so
wrong=$build/tests/wrong/libportolan-mpi.so
built "$library" "$wrong"
mkdir -p "$OUT"
tests=$OUT/tests.csv
# Without trials, which would leave calls on the host device to MPI.
export PORTOLAN_DEVICE=host PORTOLAN_ASSUME=device PORTOLAN_TRIALS=0 PORTOLAN_MACHINE=$PWD/scenarios/machines/h200-x4.yaml

# The variables of a drop-in.
variables_of() { # HOW
    case $1 in
    without) ;;
    serial) echo "LD_PRELOAD=$library PORTOLAN_THREADS=serial" ;;
    threads) echo "LD_PRELOAD=$library" ;;
    wrong) echo "LD_PRELOAD=$wrong PORTOLAN_THREADS=serial PORTOLAN_WRONG=byte" ;;
    esac
}
calls_taken() { [ ! -e "$work/calls.csv" ] || tail -n +2 "$work/calls.csv" | awk -F, '$11 != "mpi"' | wc -l; }

# A test passes if it ends with 0 and what it prints says nothing else.
try() { # SUITE HOW NAME PROCESSES FAILS-IF-IT-PRINTS COMMAND...
    local suite=$1 how=$2 name=$3 processes=$4 bad=$5 status=0 result=passed limit=$LIMIT
    shift 5
    rm -f "$work/calls.csv"
    [ "$how" != wrong ] || limit=$WRONG_LIMIT
    # shellcheck disable=SC2046 # several variables
    timeout -k 5 "$limit" mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n "$processes" \
        env $(variables_of "$how") PORTOLAN_REPORT="$work/calls.csv" "$@" >"$work/stdout" 2>&1 </dev/null || status=$?
    if [ $status = 124 ] || [ $status = 137 ]; then result=late
    elif [ $status != 0 ] || grep -qE "$bad" "$work/stdout"; then result=failed; fi
    echo "$suite,$how,$name,$processes,$result,$(calls_taken)" | tee -a "$tests"
}

build_mpich() {
    cd "$MPICH/test/mpi"
    [ -e Makefile ] || CC=mpicc ./configure --with-mpi=/usr --disable-cxx --disable-fortran
    sed -i 's/MPI_Type_hvector(/MPI_Type_create_hvector(/;s/MPI_Type_hindexed(/MPI_Type_create_hindexed(/;s/MPI_Type_struct(/MPI_Type_create_struct(/' dtpools/src/*.c
    make -C dtpools -j"$JOBS"
    make -C util -j"$JOBS"
    make -k -C coll -j"$JOBS" || true # Open MPI 4.1 has no persistent collectives under MPI 4's names
}
try_mpich() { # HOW
    local name processes rest argument
    grep -v '^#' "$MPICH/test/mpi/coll/testlist" | while read -r name processes rest; do
        [ -f "$MPICH/test/mpi/coll/$name" ] || continue
        argument=
        case $rest in *arg=*) argument=${rest#*arg=} && argument=${argument%% *} ;; esac
        # shellcheck disable=SC2086 # none or one
        try mpich "$1" "$name${argument:+ $argument}" "$processes" 'Found [0-9]+ error' \
            "$MPICH/test/mpi/coll/$name" $argument
    done
}

build_mpi4py() { :; }
try_mpi4py() { # HOW
    local file
    for file in test_cco_buf test_cco_vec test_cco_obj test_cco_nb_buf test_cco_nb_vec test_cco_buf_inter test_cco_obj_inter test_cco_ngh_buf; do
        [ -e "$MPI4PY/test/$file.py" ] || continue
        try mpi4py "$1" $file 3 '^FAILED|^Traceback' python3 "$MPI4PY/test/runtests.py" -i "$file\$"
    done
}

osu="allreduce reduce bcast alltoall alltoallv allgather allgatherv reduce_scatter reduce_scatter_block"
build_osu() {
    cd "$OSU"
    [ -e Makefile ] || ./configure CC=mpicc CXX=mpicxx
    make -C c/util
    # shellcheck disable=SC2046,SC2086 # several words
    make -C c/mpi/collective/blocking $(printf 'osu_%s ' $osu)
}
try_osu() { # HOW
    local name
    for name in $osu; do
        try osu "$1" "$name" 3 'Fail' "$OSU/c/mpi/collective/blocking/osu_$name" -c -T mpi_float -m 4:65536 -i 20 -x 2
    done
}

build_imb() { make -C "$IMB/src_cpp" TARGET=MPI1 CC="mpicc -DCHECK" CXX="mpicxx -DOMPI_SKIP_MPICXX -DCHECK"; }
try_imb() { # HOW
    local name
    for name in Allreduce Reduce Reduce_scatter Reduce_scatter_block Bcast Allgather Allgatherv Alltoall Alltoallv; do
        try imb "$1" $name 3 ': Error ' "$IMB/src_cpp/IMB-MPI1" -npmin 3 -iter 20 -msglog 4:16 $name
    done
}

suites=$(for suite in MPICH MPI4PY OSU IMB; do [ -z "${!suite:-}" ] || echo "${suite,,}"; done)
[ -n "$suites" ] || { echo "$test_name: skipped: MPICH, MPI4PY, OSU and IMB name no sources"; exit 77; }
echo "suite,how,test,processes,result,calls_taken" >"$tests"
for suite in $suites; do
    (build_"$suite") >"$work/built" 2>&1 || { tail -n 5 "$work/built"; exit 1; }
    for how in $HOW; do
        if [ "$how" != threads ] || [ "$suite" = mpi4py ]; then try_"$suite" "$how"; fi
    done
done

count() { # SUITE HOW RESULT
    awk -F, -v suite="$1" -v how="$2" -v result="$3" '$1 == suite && $2 == how && $5 ~ result' "$tests" | wc -l
}
# Tests that pass without the drop-in and not with it.
more_failed() { # SUITE HOW
    awk -F, -v suite="$1" -v how="$2" '$1 != suite { next } { key = $3 "," $4 }
        $2 == "without" { passes[key] = $5 == "passed" } $2 == how && $5 != "passed" && passes[key] { n++ } END { print n + 0 }' "$tests"
}
{
    echo "# date=$(date -u +%Y-%m-%d), $(mpirun --version | head -n 1), $(nproc) cores; tests/suites/dropin.sh"
    echo "suite,how,tests,failed,late,newly_failed,calls_taken"
    for suite in $suites; do
        tried=$(awk -F, -v suite="$suite" '$1 == suite && !had[$2]++ { print $2 }' "$tests")
        for how in $tried; do
            echo "$suite,$how,$(count "$suite" "$how" .),$(count "$suite" "$how" failed),$(count "$suite" "$how" late),$(more_failed "$suite" "$how"),$(
                awk -F, -v suite="$suite" -v how="$how" '$1 == suite && $2 == how { n += $6 } END { print n + 0 }' "$tests")"
        done
    done
} | tee "$OUT/suites.csv"
for suite in $suites; do
    for how in $HOW; do
        case $how in
        without) ;;
        wrong) check "$suite notices a drop-in that is wrong" [ "$(more_failed "$suite" wrong)" -gt 0 ] ;;
        *) check "$suite fails where it fails without the drop-in ($how)" [ "$(more_failed "$suite" "$how")" = 0 ] ;;
        esac
    done
done
finish
