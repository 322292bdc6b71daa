/* Processes of one node begin behind a barrier in shared memory. Several nodes agree on a time a little
 * ahead, on clocks whose differences are estimated from round trips (Cristian, Probabilistic Clock
 * Synchronization, 1989; Hunold and Carpen-Amarie, Reproducible MPI Benchmarking Is Still Not As Easy As You
 * Think, 2016). */
#include "start.h"

#include <math.h>
#include <mpi.h>
#include <sched.h>

#include "barrier.h"
#include "clock.h"

enum { ROUND_TRIPS = 8, TAG = 731 };

/* Clocks drift: they are compared again after this many times the duration of the last comparison. */
static const double compared_for = 20;

/* The part of the margin that is kept after a start for which it sufficed. */
static const double kept_of_margin = 31.0 / 32;

static struct {
    int nodes;            /* 0: not known yet */
    together_t *together; /* the processes of one node, if there is no other */
    MPI_Comm node;        /* processes with one clock */
    MPI_Comm leaders;     /* one of each node */
    double ahead_s;       /* the clock of the first leader less this process's */
    double compared_at_s; /* these three are the same on all processes */
    double compared_in_s;
    double least_margin_s;
    double margin_s; /* from the latest process's arrival to the moment */
    double late_s;   /* by which this process missed the last moment */
} clocks;

static double first_clock_s(void) { return now_s() + clocks.ahead_s; }

static double greatest(double mine) {
    double most = mine;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static void make_groups(void) {
    int rank, place;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &clocks.node);
    MPI_Comm_rank(clocks.node, &place);
    MPI_Comm_split(MPI_COMM_WORLD, place == 0 ? 0 : MPI_UNDEFINED, rank, &clocks.leaders);
    int leads = place == 0;
    MPI_Allreduce(&leads, &clocks.nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (clocks.nodes == 1)
        clocks.together = together_create(MPI_COMM_WORLD);
}

/* The first leader asks another for the time, and tells it the difference. The fastest answer counts. */
static void ask(int other) {
    double fastest_s = INFINITY, ahead_s = 0;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        double theirs_s = 0, asked_s = now_s();
        MPI_Send(&asked_s, 1, MPI_DOUBLE, other, TAG, clocks.leaders);
        MPI_Recv(&theirs_s, 1, MPI_DOUBLE, other, TAG, clocks.leaders, MPI_STATUS_IGNORE);
        double answered_s = now_s();
        if (answered_s - asked_s < fastest_s) {
            fastest_s = answered_s - asked_s;
            ahead_s = (asked_s + answered_s) / 2 - theirs_s;
        }
    }
    MPI_Send(&ahead_s, 1, MPI_DOUBLE, other, TAG, clocks.leaders);
}

static void answer(void) {
    for (int i = 0; i < ROUND_TRIPS; i++) {
        double asked_s;
        MPI_Recv(&asked_s, 1, MPI_DOUBLE, 0, TAG, clocks.leaders, MPI_STATUS_IGNORE);
        double mine_s = now_s();
        MPI_Send(&mine_s, 1, MPI_DOUBLE, 0, TAG, clocks.leaders);
    }
    MPI_Recv(&clocks.ahead_s, 1, MPI_DOUBLE, 0, TAG, clocks.leaders, MPI_STATUS_IGNORE);
}

static void compare_clocks(void) {
    double began_s = now_s();
    if (clocks.leaders != MPI_COMM_NULL) {
        int rank, count;
        MPI_Comm_rank(clocks.leaders, &rank);
        MPI_Comm_size(clocks.leaders, &count);
        for (int other = 1; other < count && rank == 0; other++)
            ask(other);
        if (rank > 0)
            answer();
    }
    MPI_Bcast(&clocks.ahead_s, 1, MPI_DOUBLE, 0, clocks.node);
    clocks.compared_in_s = greatest(now_s() - began_s);
    MPI_Barrier(MPI_COMM_WORLD);
    began_s = now_s();
    clocks.compared_at_s = greatest(first_clock_s());
    clocks.least_margin_s = 2 * greatest(now_s() - began_s);
    clocks.margin_s = fmax(clocks.margin_s, clocks.least_margin_s);
}

/* Returns the time at which the last process asked. All know how late the latest was for the last moment,
 * too. The margin is widened where one was late, and narrowed a little where none was, as the GPUs are idle
 * meanwhile. */
static double last_arrival_s(void) {
    double mine[] = {first_clock_s(), clocks.late_s}, most[2] = {0};
    MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (most[1] > 0)
        clocks.margin_s += fmin(most[1], clocks.margin_s);
    else
        clocks.margin_s = fmax(clocks.least_margin_s, kept_of_margin * clocks.margin_s);
    clocks.late_s = 0;
    return most[0];
}

double start_late_s(void) { return clocks.late_s; }

double start_together(void) {
    if (clocks.nodes == 0) {
        make_groups();
        if (clocks.nodes > 1)
            compare_clocks();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (clocks.nodes == 1) {
        together_wait(clocks.together);
        return now_s();
    }
    double arrived_s = last_arrival_s();
    if (arrived_s - clocks.compared_at_s > compared_for * clocks.compared_in_s) {
        compare_clocks();
        arrived_s = last_arrival_s();
    }
    double moment_s = arrived_s + clocks.margin_s - clocks.ahead_s;
    clocks.late_s = fmax(0, now_s() - moment_s);
    while (now_s() < moment_s)
        sched_yield();
    return moment_s;
}

void start_end(void) {
    if (clocks.nodes == 0)
        return;
    together_destroy(clocks.together);
    if (clocks.leaders != MPI_COMM_NULL)
        MPI_Comm_free(&clocks.leaders);
    MPI_Comm_free(&clocks.node);
    clocks.nodes = 0;
}
