# What the tests of portolan-calibrate's runs share; to be sourced after tests/shell.sh.
# shellcheck shell=bash

calibrate=$build/portolan-calibrate
export PORTOLAN_SEGMENTS=portolan-test$$

# Budgets are ample: what a run measures is bounded by its repeats, so that a busy machine leaves nothing out.
run() { # PROCESSES ARGUMENTS...
    local processes=$1
    shift
    patiently 120 mpirun -n "$processes" --oversubscribe --mca mpi_yield_when_idle 1 "$calibrate" "$@" \
        2>"$work/stderr"
}

# Every line below the provenance is a row of nine fields with a positive time.
readable() {
    [ "$(tail -c 1 "$1" | od -An -c | tr -d ' ')" = '\n' ] && awk -F, '
        /^#/ { if (rows) bad = 1; next }
        !head { head = 1; if ($0 != "benchmark,space,level,pair,procs,messages,bytes,run,seconds") bad = 1; next }
        { rows++; if (NF != 9 || !($9 > 0) || $7 < 0 || $8 < 1) bad = 1 }
        END { exit !(rows > 0 && !bad) }' "$1"
}

# rows FILE BENCHMARK: how many
rows() { awk -F, -v name="$2" '$1 == name { n++ } END { print n + 0 }' "$1"; }
