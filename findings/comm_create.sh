#!/usr/bin/env bash
# One would guess that after MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) the communicators that are made of it
# return errors as well, since a new communicator inherits the error handler of the one it is made of.
# In MPICH those of MPI_Comm_dup, MPI_Comm_split, MPI_Cart_create, MPI_Dist_graph_create_adjacent and MPI_Intercomm_create do, and
# those of MPI_Comm_create, MPI_Comm_create_group and MPI_Intercomm_merge have MPI_ERRORS_ARE_FATAL: the first error there ends
# the program that wants to treat it. In Open MPI all return them. In MPICH each function that makes a communicator copies the
# handler itself, and these three do not. MPI 3.1, section 8.3, tells users that a new communicator inherits it, and knows no
# exception.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); MPIR_Comm_create_intra, MPIR_Comm_create_group_impl and
# MPIR_Intercomm_merge_impl in comm_impl.c; MPII_Comm_copy in commutil.c copies it.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/inherit.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_Comm world = MPI_COMM_WORLD;

static MPI_Comm make(const char *call) {
    MPI_Comm made, half, between;
    MPI_Group group;
    int rank, size, periodic = 1;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    const int next = (rank + 1) % size;
    MPI_Comm_group(world, &group);
    MPI_Comm_split(world, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 0, &between);
    if (strcmp(call, "dup") == 0)
        MPI_Comm_dup(world, &made);
    else if (strcmp(call, "split") == 0)
        made = half;
    else if (strcmp(call, "cart") == 0)
        MPI_Cart_create(world, 1, &size, &periodic, 0, &made);
    else if (strcmp(call, "graph") == 0)
        MPI_Dist_graph_create_adjacent(world, 1, &next, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    else if (strcmp(call, "intercomm") == 0)
        made = between;
    else if (strcmp(call, "create") == 0)
        MPI_Comm_create(world, group, &made);
    else if (strcmp(call, "create_group") == 0)
        MPI_Comm_create_group(world, group, 0, &made);
    else
        MPI_Intercomm_merge(between, rank % 2, &made);
    return made;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    for (int i = 1; i < argc; i++) {
        MPI_Errhandler handler;
        MPI_Comm_get_errhandler(make(argv[i]), &handler);
        if (rank == 0)
            printf("%s ", handler == MPI_ERRORS_RETURN ? "return" : handler == MPI_ERRORS_ARE_FATAL ? "fatal" : "?");
    }
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/inherit.c"
calls=(dup split cart graph intercomm create create_group merge)

echo "${calls[*]}"
expect "Open MPI" "return return return return return return return return " \
    "$(run_openmpi 2 --mca btl self,vader "$work/openmpi" "${calls[@]}")"
expect "MPICH" "return return return return return fatal fatal fatal " "$(run_mpich 2 "$work/mpich" "${calls[@]}")"
exit "$failed"
