/* How certain it is that one prediction is below another. Internal to libportolan. */
#ifndef PTO_DOUBT_H
#define PTO_DOUBT_H

#include "portolan/pick.h"

typedef struct {
    double margin;           /* ln(other / best) */
    double sd;               /* its standard deviation, from the parameters and the model's own error */
    double model_sd;         /* the part of the model's own error; 0: not known */
    const pto_term_t *worst; /* the parameter that contributes most; NULL: none */
    double worst_sd;
    bool near_tie; /* doubtful, and the two are close */
    bool overlap;  /* doubtful, but the two are not close */
    double regret; /* expected share by which the pick is slower than the other */
} pto_doubt_t;

/* Compares the pick with another prediction. The pick is doubtful if the other is cheaper with a probability
 * of at least a third or, if the model's error is unknown, if the margin is inside the 95 percent interval of
 * the parameters. A doubtful pick is a near-tie if the margin is at most 10 percent and, if the model's error
 * is known, that error alone would make the pick doubtful. */
pto_doubt_t pto_doubt(const pto_prediction_t *best, const pto_prediction_t *other, pto_by_t by);

/* Returns the measurement that would settle a doubtful pick. */
pto_settle_t pto_settle(const pto_prediction_t *best, const pto_prediction_t *other,
                        const pto_doubt_t *doubt);

#endif
