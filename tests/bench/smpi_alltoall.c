/* A pairwise alltoall for SimGrid's SMPI, to be simulated beside ours (bench_simulate.c): n - 1 rounds, each
 * one MPI_Sendrecv. All ranks share two buffers, since what is sent is of no interest. Prints the simulated
 * seconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    int bytes = argc > 1 ? atoi(argv[1]) : 1024;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *out = malloc((size_t)bytes);
    char *in = malloc((size_t)bytes);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    double start_s = MPI_Wtime();
    for (int k = 1; k < ranks; k++)
        MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + k) % ranks, 0, in, bytes, MPI_BYTE,
                     (rank + ranks - k) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double seconds = MPI_Wtime() - start_s;
    double slowest_s;
    MPI_Reduce(&seconds, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.9g\n", slowest_s);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
