/* What the drop-in's agreement on a node costs by itself. In one loop, all processes offer each call, and
 * wait for each other; in the other, all leave each call to MPI, and wait for nobody.
 *
 *   mpirun -n 2 bench_agree */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "dropin.h"

enum { ROUNDS = 2000, BLOCKS = 301, BLOCKS_SHORT = 3 };

#define AGREE_PROMISED_S 1.5e-6

static drop_board_t *board;
static int wrong;

static void vote(void) {
    bool have_plan = false;
    wrong += !drop_board_vote(board, MPI_COMM_WORLD, (drop_vote_t){7, 3}, &have_plan) || !have_plan;
}

static void decline(void) { drop_board_decline(board, MPI_COMM_WORLD); }

static void measure(const char *name, void (*call)(void), double promised_s, int rank, int size) {
    static double block_s[BLOCKS];
    int blocks = bench_is_short() ? BLOCKS_SHORT : BLOCKS;
    for (int i = 0; i < blocks; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began_s = MPI_Wtime();
        for (int k = 0; k < ROUNDS; k++)
            call();
        block_s[i] = (MPI_Wtime() - began_s) / ROUNDS;
    }
    bench_sort(block_s, blocks);
    double median_s = block_s[blocks / 2];
    if (rank == 0)
        printf("drop-in: %s of %d processes on a node  median %7.1f ns, least %7.1f ns  %s\n", name, size,
               1e9 * median_s, 1e9 * block_s[0], median_s <= promised_s ? "kept" : "NOT KEPT");
}

int main(int argc, char **argv) {
    int rank, size;
    pto_error_t err = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (drop_board_create(MPI_COMM_WORLD, &board, &err) != PTO_OK) {
        fprintf(stderr, "bench_agree: %s\n", err.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    measure("agreement", vote, AGREE_PROMISED_S, rank, size);
    measure("leaving a call to MPI", decline, AGREE_PROMISED_S, rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    drop_board_destroy(board);
    MPI_Finalize();
    return wrong > 0;
}
