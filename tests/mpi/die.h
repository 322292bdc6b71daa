/* The end of an MPI program at a fault, and plans that must exist. */
#ifndef PTO_TEST_DIE_H
#define PTO_TEST_DIE_H

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "portolan/strategy.h"

_Noreturn static inline void die(const char *what) {
    int number;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    fprintf(stderr, "rank %d: %s\n", number, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* With a pto_error_t `err` in scope. */
#define MUST(call) ((call) == PTO_OK ? (void)0 : die(err.message))

static inline pto_plan_t *plan_by(pto_request_t request, const char *strategy, const char *algorithm) {
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    MUST(pto_strategy_find(strategy, &request.strategy, &err));
    MUST(pto_algorithm_find(algorithm, request.collective, &request.algorithm, &err));
    MUST(pto_plan_create(&request, &plan, &err));
    return plan;
}

#endif
