/* What the profiler adds to a call: messages of 8 bytes by the MPI library's own functions and by those in
 * front of it, in turn. With one process, it sends to itself; with two, a ping-pong. The minimum of many
 * blocks, as other programs may run meanwhile. Without the profiler the two are the same.
 *
 *   mpirun -n 1|2 bench_profile */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench.h"

enum { ROUNDS = 2000, BLOCKS = 200 };

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
static char in[8], out[8];

static double now_s(void) {
    struct timespec now;
    clock_gettime(size == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The checker knows MPI's functions by their names only. */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */
static void by_send(const functions_t *mpi, int peer) {
    MPI_Request request;
    if (size == 1) {
        mpi->irecv(in, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
        mpi->send(out, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        mpi->wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        mpi->send(out, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        mpi->recv(in, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        mpi->recv(in, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mpi->send(out, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
}

static void by_isend(const functions_t *mpi, int peer) {
    MPI_Request request[2];
    mpi->irecv(in, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request[0]);
    if (rank == 1)
        mpi->wait(&request[0], MPI_STATUS_IGNORE);
    mpi->isend(out, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request[1]);
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
static void compare(const char *name, const functions_t *both, round_t round, int calls) {
    double least_s[2] = {1, 1};
    int blocks = bench_is_short() ? 2 : BLOCKS;
    for (int i = 0; i < 2 * blocks; i++) {
        double seconds = block_s(round, &both[i % 2]);
        least_s[i % 2] = seconds < least_s[i % 2] ? seconds : least_s[i % 2];
    }
    double more_s = least_s[1] - least_s[0];
    int kept = more_s <= calls * MORE_PROMISED_S || more_s <= SHARE_PROMISED * least_s[0];
    if (rank == 0)
        printf("profiler: %-5s %d process%s %8.1f ns a round, profiled %8.1f: %+6.1f ns a call  %s\n", name,
               size, size == 1 ? ",  " : "es,", 1e9 * least_s[0], 1e9 * least_s[1], 1e9 * more_s / calls,
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

int main(int argc, char **argv) {
    functions_t both[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    find_functions(both);
    if (size <= 2) {
        compare("send", both, by_send, size == 1 ? 3 : 4);
        compare("isend", both, by_isend, size == 1 ? 4 : 8);
    }
    MPI_Finalize();
    return 0;
}
