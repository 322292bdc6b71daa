#!/usr/bin/env bash
# The tables of scenarios/libraries/open-mpi-4.1.yaml are what Open MPI 4.1 does: its component pml_monitoring counts the
# messages of its collectives, which must be those of the algorithm in the table's row, to the byte.
# BUILD: where the programs were built (default build). Exits 77 where there is no Open MPI 4.1 with that component.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun ompi_info
needs_monitoring
program=$build/tests/test_export
portolan=$build/portolan
built "$program" "$portolan"
calls=10
machine=h200-2x2-tcp forced=()

counted() { # RANKS CALL BYTES
    rm -f "$work"/run.*.prof
    launch 60 -n "$1" "${forced[@]}" --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 \
        --mca pml_monitoring_filename "$work/run" "$program" "$2" "$3" $calls || return
    awk '$1 == "I" { print $2 "," $3 "," $6 "," $4 }' "$work"/run.*.prof | sort
}
# By the machine's table, which is the library's, for host memory.
planned() { # RANKS CALL BYTES
    local call=$2
    [ "$call" != bcast ] || call=broadcast
    "$portolan" traffic --machine "$machine" --collective "$call" --nodes $(($1 / 2)) --gpus-per-node 2 --procs-per-gpu 1 \
        --bytes "$3" --datatype byte --strategy three_step |
        awk -F, -v calls=$calls '/^[0-9]/ { print $1 "," $2 "," calls * $6 "," calls * $7 }' | sort
}
agree() { # RANKS CALL BYTES
    planned "$@" >"$work/planned"
    counted "$@" >"$work/counted"
    diff "$work/planned" "$work/counted" >"$work/stdout" && test -s "$work/planned"
}
while read -r ranks call bytes <&3; do
    check "$call of $bytes bytes on $ranks ranks is the row's" agree "$ranks" "$call" "$bytes"
done 3<<'TEXT'
4 allreduce 4096
8 allreduce 8184
8 allreduce 8192
8 bcast 16384
8 bcast 32768
8 bcast 4194304
4 bcast 2097152
6 allgather 100
8 allgather 100
8 reduce 65536
8 reduce_scatter 1024
TEXT

# An algorithm that 4.1 has and 4.0 takes.
forced=(--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_bcast_algorithm 4 --mca coll_tuned_bcast_algorithm_segmentsize 1024)
machine=$work/split.yaml
printf '%s\n' 'machine: split' 'inherits: h200-2x2-tcp' 'library: {broadcast: {cpu: [{algorithm: split_binary, segment_bytes: 1024}]}}' >"$machine"
for ranks in 4 6 8 10 14; do
    for bytes in 2048 16384 98304; do
        check "a split binary broadcast of $bytes bytes on $ranks ranks is its messages" agree "$ranks" bcast "$bytes"
    done
done
finish
