/* What the profiler adds to a call: messages of 8 bytes by the MPI library's own functions and by those in
 * front of it. With one process, it sends to itself; with two, a ping-pong. Blocks of both are run in pairs,
 * as other programs may run meanwhile; printed are the medians of the pairs' differences and ratios, the
 * latter with its 95 percent interval. Without the profiler the two are the same. With `cuda`, CUDA's
 * driver is in use: messages are in the heap, which it is not asked about, in other host memory, and in a
 * GPU's.
 *
 *   mpirun -n 1|2 bench_profile [cuda] */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "mpi/profile_memory.h"

/* Fewer calls than calls.csv has lines. */
enum { ROUNDS = 500, PAIRS = 200, PAIRS_SHORT = 2, BYTES = 8, MAPPED_BYTES = 1 << 24 };

#define MORE_PROMISED_S 100e-9 /* a call, */
#define SHARE_PROMISED 0.02    /* or of a round */

typedef struct {
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*wait)(MPI_Request *, MPI_Status *);
} functions_t;

static int rank, size;
static char *in, *out;

static double now_s(void) { return bench_clock_s(size == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC); }

/* The checker knows MPI's functions by their names only. */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */
static void by_send(const functions_t *mpi, int peer) {
    MPI_Request request;
    if (size == 1) {
        mpi->irecv(in, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
        mpi->send(out, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        mpi->wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        mpi->send(out, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        mpi->recv(in, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        mpi->recv(in, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mpi->send(out, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
}

static void by_isend(const functions_t *mpi, int peer) {
    MPI_Request request[2];
    mpi->irecv(in, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request[0]);
    if (rank == 1)
        mpi->wait(&request[0], MPI_STATUS_IGNORE);
    mpi->isend(out, BYTES, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request[1]);
    mpi->wait(&request[1], MPI_STATUS_IGNORE);
    if (rank == 0)
        mpi->wait(&request[0], MPI_STATUS_IGNORE);
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

typedef void (*round_t)(const functions_t *mpi, int peer);

/* Seconds of one round. */
static double block_s(round_t round, const functions_t *mpi) {
    MPI_Barrier(MPI_COMM_WORLD);
    double began_s = now_s();
    for (int i = 0; i < ROUNDS; i++)
        round(mpi, size - 1 - rank);
    return (now_s() - began_s) / ROUNDS;
}

/* `calls`: of MPI in a round, one after the other. */
static void compare(const char *name, const functions_t *both, round_t round, int calls, const char *where) {
    static double plain_s[PAIRS], more_s[PAIRS], ratio[PAIRS];
    int pairs = bench_is_short() ? PAIRS_SHORT : PAIRS;
    for (int i = 0; i < pairs; i++) {
        double seconds[2];
        for (int which = 0; which < 2; which++)
            seconds[which ^ (i % 2)] = block_s(round, &both[which ^ (i % 2)]);
        plain_s[i] = seconds[0];
        more_s[i] = seconds[1] - seconds[0];
        ratio[i] = seconds[1] / seconds[0];
    }
    bench_sort(plain_s, pairs);
    bench_sort(more_s, pairs);
    bench_sort(ratio, pairs);
    int middle = pairs / 2, margin = pairs > 2 * PAIRS_SHORT ? (int)lround(0.98 * sqrt(pairs)) : 0;
    int kept = more_s[middle] <= calls * MORE_PROMISED_S || ratio[middle] <= 1 + SHARE_PROMISED;
    if (rank == 0)
        printf(
            "profiler: %-5s %d process%s%s %8.1f ns a round, profiled x %.3f [%.3f, %.3f]: %+6.1f ns a call  "
            "%s\n",
            name, size, size == 1 ? ",  " : "es,", where, 1e9 * plain_s[middle], ratio[middle],
            ratio[middle - margin], ratio[middle + margin], 1e9 * more_s[middle] / calls,
            kept ? "kept" : "NOT KEPT");
}

static void find(void *library, const char *name, void *function) {
    void *found = library ? dlsym(library, name) : NULL;
    if (found)
        memcpy(function, &found, sizeof found);
}

/* The library's own functions, and what this program calls by their names. */
static void find_functions(functions_t both[2]) {
    static const char *const names[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"};
    void *library = NULL;
    functions_t by_name = {MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv, MPI_Wait};
    memcpy(&both[0], &by_name, sizeof by_name); /* clang-tidy 14 crashes where it can follow MPI_Wait */
    memcpy(&both[1], &by_name, sizeof by_name);
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    find(library, "MPI_Send", &both[0].send);
    find(library, "MPI_Recv", &both[0].recv);
    find(library, "MPI_Isend", &both[0].isend);
    find(library, "MPI_Irecv", &both[0].irecv);
    find(library, "MPI_Wait", &both[0].wait);
}

static void compare_in(int space, size_t bytes, const functions_t *both, const char *where) {
    in = memory_allocate(space, bytes);
    out = memory_allocate(space, bytes);
    if (!in || !out)
        MPI_Abort(MPI_COMM_WORLD, 1);
    compare("send", both, by_send, size == 1 ? 3 : 4, where);
    compare("isend", both, by_isend, size == 1 ? 4 : 8, where);
    memory_free(space, in);
    memory_free(space, out);
}

int main(int argc, char **argv) {
    functions_t both[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    find_functions(both);
    bool on_gpu = argc > 1 && strcmp(argv[1], "cuda") == 0;
    if (size > 2 || (on_gpu && !memory_use_cuda(0)))
        MPI_Abort(MPI_COMM_WORLD, 1);
    compare_in(MEMORY_CPU, BYTES, both, on_gpu ? " heap," : "");
    if (on_gpu) {
        compare_in(MEMORY_CPU, MAPPED_BYTES, both, " mapped memory,");
        compare_in(MEMORY_GPU, BYTES, both, " GPU memory,");
    }
    MPI_Finalize();
    return 0;
}
