/* The common start of measured runs (start.h). The processes of one node use a barrier in shared memory. On
 * several nodes, they agree on a time slightly in the future. The offsets of the nodes' clocks are estimated
 * from round trips (Cristian, Probabilistic Clock Synchronization, 1989; Hunold and Carpen-Amarie,
 * Reproducible MPI Benchmarking Is Still Not As Easy As You Think, 2016). The reference clock is that of the
 * first node. */
#include "start.h"

#include <math.h>
#include <mpi.h>
#include <sched.h>

#include "barrier.h"
#include "clock.h"

enum { ROUND_TRIPS = 8, TAG = 731 };

/* Clocks drift, so they are compared again after this multiple of the duration of the last comparison. */
static const double comparison_interval = 20;

/* The margin is multiplied by this after a start for which no process was late. */
static const double margin_decay = 31.0 / 32;

static struct {
    int nodes;            /* 0: not known yet */
    together_t *together; /* the barrier, if there is one node */
    MPI_Comm node;        /* the processes of this node, which share a clock */
    MPI_Comm leaders;     /* one process of each node */
    double offset_s;      /* the reference clock minus this process's clock */
    /* The next four are the same on all processes. */
    double compared_at_s;  /* when clocks were compared last, on the reference clock */
    double compared_in_s;  /* how long that took */
    double least_margin_s; /* twice the time of an allreduce */
    double margin_s;       /* from the arrival of the last process to the start */
    double late_s;         /* by how much this process missed the last start */
} clocks;

static double reference_clock_s(void) { return now_s() + clocks.offset_s; }

static double max_over_all(double mine) {
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

/* The first leader asks another one for its time, and sends it the offset from the fastest round trip. */
static void measure_offset(int other) {
    double fastest_s = INFINITY, offset_s = 0;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        double theirs_s = 0, asked_s = now_s();
        MPI_Send(&asked_s, 1, MPI_DOUBLE, other, TAG, clocks.leaders);
        MPI_Recv(&theirs_s, 1, MPI_DOUBLE, other, TAG, clocks.leaders, MPI_STATUS_IGNORE);
        double answered_s = now_s();
        if (answered_s - asked_s < fastest_s) {
            fastest_s = answered_s - asked_s;
            offset_s = (asked_s + answered_s) / 2 - theirs_s;
        }
    }
    MPI_Send(&offset_s, 1, MPI_DOUBLE, other, TAG, clocks.leaders);
}

/* The other side of measure_offset. */
static void answer_requests(void) {
    for (int i = 0; i < ROUND_TRIPS; i++) {
        double asked_s;
        MPI_Recv(&asked_s, 1, MPI_DOUBLE, 0, TAG, clocks.leaders, MPI_STATUS_IGNORE);
        double mine_s = now_s();
        MPI_Send(&mine_s, 1, MPI_DOUBLE, 0, TAG, clocks.leaders);
    }
    MPI_Recv(&clocks.offset_s, 1, MPI_DOUBLE, 0, TAG, clocks.leaders, MPI_STATUS_IGNORE);
}

static void compare_clocks(void) {
    double began_s = now_s();
    if (clocks.leaders != MPI_COMM_NULL) {
        int rank, count;
        MPI_Comm_rank(clocks.leaders, &rank);
        MPI_Comm_size(clocks.leaders, &count);
        for (int other = 1; other < count && rank == 0; other++)
            measure_offset(other);
        if (rank > 0)
            answer_requests();
    }
    MPI_Bcast(&clocks.offset_s, 1, MPI_DOUBLE, 0, clocks.node);
    clocks.compared_in_s = max_over_all(now_s() - began_s);
    MPI_Barrier(MPI_COMM_WORLD);
    began_s = now_s();
    clocks.compared_at_s = max_over_all(reference_clock_s());
    clocks.least_margin_s = 2 * max_over_all(now_s() - began_s);
    clocks.margin_s = fmax(clocks.margin_s, clocks.least_margin_s);
}

/* Collective. Returns the time at which the last process arrived, on the reference clock. Also adapts the
 * margin on all processes: it is widened if any process was late for the last start, and reduced a little if
 * none was, as the GPUs idle during the margin. */
static double last_arrival_s(void) {
    double mine[] = {reference_clock_s(), clocks.late_s}, most[2] = {0};
    MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (most[1] > 0)
        clocks.margin_s += fmin(most[1], clocks.margin_s);
    else
        clocks.margin_s = fmax(clocks.least_margin_s, margin_decay * clocks.margin_s);
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
    if (arrived_s - clocks.compared_at_s > comparison_interval * clocks.compared_in_s) {
        compare_clocks();
        arrived_s = last_arrival_s();
    }
    double moment_s = arrived_s + clocks.margin_s - clocks.offset_s; /* the start, on this process's clock */
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
