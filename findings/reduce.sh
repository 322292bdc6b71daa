#!/usr/bin/env bash
# One would guess that Open MPI reduces 64 KiB on 8 ranks by Rabenseifner's algorithm (reduce-scatter and gather), as it
# does in MPI_Allreduce, so that the root receives 6 messages, parts of the data.
# It takes a binomial tree: the root receives 3 messages of all 64 KiB and reduces them one after another. They are the
# messages of algorithm 5 (binomial); algorithm 7 (Rabenseifner's) would send 31. With an operation that does not
# commute the root receives from all 7.
# Open MPI 4.1.4-3+b1 (Debian 12), pml ob1, btl vader and self; the fixed decisions of ompi/mca/coll/tuned.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
forced="--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_reduce_algorithm"
expect "MPI_Reduce by MPI_BOR" "0 sent by the root, 3 received by it, 7 in all" "$(messages reduce)"
# shellcheck disable=SC2086 # several words
expect "the same by algorithm 5" "0 sent by the root, 3 received by it, 7 in all" "$(messages reduce $forced 5)"
# shellcheck disable=SC2086
expect "the same by algorithm 7" "3 sent by the root, 6 received by it, 31 in all" "$(messages reduce $forced 7)"
expect "MPI_Reduce by an operation that does not commute" "0 sent by the root, 7 received by it, 7 in all" \
    "$(messages reduce-ordered)"
exit "$failed"
