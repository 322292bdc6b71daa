/* One process speaks for all, so that an error is printed once. */
#include "agreement.h"

#include <mpi.h>

int agree_on_arguments(const pto_syntax_t *syntax, int code, const pto_error_t *err) {
    int rank = 0, size = 0, first = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int own = code < 0 ? size : rank;
    MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size)
        return -1;
    if (rank == first && code == PTO_EXIT_OK)
        pto_print_help(syntax, stdout);
    else if (rank == first)
        fprintf(stderr, "%s\n", err->message);
    MPI_Bcast(&code, 1, MPI_INT, first, MPI_COMM_WORLD);
    return code;
}
