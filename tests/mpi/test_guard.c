/* What a guard sees on one node. tests/mpi/test_guard.sh reads what is printed.
 *
 *   mpirun -n 3 test_guard elsewhere | stopped | says | hangs
 *
 * elsewhere: after a step that makes progress for longer than the time-out, process 2 sleeps and the others
 *     wait for it in vain.
 * stopped: process 2 stops in a step of its own, while the others have no limit.
 * says: which of the processes are to print an error.
 * hangs: MPI_Abort does not return. */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

#include "guard.h"

/* Long enough for a slow machine: the guards' threads must wake, and the processes tick, well within it. */
static const double timeout_s = 8;
enum { TICKS = 3 };

static int rank, size;

static void rest(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static void wait_elsewhere(void) {
    guard_about("%s of %d", "a test", size);
    guard_step(0, "ticking");
    for (int i = 0; i < TICKS; i++) {
        rest(timeout_s / 2);
        guard_tick(0);
    }
    guard_step(rank == 2 ? INFINITY : 0, rank == 2 ? "sleeping" : "waiting for %d", 2);
    if (rank == 2)
        rest(300);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void stop_one(void) {
    guard_step(INFINITY, rank == 2 ? "stopping" : "waiting");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        rest(timeout_s); /* others can read a step once its process's guard has woken */
        raise(SIGSTOP);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static bool hangs;

int MPI_Abort(MPI_Comm comm, int code) {
    if (hangs)
        rest(300);
    return PMPI_Abort(comm, code);
}

static int says_in_turn(int turn, const char *text) {
    int says = rank == turn && guard_says(text);
    MPI_Allreduce(MPI_IN_PLACE, &says, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return says;
}

static void say(void) {
    guard_step(INFINITY, "saying");
    int first = says_in_turn(0, "one error"), other = says_in_turn(1, "one errof"),
        same = says_in_turn(2, "one errof");
    if (rank == 0)
        printf("said: %d %d %d\n", first, other, same);
}

int main(int argc, char **argv) {
    guard_begin("test_guard", timeout_s);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    guard_meet(MPI_COMM_WORLD);
    if (size != 3 || argc != 2)
        guard_abort(2);
    if (strcmp(argv[1], "elsewhere") == 0)
        wait_elsewhere();
    else if (strcmp(argv[1], "stopped") == 0)
        stop_one();
    else if (strcmp(argv[1], "hangs") == 0) {
        hangs = true;
        guard_abort(3);
    } else
        say();
    guard_leave_mpi();
    MPI_Finalize();
    guard_end();
    return 0;
}
