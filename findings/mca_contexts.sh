#!/usr/bin/env bash
# One would guess that each of several programs that one mpirun starts may have MCA parameters of its own, as the manual
# says: --mca before a program is for this one, and --gmca for all.
# Only parameters before the first program are read, and they hold for all. After a colon, --mca and --gmca are dropped
# without a message, even for a transport that does not exist. -x OMPI_MCA_btl=tcp,self reaches the second program
# alone. It also wins over --mca btl of the same command line, which itself wins over the environment.
# Open MPI 4.1.4-3+b1 (Debian 12); `man mpirun`, pull request 1692 of Open MPI ("only search the first app_context"),
# and the parameter that the processes read by MPI_T.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
cat >"$work/btl.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    char value[256] = "";
    int rank, provided, index, count;
    MPI_T_cvar_handle handle;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_index("btl", &index);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, value);
    printf("%d %s\n", rank, value);
    MPI_Finalize();
    return 0;
}
END_C
compile "$work/btl.c" "$work/btl" -I"$library/openmpi/include" -L"$library/openmpi/lib" "$library/libmpi.so.40"

# started MPIRUN'S OPTION...: the value of btl in each process
started() {
    "$root/usr/bin/mpirun.openmpi" --allow-run-as-root --oversubscribe --bind-to none "$@" \
        >"$work/seen" 2>"$work/run" || skip "mpirun: $(tail -3 "$work/run")"
    sort -n "$work/seen" | awk '{ printf "%s%s", (NR > 1 ? ", " : ""), (NF > 1 ? $2 : "the default") }'
}

one=(-n 1 "$work/btl")
expect "--mca before the first of two programs" "tcp,self, tcp,self" \
    "$(started --mca btl tcp,self "${one[@]}" : "${one[@]}")"
expect "--mca before the second" "the default, the default" "$(started "${one[@]}" : --mca btl tcp,self "${one[@]}")"
expect "--mca before both" "tcp,self, tcp,self" \
    "$(started --mca btl tcp,self "${one[@]}" : --mca btl vader,self "${one[@]}")"
expect "--gmca before the second" "the default, the default" "$(started "${one[@]}" : --gmca btl tcp,self "${one[@]}")"
expect "--mca before the second, of no transport" "the default, the default" \
    "$(started "${one[@]}" : --mca btl nonsense "${one[@]}")"
expect "-x before the second" "the default, tcp,self" "$(started "${one[@]}" : -x OMPI_MCA_btl=tcp,self "${one[@]}")"
expect "--mca, and -x with another value" "vader,self" \
    "$(started --mca btl tcp,self -x OMPI_MCA_btl=vader,self "${one[@]}")"
expect "--mca, and another value in the environment" "tcp,self" \
    "$(OMPI_MCA_btl=vader,self started --mca btl tcp,self "${one[@]}")"
exit "$failed"
