/* What the drop-in adds to a call that it passes on: collectives of 8 bytes in host memory by the MPI
 * library's own functions and by those in front of it. Blocks of both are run in pairs, as other programs may
 * run meanwhile; printed is the median of the pairs' differences, with its 95 percent interval. Without the
 * drop-in the two are the same. With PORTOLAN_DEVICE=host other processes may have GPU buffers, as the
 * drop-in sees it, so that the call takes part in agreement.
 *
 *   mpirun -n 1|2 bench_dropin */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

enum { ROUNDS = 500, PAIRS = 200, PAIRS_SHORT = 2 };

#define MORE_PROMISED_S 150e-9

typedef int (*allreduce_t)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static double block_s(allreduce_t allreduce, MPI_Comm comm, clockid_t clock) {
    double in = 1, out;
    MPI_Barrier(MPI_COMM_WORLD);
    double began_s = bench_clock_s(clock);
    for (int i = 0; i < ROUNDS; i++)
        allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
    return (bench_clock_s(clock) - began_s) / ROUNDS;
}

static void find_own(allreduce_t *own) {
    static const char *const names[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"};
    void *library = NULL, *found;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    found = library ? dlsym(library, "MPI_Allreduce") : NULL;
    if (found)
        memcpy(own, &found, sizeof found);
}

static void compare(const char *name, MPI_Comm comm, int rank) {
    static double plain_s[PAIRS], more_s[PAIRS];
    int pairs = bench_is_short() ? PAIRS_SHORT : PAIRS, size = 0;
    MPI_Comm_size(comm, &size);
    clockid_t clock = size == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    allreduce_t both[2] = {MPI_Allreduce, MPI_Allreduce};
    find_own(&both[0]);
    for (int i = 0; i < pairs; i++) {
        double seconds[2];
        for (int which = 0; which < 2; which++)
            seconds[which ^ (i % 2)] = block_s(both[which ^ (i % 2)], comm, clock);
        plain_s[i] = seconds[0];
        more_s[i] = seconds[1] - seconds[0];
    }
    bench_sort(plain_s, pairs);
    bench_sort(more_s, pairs);
    int middle = pairs / 2, margin = pairs > 2 * PAIRS_SHORT ? (int)lround(0.98 * sqrt(pairs)) : 0;
    if (rank == 0)
        printf("drop-in%s: allreduce, %-20s %8.1f ns, passed on %+6.1f [%+.1f, %+.1f] ns  %s\n",
               getenv("PORTOLAN_DEVICE") ? " beside GPUs" : "", name, 1e9 * plain_s[middle],
               1e9 * more_s[middle], 1e9 * more_s[middle - margin], 1e9 * more_s[middle + margin],
               more_s[middle] <= MORE_PROMISED_S ? "kept" : "NOT KEPT");
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Comm several;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &several);
    compare("one process", MPI_COMM_SELF, rank);
    if (size > 1)
        compare("several", several, rank);
    MPI_Comm_free(&several);
    MPI_Finalize();
    return 0;
}
