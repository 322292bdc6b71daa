/* The number of calls after which a strategy's more expensive setup has paid back (portolan/pick.h). */
#include <math.h>

#include "portolan/pick.h"

/* Quotients that are integers up to rounding must stay so. */
static double rounded_up(double quotient) { return fmax(ceil(quotient * (1 - 1e-9)), 1); }

static bool has_setup(const pto_prediction_t *prediction) {
    return prediction->applicable && prediction->setup && prediction->setup->known;
}

bool pto_payback(const pto_prediction_t *own, const pto_prediction_t *other, double *calls) {
    if (!has_setup(own) || !has_setup(other) || other->setup->seconds >= own->setup->seconds)
        return false;
    double gain_s = other->price.seconds - own->price.seconds;
    *calls = gain_s > 0 ? rounded_up((own->setup->seconds - other->setup->seconds) / gain_s) : INFINITY;
    return true;
}
