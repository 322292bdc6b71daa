#!/usr/bin/env bash
# Open MPI runs the algorithms that `portolan export` tells it, from the size on that the file says: its component
# pml_monitoring counts the messages of its collectives, which must be those of portolan's plans (`portolan
# traffic`), to the byte.
# BUILD: where the programs were built (default build). Exits 77 where there is no Open MPI 4.1 with that component.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun ompi_info
needs_monitoring
program=$build/tests/test_export
portolan=$build/portolan
built "$program" "$portolan"
machine=lassen-spectrum-refit
calls=10
rules=$work/rules.conf

# The messages of CALLS calls, by source and destination. `I` are those of collectives, `E` others: Open MPI's linear
# alltoall starts persistent requests, which are counted as if the program did.
counted() { # RANKS CALL BYTES [MPIRUN'S ARGUMENTS...]
    local ranks=$1 call=$2 bytes=$3
    shift 3
    rm -f "$work"/run.*.prof
    launch 60 -n "$ranks" --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
        --mca pml_monitoring_filename "$work/run" "$@" "$program" "$call" "$bytes" $calls || return
    awk '$1 ~ /^[IE]$/ { print $2 "," $3 "," $6 "," $4 }' "$work"/run.*.prof | sort
}
by_rules() { # RANKS CALL BYTES
    counted "$@" --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename "$rules"
}
# The blocks of test_export's allgatherv.
blocks_of() { # RANKS BYTES
    local text='' i
    for ((i = 0; i < $1; i++)); do text+="${text:+, }$(($2 - 1 + i % 2 * 2))"; done
    echo "{list: [$text]}"
}
# The same by portolan's plan, on 2 nodes.
planned() { # RANKS CALL BYTES ALGORITHM
    local call=$2 size=(--bytes "$3")
    [ "$call" != allgatherv ] || size=(--counts "$(blocks_of "$1" "$3")")
    [ "$call" != bcast ] || call=broadcast
    "$portolan" traffic --machine $machine --collective "$call" --nodes 2 --gpus-per-node $(($1 / 2)) --procs-per-gpu 1 \
        "${size[@]}" --datatype byte --strategy three_step --library "$4" |
        awk -F, -v calls=$calls '/^[0-9]/ { print $1 "," $2 "," calls * $6 "," calls * $7 }' | sort
}
runs() { # RANKS CALL BYTES ALGORITHM
    planned "$@" >"$work/planned"
    by_rules "$1" "$2" "$3" >"$work/counted"
    diff "$work/planned" "$work/counted" >"$work/stdout" && test -s "$work/planned"
}

# --- every algorithm that a file can name, by a file that names it alone

one_rule() { # COLLECTIVE'S NUMBER, ALGORITHM'S NUMBER
    printf '1\n%s\n1\n1\n1\n0 %s 0 0\n' "$1" "$2" >"$rules"
}
while read -r call collective algorithm number bytes <&3; do
    one_rule "$collective" "$number"
    for ranks in 8 6; do
        # Open MPI folds the ranks above a power of two by halves of the vector; portolan's plan sends it whole.
        [ "$ranks $algorithm" != "6 rabenseifner" ] || continue
        check "$call $number on $ranks ranks is portolan's $algorithm" runs $ranks "$call" "$bytes" "$algorithm"
    done
done 3<<'TEXT'
allgather 0 bruck 2 100
allgather 0 recursive_doubling 3 100
allgather 0 ring 4 100
allgatherv 1 bruck 2 100
allgatherv 1 ring 3 100
allreduce 2 recursive_doubling 3 1000
allreduce 2 ring 4 1000
allreduce 2 rabenseifner 6 1000
alltoall 3 linear 1 100
alltoall 3 pairwise 2 100
alltoall 3 bruck 3 100
bcast 7 linear 1 1000
bcast 7 chain 3 1000
bcast 7 binomial_near_first 6 1000
bcast 7 scatter_allgather 9 960
reduce 11 linear 1 1000
reduce 11 chain 3 1000
reduce 11 binomial 5 1000
reduce 11 rabenseifner 7 1000
reduce_scatter 13 recursive_halving 3 100
TEXT

# --- an exported file: each rule at its first size and at its last one

check "a file is written" quietly "$portolan" export --for openmpi-4.1 --machine $machine --nodes 2 --bytes 4:256KiB --force --out "$rules"
# CALL TOTAL FROM ALGORITHM NUMBER, and the same of the next rule's FROM; "-" behind the last one.
rules_of() {
    awk '/# (allgatherv?|allreduce|alltoall|bcast|reduce);/ { call = $3; sub(/;/, "", call); total = /blocks of all/ }
        /# ranks: 2 nodes/ { inside = 1; getline; next }
        inside && NF >= 6 && $5 == "#" {
            if (from != "" && id) print call, total, from, id, $1
            from = $1; id = $2
            if (!id) { inside = 0; from = "" }
        }' "$1"
}
rules_of "$rules" >"$work/rules.txt"
check "with rules" test "$(wc -l <"$work/rules.txt")" -ge 7
name_of() { # CALL NUMBER
    case $1$2 in
    alltoall1 | bcast1 | reduce1) echo linear ;;
    allgather2 | allgatherv2 | alltoall3) echo bruck ;;
    allgather3 | allreduce3) echo recursive_doubling ;;
    allgather4 | allgatherv3 | allreduce4) echo ring ;;
    allreduce6) echo rabenseifner ;;
    alltoall2) echo pairwise ;;
    bcast3 | reduce3) echo chain ;;
    bcast6) echo binomial_near_first ;;
    bcast9) echo scatter_allgather ;;
    reduce5) echo binomial ;;
    reduce7) echo rabenseifner ;;
    esac
}
while read -r call total from number next <&3; do
    [ "$from" -gt 0 ] || from=$((total ? 8 * 8 : 8))
    per=$((total ? 8 : 1))
    check "$call $number at $from bytes" runs 8 "$call" $((from / per)) "$(name_of "$call" "$number")"
    # A vector of a multiple of 8: the halves of others are cut differently.
    last=$(((next - 1) / per))
    check "and just below $next" runs 8 "$call" $((total ? last : last / 8 * 8)) "$(name_of "$call" "$number")"
done 3<"$work/rules.txt"

# --- what the file leaves to Open MPI

as_without() { # RANKS CALL BYTES
    by_rules "$@" >"$work/planned"
    counted "$@" >"$work/counted"
    test -s "$work/planned" && diff "$work/planned" "$work/counted" >"$work/stdout"
}
for ranks in 4 9; do
    check "communicators of $ranks are Open MPI's own" as_without $ranks allreduce 65536
done
check "and sizes above those that were priced" as_without 8 allreduce 300000

# --- what docs/acting.md says of programs that open MPI's tool interface

check "a program that closes MPI_T before MPI_Finalize is counted" eval 'counted 2 allreduce 1000 -x OPENS_MPI_T=1 -x CLOSES_MPI_T=1 >"$work/counted" && test -s "$work/counted"'
check "one that leaves it open ends with 0" launch 60 -n 2 --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
    --mca pml_monitoring_filename "$work/open" -x OPENS_MPI_T=1 "$program" allreduce 1000 10
check "and without counts" test -z "$(find "$work" -name 'open.*')"
finish
