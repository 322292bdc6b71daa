/* Either nodes (plan.h), in which members choose between two branches while the plan runs: a proof is for one
 * choice of each. Internal to libportolan. */
#ifndef PTO_CHECK_EITHER_H
#define PTO_CHECK_EITHER_H

#include "portolan/check.h"
#include "portolan/policy.h"

struct pto_checker;

/* The choices of a proof. */
typedef struct {
    /* Returns whether member k takes branch B of the plan's `either`-th either node in this run. */
    bool (*takes_b)(const void *context, int run, int either, int64_t k);
    const void *context;
} pto_choices_t;

/* Returns the number of choices that pto_check proves; 1 for a plan without either nodes. */
int pto_check_assignments(const pto_plan_t *plan);

/* Checks of either nodes, once for a plan. */
bool pto_check_eithers(struct pto_checker *checker);
/* Returns whether the current stage is executed: it is outside of either nodes, or its member chose its
 * branch. */
bool pto_check_executes_stage(struct pto_checker *checker);

#endif
