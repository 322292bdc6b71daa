#!/usr/bin/env bash
# One would guess that a file of rules for coll_tuned that names an algorithm which Open MPI does not have is refused when
# it is read, or ignored: the parameter coll_tuned_allreduce_algorithm with that number is refused before main, with a list
# of the valid ones.
# The file is taken without a word. Each call whose size no such rule covers works, and the first one beyond it, however
# late in the run, returns MPI_ERR_ARG (which ends the job where errors are fatal), for arguments that are right.
# Open MPI 4.1.4-3 (Debian 12).
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
cat >"$work/sum.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    static int in[1000], out[1000];
    int rank, class;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int count = 1; count <= 1000; count *= 1000) {
        MPI_Error_class(MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD), &class);
        if (rank == 0)
            printf("%d: %s ", count, class == MPI_SUCCESS ? "success" : class == MPI_ERR_ARG ? "MPI_ERR_ARG" : "another error");
    }
    MPI_Finalize();
    return 0;
}
END_C
compile "$work/sum.c" "$work/sum" -I"$library/openmpi/include" -L"$library/openmpi/lib" "$library/libmpi.so.40"
sums() { # ARGUMENTS...
    "$root/usr/bin/mpirun.openmpi" --allow-run-as-root --oversubscribe --bind-to none -np 2 --mca btl self,vader \
        --mca coll_tuned_use_dynamic_rules 1 "$@" "$work/sum" 2>"$work/run"
}
# One collective, allreduce (2); one size of communicator, 2; two rules: from 0 bytes on algorithm 3, from 100 on 44.
printf '%s\n' 1 2 1 2 2 '0 3 0 0' '100 44 0 0' >"$work/rules"
sums --mca coll_tuned_dynamic_rules_filename "$work/rules" >"$work/seen" || skip "mpirun: $(tail -3 "$work/run")"
expect "sums of 1 and 1000 integers by a rule of algorithm 44" "1: success 1000: MPI_ERR_ARG " "$(cat "$work/seen")"
expect "what was said of it" 0 "$(wc -l <"$work/run")"
sums --mca coll_tuned_allreduce_algorithm 44 >"$work/seen"
expect "lines that refuse 44 as a parameter" yes "$(grep -q 'invalid value' "$work/run" && echo yes || echo no)"
exit "$failed"
