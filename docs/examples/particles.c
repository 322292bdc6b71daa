/* The messages of a molecular dynamics program: in each step, the particles that leave a box move to a
 * neighboring one, and all processes sum the energy. Boxes are in two rows; particles drift across them, so
 * how many move, and to whom, changes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 100, PARTICLE_DOUBLES = 6, MOVE_MAX = 600 };

/* How many particles move from one box to another in this step: many to the box in the other row, and few to
 * the neighbors along the row and diagonally, or none. The number is a hash of the arguments. */
static int moving(int step, int from, int to, int boxes) {
    int length = boxes / 2, apart = (to % length - from % length + length) % length;
    unsigned random = (unsigned)(step * 8191 + from * 127 + to * 31) * 2654435761u >> 16;
    if (apart == 0)
        return from == to ? 0 : (int)(400 + random % 200);
    if (apart != 1 && apart != length - 1)
        return 0;
    return random % 3 == 0 ? (int)(random % 50) : 0;
}

typedef double box_t[MOVE_MAX][PARTICLE_DOUBLES];

/* Start a step's messages; `moved` counts the particles that leave. */
static int start(int step, int rank, int size, box_t *in, box_t *out, MPI_Request *request, int *moved) {
    int count = 0;
    for (int box = 0; box < size; box++) {
        int arrive = moving(step, box, rank, size), leave = moving(step, rank, box, size);
        if (arrive > 0)
            MPI_Irecv(in[box], arrive * PARTICLE_DOUBLES, MPI_DOUBLE, box, step, MPI_COMM_WORLD,
                      &request[count++]);
        if (leave > 0)
            MPI_Isend(out[box], leave * PARTICLE_DOUBLES, MPI_DOUBLE, box, step, MPI_COMM_WORLD,
                      &request[count++]);
        *moved += leave;
    }
    return count;
}

int main(int argc, char **argv) {
    int rank, size, moved = 0;
    double energy = 0, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    box_t *in = calloc((size_t)size, sizeof *in), *out = calloc((size_t)size, sizeof *out);
    MPI_Request *request = calloc(2 * (size_t)size, sizeof(MPI_Request));
    if (size % 2 || !in || !out || !request)
        MPI_Abort(MPI_COMM_WORLD, 1);
    double began_s = MPI_Wtime();
    for (int step = 0; step < STEPS; step++) {
        int count = start(step, rank, size, in, out, request, &moved);
        MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&energy, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double step_s = (MPI_Wtime() - began_s) / STEPS;
    MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d particles moved, %.1f us a step\n", moved, 1e6 * step_s);
    free(in);
    free(out);
    free(request);
    return MPI_Finalize();
}
