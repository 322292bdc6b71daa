/* Sensitivity: which parameters of a machine decide a pick, and how far they are from changing it. */
#ifndef PORTOLAN_SENSITIVITY_H
#define PORTOLAN_SENSITIVITY_H

#include "portolan/api.h"
#include "portolan/pick.h"

PTO_C_BEGIN

/* Parameters are varied by up to this factor, down and up. */
enum { PTO_SENSITIVITY_FACTOR_MAX = 16 };

/* One parameter at one point of the sweep. */
typedef struct {
    pto_machine_param_t param; /* points into the caller's machine */
    double elasticity;         /* percent change of the pick's price per percent of the parameter */
    double factor;             /* nearest to 1 at which another strategy is picked; 0: none found */
    int becomes;               /* that strategy; -1: none */
    bool inside_interval;      /* factor * value is in the parameter's 95 percent interval */
} pto_sensitivity_t;

typedef struct {
    int winner;    /* the first listed of tied ones; -1: no strategy applies */
    int runner_up; /* the next more expensive strategy; -1: none */
    int count;
    pto_sensitivity_t *item; /* those that change the pick first, nearest first; then by elasticity */
} pto_sensitivities_t;

/* Find the parameters that would change the pick at one point. `predictions` must contain explanations and be
 * of `machine`. A copy of the machine is varied, one parameter at a time: the point is predicted for a grid
 * of factors, and a change of the pick is located by bisection. The result has the parameters in the terms of
 * the two lowest prices, those whose terms could make another strategy the cheapest by decreasing, and all
 * others that change the pick. A change that reverses between two grid steps (9 percent) is not found.
 * Errors: those of pto_plan_choose, PTO_ERR_MEMORY. */
pto_status_t pto_sensitivity(const pto_predictions_t *predictions, const pto_machine_t *machine,
                             int64_t point, pto_sensitivities_t *sensitivities, pto_error_t *err);
void pto_sensitivities_fini(pto_sensitivities_t *sensitivities);

PTO_C_END

#endif
