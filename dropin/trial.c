/* Trials: a plan is kept only if it proves no slower than MPI in the program itself. The prediction of MPI's
 * own collective can be wrong by more than a plan gains, which would slow the program down
 * (docs/decisions/0051). The first calls of a route are executed by the plan, then as many by MPI. A barrier
 * precedes each of them, so that the times do not include waiting for late processes.
 *
 * Reductions have no trial: the rounding of their results would depend on its outcome, and so on noise. */
#include <math.h>

#include "base/clock.h"
#include "dropin.h"
#include "mpi_team.h"

/* A plan is kept if it is at most this much slower than MPI, both on average and in the slowest process. */
static const double tolerance = 1.03;

/* The first call by the plan and the first by MPI do not count, as they may map memory. */
enum { UNTIMED = 1 };

static int calls_per_method(void) { return UNTIMED + drop.trials; }

bool drop_trial_is_on(const drop_route_t *route) {
    bool reduces = pto_collective_reduces(route->key.collective);
    return drop.trials > 0 && !drop.strategy && !reduces && !route->key.in_host &&
           route->method != DROP_BY_MPI && route->trial.calls < 2 * calls_per_method();
}

drop_turn_t drop_trial_begin(const drop_comm_t *comm, drop_route_t *route) {
    MPI_Barrier(comm->comm);
    route->trial.began_s = pto_now_s();
    return route->trial.calls < calls_per_method() ? DROP_TURN_PLAN : DROP_TURN_MPI;
}

/* Collective. Compares the sums over all processes, and the slowest processes. */
static bool is_no_slower(const drop_comm_t *comm, const drop_trial_t *trial) {
    double sum_s[2], most_s[2];
    if (PTO_MPI(MPI_Allreduce(trial->best_s, sum_s, 2, MPI_DOUBLE, MPI_SUM, comm->comm), NULL) != PTO_OK ||
        PTO_MPI(MPI_Allreduce(trial->best_s, most_s, 2, MPI_DOUBLE, MPI_MAX, comm->comm), NULL) != PTO_OK)
        return false;
    return sum_s[0] <= tolerance * sum_s[1] && most_s[0] <= tolerance * most_s[1];
}

void drop_trial_end(const drop_comm_t *comm, drop_route_t *route) {
    drop_trial_t *trial = &route->trial;
    double seconds = pto_now_s() - trial->began_s;
    const int half = calls_per_method();
    double *best_s = &trial->best_s[trial->calls / half];
    if (trial->calls % half <= UNTIMED) /* also the first timed call, as the one before does not count */
        *best_s = seconds;
    *best_s = fmin(*best_s, seconds);
    trial->calls++;
    if (trial->calls == 2 * half && !is_no_slower(comm, trial))
        drop_route_leave(route);
}
