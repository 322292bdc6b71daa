/* Exchanges in a loop for tests/cluster/loops.sh: test_loops PATTERN BYTES COPY_S RUNS times iterations of a
 * pause, an exchange and a pause, which stand for a copy from the device, messages, and a copy to it. Every
 * iteration of a run begins at a barrier, or none does. Process 0 prints
 * "PATTERN,COPY_S,BARRIER,RUN,SECONDS", the time of an iteration for the slowest process.
 *
 * linear: all processes, all messages posted at once; pairwise: all processes, one message after another;
 * apart: the processes of each place of a node in a communicator of their own, which posts at once. The
 * pauses take no core, and nothing is shared but the links of the nodes. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ITERATIONS = 10, UNTIMED = 3, RUNS_MAX = 1000, BYTES_MAX = 1 << 24 };

typedef struct {
    const char *pattern;
    MPI_Comm comm;
    int size;
    int rank;
    int bytes; /* of each message */
    double copy_s;
    char *out; /* a block for each member */
    char *in;
    MPI_Request *request;
} loop_t;

static void give_up(const char *message) {
    fprintf(stderr, "test_loops: %s\n", message);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static char *block_of(const loop_t *loop, char *buffer, int member) {
    return buffer + (size_t)member * (size_t)loop->bytes;
}

static void pause_for(double seconds) {
    struct timespec pause = {.tv_sec = (time_t)seconds};
    pause.tv_nsec = (long)((seconds - (double)pause.tv_sec) * 1e9);
    nanosleep(&pause, NULL);
}

static void exchange(const loop_t *loop) {
    bool pairwise = strcmp(loop->pattern, "pairwise") == 0;
    int count = 0;
    for (int away = 1; away < loop->size; away++) {
        int to = (loop->rank + away) % loop->size, from = (loop->rank - away + loop->size) % loop->size;
        char *out = block_of(loop, loop->out, to), *in = block_of(loop, loop->in, from);
        if (pairwise) {
            MPI_Sendrecv(out, loop->bytes, MPI_BYTE, to, 0, in, loop->bytes, MPI_BYTE, from, 0, loop->comm,
                         MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Irecv(in, loop->bytes, MPI_BYTE, from, 0, loop->comm, &loop->request[count++]);
        MPI_Isend(out, loop->bytes, MPI_BYTE, to, 0, loop->comm, &loop->request[count++]);
    }
    MPI_Waitall(count, loop->request, MPI_STATUSES_IGNORE);
}

static double time_run(const loop_t *loop, bool barrier) {
    double begun_s = 0;
    for (int i = -UNTIMED; i < ITERATIONS; i++) {
        if (barrier || i == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        if (i == 0)
            begun_s = MPI_Wtime();
        pause_for(loop->copy_s);
        exchange(loop);
        pause_for(loop->copy_s);
    }
    double own_s = (MPI_Wtime() - begun_s) / ITERATIONS, most_s = 0;
    MPI_Reduce(&own_s, &most_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return most_s;
}

static void make_communicator(loop_t *loop) {
    MPI_Comm node;
    int place, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_free(&node);
    MPI_Comm_split(MPI_COMM_WORLD, strcmp(loop->pattern, "apart") == 0 ? place : 0, rank, &loop->comm);
    MPI_Comm_size(loop->comm, &loop->size);
    MPI_Comm_rank(loop->comm, &loop->rank);
}

static bool is_pattern(const char *text) {
    return strcmp(text, "linear") == 0 || strcmp(text, "pairwise") == 0 || strcmp(text, "apart") == 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 5 || !is_pattern(argv[1]))
        give_up("wants PATTERN BYTES COPY_S RUNS");
    loop_t loop = {.pattern = argv[1], .bytes = atoi(argv[2]), .copy_s = strtod(argv[3], NULL)};
    int runs = atoi(argv[4]);
    if (loop.bytes < 1 || loop.bytes > BYTES_MAX || !(loop.copy_s >= 0 && loop.copy_s < 10) || runs < 1 ||
        runs > RUNS_MAX)
        give_up("BYTES, COPY_S or RUNS is out of range");
    make_communicator(&loop);
    size_t members = (size_t)loop.size;
    loop.out = calloc(members, (size_t)loop.bytes);
    loop.in = calloc(members, (size_t)loop.bytes);
    loop.request = calloc(2 * members, sizeof(MPI_Request));
    if (!loop.out || !loop.in || !loop.request)
        give_up("out of memory");
    for (int run = 0; run < runs; run++)
        for (int barrier = 0; barrier < 2; barrier++) {
            double seconds = time_run(&loop, barrier == 1);
            if (rank == 0)
                printf("%s,%g,%d,%d,%.6f\n", loop.pattern, loop.copy_s, barrier, run, seconds);
        }
    free(loop.out);
    free(loop.in);
    free(loop.request);
    MPI_Comm_free(&loop.comm);
    MPI_Finalize();
    return 0;
}
