#!/usr/bin/env bash
# One would guess that a non-blocking broadcast of Open MPI goes along a chain in segments once it is large, as its
# source has it (from 64 KiB on).
# It is a binomial tree at every size (on more than 4 ranks): on 8 ranks the root sends 64 KiB to 3 others, where
# MPI_Bcast sends it to all 7. The parameter coll_libnbc_ibcast_skip_dt_decision, true by default, takes the size out of
# the decision; with 0 there is the chain, of 8 segments.
# Open MPI 4.1.4-3+b1 (Debian 12), pml ob1, btl vader and self; ompi/mca/coll/libnbc/nbc_ibcast.c and
# `ompi_info --param coll libnbc --level 9`.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
expect "MPI_Ibcast" "3 sent by the root, 0 received by it, 7 in all" "$(messages ibcast)"
expect "MPI_Ibcast that may read the size" "8 sent by the root, 0 received by it, 56 in all" \
    "$(messages ibcast --mca coll_libnbc_ibcast_skip_dt_decision 0)"
expect "MPI_Bcast" "7 sent by the root, 0 received by it, 7 in all" "$(messages bcast)"
exit "$failed"
