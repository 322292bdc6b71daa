/* A program of MPI and NCCL, for both drop-ins in front of it: calls of both with known results, in turns.
 * NCCL is that of fake_nccl_forked.c, in the stream NULL.
 *
 *   test_both CALLS [SEED] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "nccl_calls.h"

enum { SIZE_MAX_ = 8, COUNT_MAX = 4096 };

static members_t all;
static int failures;

static void fail(const char *what, int call) {
    failures++;
    fprintf(stderr, "test_both: rank %d, call %d: %s\n", all.rank, call, what);
}

static void by_nccl(int number, uint64_t *state) {
    call_t c = calls_random(&all, number, NULL, state);
    calls_fill(&c);
    if (calls_issue(&c) != 0)
        fail("an error of NCCL", number);
    failures += !calls_check(&c);
    calls_release(&c);
}

static void by_mpi(int number, uint64_t *state) {
    static int in[SIZE_MAX_ * COUNT_MAX], out[SIZE_MAX_ * COUNT_MAX];
    const int count = 1 << calls_pick(state, 13), blocks = all.size * count;
    const int sum = all.size * (all.size - 1) / 2;
    for (int i = 0; i < blocks; i++)
        in[i] = all.rank + number;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (out[0] != sum + all.size * number || out[count - 1] != out[0])
        fail("another sum of MPI's", number);
    MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < blocks; i++)
        if (out[i] != i / count + number) {
            fail("another alltoall of MPI's", number);
            return;
        }
}

int main(int argc, char **argv) {
    const int calls = argc > 1 ? atoi(argv[1]) : 100;
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    pto_nccl_id_t id;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &all.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &all.size);
    if (all.rank == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (all.size > SIZE_MAX_ || ncclCommInitRank(&all.handle, all.size, id, all.rank) != 0)
        return 1;
    for (int i = 0; i < calls; i++) {
        by_nccl(i, &state);
        by_mpi(i, &state);
    }
    ncclCommDestroy(all.handle);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures > 0;
}
