/* Collectives of MPI's own for test_export.sh: test_export CALL BYTES COUNT calls one COUNT times, on vectors
 * of BYTES, or on blocks of BYTES from or to each process; those of an allgatherv have one byte less and one
 * byte more in turn. With a fourth argument, each call starts after a barrier, and process 0 prints the
 * seconds until the last process has ended it. OPENS_MPI_T, CLOSES_MPI_T: that it does so. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 64 };

static int allgatherv(const void *in, void *out, int bytes) {
    int counts[RANKS_MAX], places[RANKS_MAX], rank, size, place = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > RANKS_MAX)
        return MPI_ERR_ARG;
    for (int i = 0; i < size; i++) {
        counts[i] = bytes + (i % 2 ? 1 : -1);
        places[i] = place;
        place += counts[i];
    }
    return MPI_Allgatherv(in, counts[rank], MPI_BYTE, out, counts, places, MPI_BYTE, MPI_COMM_WORLD);
}

static int call(const char *name, void *in, void *out, int bytes) {
    if (strcmp(name, "allreduce") == 0)
        return MPI_Allreduce(in, out, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    if (strcmp(name, "reduce") == 0)
        return MPI_Reduce(in, out, bytes, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
    if (strcmp(name, "reduce_scatter") == 0)
        return MPI_Reduce_scatter_block(in, out, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    if (strcmp(name, "bcast") == 0)
        return MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (strcmp(name, "allgather") == 0)
        return MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
    if (strcmp(name, "allgatherv") == 0)
        return allgatherv(in, out, bytes);
    if (strcmp(name, "alltoall") == 0)
        return MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
    return MPI_ERR_ARG;
}

static int timed_call(const char *name, void *in, void *out, int bytes) {
    int rank, status = MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime(), most = 0;
    if (status == MPI_SUCCESS)
        status = call(name, in, out, bytes);
    seconds = MPI_Wtime() - seconds;
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%.9g\n", most);
    return status;
}

int main(int argc, char **argv) {
    int size, status = MPI_SUCCESS, provided;
    if (getenv("OPENS_MPI_T"))
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4 && argc != 5)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int bytes = atoi(argv[2]), count = atoi(argv[3]);
    char *in = calloc((size_t)size, (size_t)bytes + 1), *out = calloc((size_t)size, (size_t)bytes + 1);
    if (!in || !out)
        status = MPI_ERR_NO_MEM;
    for (int i = 0; i < count && status == MPI_SUCCESS; i++)
        status = (argc == 5 ? timed_call : call)(argv[1], in, out, bytes);
    if (status != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    free(in);
    free(out);
    if (getenv("CLOSES_MPI_T"))
        MPI_T_finalize();
    return MPI_Finalize();
}
