/* Sensitivity: which of a machine's parameters decide a pick, and how far they are from changing it. */
#ifndef PORTOLAN_SENSITIVITY_H
#define PORTOLAN_SENSITIVITY_H

#include "portolan/api.h"
#include "portolan/pick.h"

PTO_API_BEGIN

/* Parameters are moved from their value by up to this factor, down and up. */
enum { PTO_SENSITIVITY_FACTOR_MAX = 16 };

/* One parameter at one point of the sweep. */
typedef struct {
    pto_machine_param_t param; /* points into the machine that was asked about */
    double elasticity; /* percent by which the picked price rises where the parameter rises by one percent */
    double factor;     /* nearest to 1 at which another strategy is picked; 0: none that was found */
    int becomes;       /* that strategy; -1: none */
    bool inside_interval; /* factor * value lies in the parameter's own 95 percent interval */
} pto_sensitivity_t;

typedef struct {
    int winner;    /* -1: no strategy applies */
    int runner_up; /* -1: none */
    int count;
    pto_sensitivity_t *item; /* those that change the pick, nearest first, then by falling elasticity */
} pto_sensitivities_t;

/* What would change the pick at one point. `predictions` must hold explanations and be of `machine`. The
 * parameters of a copy are moved one at a time, the point predicted anew at each of a grid of factors and the
 * change then bracketed by bisection. Parameters are those on which the two cheapest prices
 * depend, and those that could make a further strategy the cheapest by falling; a change and its reverse
 * between two steps of the grid (9 percent) are not seen. Errors: as of pto_plan_choose,
 * PTO_ERR_MEMORY. */
pto_status_t pto_sensitivity(const pto_predictions_t *predictions, const pto_machine_t *machine,
                             int64_t point, pto_sensitivities_t *sensitivities, pto_error_t *err);
void pto_sensitivities_fini(pto_sensitivities_t *sensitivities);

PTO_API_END

#endif
