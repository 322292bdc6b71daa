/* Trials: a route that moves data is kept only where it proves no slower than MPI. A prediction of MPI's own
 * collective can be wrong by more than a plan gains, and then a program becomes slower than it was
 * (docs/decisions/0051). The first calls of a kind run by the plan, and as many by MPI. Before each of them
 * all processes meet, so that a time holds no waiting for processes that come late.
 *
 * Reductions have no trial: their last bits would depend on its outcome, and so on the machine's noise. */
#include <math.h>

#include "base/clock.h"
#include "dropin.h"
#include "mpi_team.h"

/* A plan may be this much slower, on average or in the slowest process, before MPI has the calls. */
static const double tolerance = 1.03;

/* The first calls of each way are not timed, as they may map memory. */
enum { UNTIMED = 1 };

static int calls_each(void) { return UNTIMED + drop.trials; }

bool drop_trial_is_on(const drop_route_t *route) {
    bool reduces = pto_collective_reduces(route->cell.collective);
    return drop.trials > 0 && !drop.strategy && !reduces && !route->cell.in_host &&
           route->way != DROP_BY_MPI && route->trial.calls < 2 * calls_each();
}

drop_turn_t drop_trial_begin(const drop_comm_t *comm, drop_route_t *route) {
    MPI_Barrier(comm->comm);
    route->trial.began_s = pto_now_s();
    return route->trial.calls < calls_each() ? DROP_TURN_PLAN : DROP_TURN_MPI;
}

/* Collective: the processes' mean, and the slowest one. */
static bool is_no_slower(const drop_comm_t *comm, const drop_trial_t *trial) {
    double sum_s[2], most_s[2];
    if (PTO_MPI(MPI_Allreduce(trial->least_s, sum_s, 2, MPI_DOUBLE, MPI_SUM, comm->comm), NULL) != PTO_OK ||
        PTO_MPI(MPI_Allreduce(trial->least_s, most_s, 2, MPI_DOUBLE, MPI_MAX, comm->comm), NULL) != PTO_OK)
        return false;
    return sum_s[0] <= tolerance * sum_s[1] && most_s[0] <= tolerance * most_s[1];
}

void drop_trial_end(const drop_comm_t *comm, drop_route_t *route) {
    drop_trial_t *trial = &route->trial;
    double seconds = pto_now_s() - trial->began_s;
    int each = calls_each(), way = trial->calls / each, number = trial->calls % each;
    if (number <= UNTIMED)
        trial->least_s[way] = seconds;
    trial->least_s[way] = fmin(trial->least_s[way], seconds);
    trial->calls++;
    if (trial->calls == 2 * each && !is_no_slower(comm, trial))
        drop_route_leave(route);
}
