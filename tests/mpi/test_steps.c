/* A program whose calls show which process is late and which link is slow: each step computes, exchanges two
 * messages with each other process, and sums a few numbers over all. The number of processes is a power of
 * two. Usage: test_steps STEPS COMPUTE_MS BYTES [LATE_RANK LATE_MS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void compute(int milliseconds) {
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    while (nanosleep(&rest, &rest) != 0)
        continue;
}

/* In each round, all processes are in pairs. */
static void exchange(int rank, int procs, char *data, int bytes) {
    for (int round = 1; round < procs; round++) {
        const int peer = rank ^ round;
        for (int turn = 0; turn < 2; turn++)
            if ((turn == 0) == (rank < peer))
                MPI_Send(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    int rank, procs;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &procs);
    if (argc < 4 || (procs & (procs - 1)) != 0) {
        fprintf(stderr, "usage: test_steps STEPS COMPUTE_MS BYTES [LATE_RANK LATE_MS], on 2^N processes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int steps = atoi(argv[1]), bytes = atoi(argv[3]);
    const int late_ms = argc > 5 && rank == atoi(argv[4]) ? atoi(argv[5]) : 0;
    char *data = calloc((size_t)bytes + 1, 1);
    double sum[4] = {0};
    if (!data)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int step = 0; step < steps; step++) {
        compute(atoi(argv[2]) + late_ms);
        MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        exchange(rank, procs, data, bytes);
    }
    free(data);
    MPI_Finalize();
    return 0;
}
