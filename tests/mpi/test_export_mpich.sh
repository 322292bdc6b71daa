#!/usr/bin/env bash
# MPICH 4.0 runs the algorithms that `portolan export --for mpich-4.0` tells it, at the sizes that the file says, and
# its own at all others: the messages that it hands to UCX (fake_ucp.c) must be those of portolan's plans (`portolan
# traffic`), to the byte. With MPIR_CVAR_NOLOCAL each process counts as a node of its own.
# BUILD: where the programs were built (default build). Exits 77 where MPICH is not 4.0 with the device ch4:ucx.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpicc.mpich mpirun.mpich mpichversion
portolan=$build/portolan
counter=$build/tests/fake/libucp.so
built "$portolan" "$counter"
if ! mpichversion | grep -q 'Version:.*4\.0\.' || ! mpichversion | grep -q 'Device:.*ch4:ucx'; then
    echo "$test_name: skipped: not MPICH 4.0 with ch4:ucx"
    exit 77
fi
program=$work/program
mpicc.mpich tests/mpi/test_export.c -o "$program"
machine=lassen-spectrum-refit
calls=5
rules=$work/rules.json

# The messages of CALLS calls between different processes, and their order.
counted() { # RANKS CALL BYTES [VARIABLE VALUE]
    patiently 60 mpirun.mpich -n "$1" -genv MPIR_CVAR_NOLOCAL 1 ${4:+-genv "$4" "$5"} -genv LD_PRELOAD "$counter" \
        "$program" "$2" "$3" $calls | awk -F, '$1 != $2' | sort
}
by_rules() { counted "$@" MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE "$rules"; }
# The blocks of test_export's allgatherv.
blocks_of() { # RANKS BYTES
    local text='' i
    for ((i = 0; i < $1; i++)); do text+="${text:+, }$(($2 - 1 + i % 2 * 2))"; done
    echo "{list: [$text]}"
}
planned() { # RANKS CALL BYTES ALGORITHM
    local call=$2 size=(--bytes "$3")
    [ "$call" != allgatherv ] || size=(--counts "$(blocks_of "$1" "$3")")
    [ "$call" != bcast ] || call=broadcast
    "$portolan" traffic --machine $machine --collective "$call" --nodes "$1" --gpus-per-node 1 --procs-per-gpu 1 \
        "${size[@]}" --datatype byte --strategy three_step --library "$4" |
        awk -F, -v calls=$calls '/^[0-9]/ { print $1 "," $2 "," calls * $6 "," calls * $7 }' | sort
}
same() { test -s "$work/planned" && diff "$work/planned" "$work/counted" >"$work/stdout"; }
# A plan has no order.
same_as_planned() {
    cut -d, -f1-4 "$work/counted" >"$work/unordered"
    mv "$work/unordered" "$work/counted"
    same
}

# --- every algorithm that a file can name, forced

is_plan() { # RANKS CALL BYTES ALGORITHM NAME
    planned "$1" "$2" "$3" "$4" >"$work/planned"
    counted "$1" "$2" "$3" "MPIR_CVAR_${2^^}_INTRA_ALGORITHM" "$5" >"$work/counted"
    same_as_planned
}
while read -r call algorithm name bytes <&3; do
    for ranks in 8 6; do
        # A file names it for powers of two only. The fold of 6 ranks cuts halves of others differently.
        case "$ranks $call $algorithm" in "6 allgather recursive_doubling" | "6 allgatherv recursive_doubling" | "6 allreduce rabenseifner" | "6 reduce rabenseifner") continue ;; esac
        check "$call $name on $ranks ranks is portolan's $algorithm" is_plan $ranks "$call" "$bytes" "$algorithm" "$name"
    done
done 3<<'TEXT'
allgather bruck brucks 100
allgather recursive_doubling recursive_doubling 100
allgather ring ring 100
allgatherv bruck brucks 100
allgatherv recursive_doubling recursive_doubling 100
allgatherv ring ring 100
allreduce recursive_doubling recursive_doubling 1000
allreduce rabenseifner reduce_scatter_allgather 1000
alltoall bruck brucks 100
alltoall linear scattered 100
alltoall pairwise pairwise 100
bcast binomial binomial 1000
bcast scatter_allgather scatter_ring_allgather 960
reduce binomial binomial 1000
reduce rabenseifner reduce_scatter_gather 1000
TEXT
name_of() { # CALL NAME
    case $2 in
    brucks) echo bruck ;;
    scattered) echo linear ;;
    scatter_ring_allgather) echo scatter_allgather ;;
    reduce_scatter_allgather | reduce_scatter_gather) echo rabenseifner ;;
    *) echo "$2" ;;
    esac
}

# --- an exported file: each rule at its first size and at its last one, and MPICH's own choice outside

check "a file is written" quietly "$portolan" export --for mpich-4.0 --machine $machine --nodes 8 --gpus-per-node 1 \
    --bytes 4:1MiB --force --out "$rules"
sed -n 's/^\([a-z]*\) on 8 ranks, \([0-9]*\) to \([0-9]*\) bytes: \([a-z_]*\)$/\1 \2 \3 \4/p' "$work/stderr" >"$work/rules.txt"
check "with rules" test "$(wc -l <"$work/rules.txt")" -ge 3
runs() { # RANKS CALL BYTES ALGORITHM
    planned "$@" >"$work/planned"
    by_rules "$1" "$2" "$3" >"$work/counted"
    same_as_planned
}
as_without() { # RANKS CALL BYTES
    counted "$@" >"$work/planned"
    by_rules "$@" >"$work/counted"
    same
}
changes() { # RANKS CALL BYTES
    fails as_without "$@" && test -s "$work/counted"
}
while read -r call from last name <&3; do
    algorithm=$(name_of "$call" "$name")
    [ "$from" -gt 0 ] || from=8
    check "$call runs $name at $from bytes" runs 8 "$call" "$from" "$algorithm"
    check "which it does not without the file" changes 8 "$call" "$from"
    check "and at $last" runs 8 "$call" "$last" "$algorithm"
    check "$call is MPICH's own just above $last bytes" as_without 8 "$call" $((last + 1))
    [ "$from" -le 8 ] || check "and just below $from" as_without 8 "$call" $((from - 1))
    for ranks in 7 9; do check "and on $ranks ranks" as_without $ranks "$call" "$from"; done
done 3<"$work/rules.txt"
finish
